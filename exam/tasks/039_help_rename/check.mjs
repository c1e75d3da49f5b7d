import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
import { readFileSync } from 'node:fs';
const { Help } = require('./lib/help.js');
assert.equal(typeof new Help().termColumnWidth, 'function');
assert.doesNotMatch(readFileSync('lib/help.js', 'utf8'), /padWidth\(/);
