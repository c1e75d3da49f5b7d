import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { suggestSimilar } = require('./lib/suggestSimilar.js');
assert.equal(suggestSimilar('instal', ['install']), '\n(Did you mean install?)');
assert.equal(suggestSimilar('xyz', ['install']), '');
