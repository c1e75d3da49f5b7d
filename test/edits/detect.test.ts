/** Which format an answer is taken for, and which nonce it carries. */
import { expect, test } from '@jest/globals';
import { detectFormat, nonceOf } from '../../src/edits/index.js';

const OPEN = {
  'begin-patch': '*** Begin Patch\n*** Delete File: a\n*** End Patch\n',
  'unified-diff': '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n',
  'search-replace': 'FILE: a\nFIND:\na\nREPLACE:\nb\nEND\n',
  'search-blocks': '<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n',
  'whole-file': 'FILE a\nb\nEND FILE\n',
  'structured-edit': '{"operations": []}\n',
  'string-replace': '{"file_path": "a", "old_string": "a", "new_string": "b"}\n',
} as const;
const FORMATS = Object.entries(OPEN);

test.each(FORMATS)('%s: alone, behind prose, in a fence', (format, text) => {
  for (const answer of [text, `Here it is:\n\n${text}`, `\`\`\`\n${text}\`\`\`\n`, text.replaceAll('\n', '\r\n')])
    expect(detectFormat(answer)).toBe(format);
});

test.each(FORMATS)('%s opens first, whatever comes later', (format, text) => {
  for (const [, other] of FORMATS) expect(detectFormat(`${text}\n${other}`)).toBe(format);
});

test.each([
  ['a diff without git line', '@@ -1 +1 @@\n-a\n+b\n', 'unified-diff'],
  ['a diff by its git line', 'diff --git a/a b/a\nold mode 100644\n', 'unified-diff'],
  ['a merge', 'diff --cc a\n', 'unified-diff'],
  ['FIND with a line', 'FIND @12:\na\n', 'search-replace'],
  ['DELETE', 'DELETE a\n', 'whole-file'],
  ['JSON in a line of prose', 'Here: {"edits": []}', 'string-replace'],
  ['JSON in a line of prose, of operations', 'Here: {"summary": "", "operations": []}', 'structured-edit'],
  ['keys in the order that they stand', '{"operations": [{"old_string": "a"}]}', 'structured-edit'],
  ['edits that speak of operations', '{"edits": [{"new_string": "\\"operations\\":"}]}', 'string-replace'],
  ['a key before the object', 'the "operations": key\n{"edits": []}\n', 'string-replace'],
  ['nothing', '', null],
  ['prose', 'I cannot do that.\n', null],
  ['prose with a brace', 'a { b }\n', null],
  ['other JSON', '{"answer": 1}', null],
  ['a removed line and no more', '--- a\n', null],
])('%s', (_, answer, format) => {
  expect(detectFormat(answer)).toBe(format);
});

test.each([
  ['the last line', 'x\nEMEND-COMPLETE abc 1 1', 'abc'],
  ['and its end', 'x\nEMEND-COMPLETE abc 1 1\n', 'abc'],
  ['CRLF and blanks', 'x\r\nEMEND-COMPLETE abc 1 1 \t\r\n \r\n', 'abc'],
  ['before fences', 'x\nEMEND-COMPLETE abc 1 1\n```\n   ~~~~\n\n', 'abc'],
  ['the last of two', 'EMEND-COMPLETE abc 1 1\nEMEND-COMPLETE def 1 1\n', 'def'],
  ['far into an answer', `${'x\n'.repeat(50_000)}EMEND-COMPLETE abc 1 1\n`, 'abc'],
  ['before prose', 'EMEND-COMPLETE abc 1 1\nx\n', 'abc'],
  ['before a fence with words', 'EMEND-COMPLETE abc 1 1\n``` js\n', 'abc'],
  ['without counts', 'EMEND-COMPLETE abc\n', undefined],
  ['within a line', 'x EMEND-COMPLETE abc 1 1\n', undefined],
  ['with more behind it', 'EMEND-COMPLETE abc 1 1 1\n', undefined],
  ['nothing', '', undefined],
])('the nonce: %s', (_, answer, nonce) => {
  expect(nonceOf(answer)).toBe(nonce);
});
