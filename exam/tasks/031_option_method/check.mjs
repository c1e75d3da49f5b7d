import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { Option } = require('./lib/option.js');
assert.equal(new Option('-v, --verbose').hasShort(), true);
assert.equal(new Option('--verbose').hasShort(), false);
assert.equal(new Option('--verbose').isBoolean(), true);
