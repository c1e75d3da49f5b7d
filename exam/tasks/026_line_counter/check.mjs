import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { LineCounter } = require('./lib/line-counter.js');
const counter = new LineCounter();
counter.addNewLine(0);
counter.addNewLine(10);
assert.deepEqual(counter.linePos(10), { line: 2, col: 1 });
assert.deepEqual(counter.linePos(13), { line: 2, col: 4 });
