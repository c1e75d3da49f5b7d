import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { indentComment, indentLines, lineComment, stringifyComment } = require('./lib/stringifyComment.js');
assert.equal(indentComment, undefined);
assert.equal(indentLines('a\nb', '  '), '  a\n  b');
assert.equal(lineComment('x\n', '  ', 'a'), '  a');
assert.equal(lineComment('x', ' ', 'a\nb'), '\n a\n b');
assert.equal(stringifyComment('a'), '#a');
