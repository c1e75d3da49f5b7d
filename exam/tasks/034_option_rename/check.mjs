import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
import { readFileSync } from 'node:fs';
const { Option } = require('./lib/option.js');
assert.equal(new Option('--dry-run').attributeName(), 'dryRun');
assert.equal(new Option('--no-dry-run').attributeName(), 'dryRun');
assert.doesNotMatch(readFileSync('lib/option.js', 'utf8'), /camelcase\(/);
