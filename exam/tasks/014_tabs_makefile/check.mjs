import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
const text = readFileSync('Makefile', 'utf8');
assert.match(text, /^\.PHONY: all test clean docs$/m);
assert.match(text, /^docs:\n\tnode docs\.js\n$/m);
assert.match(text, /^clean:\n\trm -rf dist$/m);
