import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { Option } = require('./lib/option.js');
assert.equal(new Option('--dry-run').attributeName(), 'dryRun');
assert.equal(new Option('--no-color').attributeName(), 'color');
