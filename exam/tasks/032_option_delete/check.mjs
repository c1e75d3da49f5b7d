import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
import { readFileSync } from 'node:fs';
const { Option } = require('./lib/option.js');
assert.equal(new Option('--a').helpGroup, undefined);
assert.equal(new Option('--a').is('--a'), true);
assert.doesNotMatch(readFileSync('lib/option.js', 'utf8'), /help ?group/i);
