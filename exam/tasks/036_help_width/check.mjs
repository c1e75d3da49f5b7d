import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { Help } = require('./lib/help.js');
assert.equal(new Help().minWidthToWrap, 50);
assert.equal(new Help().sortOptions, false);
