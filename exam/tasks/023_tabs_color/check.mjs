import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
import { readFileSync } from 'node:fs';
const { createColors } = require('./lib/picocolors.js');
assert.equal(createColors(true).orange('x'), '\u001b[38;5;208mx\u001b[39m');
assert.match(readFileSync('lib/picocolors.js', 'utf8'), /^\t\torange: f/m);
