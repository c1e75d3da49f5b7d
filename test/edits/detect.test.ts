/** Which format an answer is taken for, which nonce it carries, and what of it looks like an edit that nobody reads. */
import { expect, test } from '@jest/globals';
import { BODY, Outside, withoutIndent } from '../../src/edits/detect.js';
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
  for (const answer of [
    text,
    `Here it is:\n\n${text}`,
    `\`\`\`\n${text}\`\`\`\n`,
    text.replaceAll('\n', '\r\n'),
  ])
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
  [
    'JSON in a line of prose, of operations',
    'Here: {"summary": "", "operations": []}',
    'structured-edit',
  ],
  ['keys in the order that they stand', '{"operations": [{"old_string": "a"}]}', 'structured-edit'],
  [
    'edits that speak of operations',
    '{"edits": [{"new_string": "\\"operations\\":"}]}',
    'string-replace',
  ],
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

test.each([
  ['all of it', '  ```\n  FILE a\n  x\n  ```', '```\nFILE a\nx\n```'],
  [
    'behind prose, before prose',
    'So:\n  ```\n  x\n  ```\nDone.\n  It is.',
    'So:\n```\nx\n```\nDone.\n  It is.',
  ],
  [
    'blank lines inside and behind',
    '  ```\n\n \n    x\n  ```\n  \nDone.',
    '```\n\n\n  x\n```\n  \nDone.',
  ],
  ['no closing fence', '   ~~~\n   FILE a\n   x', '~~~\nFILE a\nx'],
])('an indented fence loses its blanks: %s', (_, answer, plain) => {
  expect(withoutIndent(answer)).toBe(plain);
});
test.each([
  ['a fence within a line', 'a  ```\n  b'],
  ['no fence', ' `a`\n b'],
  ['no waves', ' ~a\n b'],
  ['four blanks', '    ```\n    x\n    ```'],
  ['text that is not indented, in it', '  ```\n  x\nDone.'],
  ['an edit before it', 'FILE a\n  ```\n  x\n  ```\nEND FILE'],
])('an answer stays as it is: %s', (_, answer) => {
  expect(withoutIndent(answer)).toBe(answer);
});

/** Lines outside of all bodies; `\0` is one that belongs to the grammar. */
const outside = (...lines: string[]): Outside => {
  const taken = new Outside();
  for (const [at, line] of lines.entries()) {
    taken.take(at, line);
    if (line === BODY) taken.belongs(at);
  }
  return taken;
};
test.each<[string, string[], number | null]>([
  ['nothing', [], null],
  ['prose', ['That is all.', '', 'DELETE the old one by hand later, please.'], null],
  ['a diff', ['x', '--- a', '+++ a'], 2],
  ['blocks', ['', 'FILE: a', 'FIND:'], 2],
  ['a malformed file', ['**FILE a.ts**'], 1],
  ['a malformed end', ['x', 'END FILE abc'], 2],
  ['JSON', ['x', ' {"edits": []}'], 2],
  ['a fence with a path before it', ['`src/a.ts`', '```', 'x', '```'], 1],
  ['one that belongs to a body', ['`src/a.ts`', '```', BODY, '```'], null],
  ['a fence with a path in it', ['```ts title=a.ts', 'x', '```'], 1],
  ['a path in a fence', ['```', 'src/a.ts', '```'], null],
  ['a path behind a fence', ['```', 'x', '```', 'src/a.ts'], null],
])('an edit outside of all bodies: %s', (_, lines, line) => {
  expect(
    outside(...lines)
      .stray(0)
      ?.message.match(/^Line (\d+) /)?.[1],
  ).toBe(line?.toString());
});
test('it is one only beside edits that were read; a fence that stays open is a cut anyway', () => {
  const diff = ['--- a', '+++ a'];
  expect(outside(...diff).fault(0)).toBeNull();
  expect(outside(...diff).fault(2)).toMatchObject({
    open: false,
    reasons: [{ code: 'stray_edit', index: 2 }],
  });
  expect(outside('```', 'x').fault(0)).toMatchObject({
    open: true,
    reasons: [{ code: 'cut_inside_fence' }],
  });
  expect(outside('x').fault(1)).toBeNull();
});
test('fences, blanks and bodies are no prose', () => {
  expect(outside('  ', '```', '\t', BODY, '```').hasProse).toBe(false);
  expect(outside('```', 'x', '```').hasProse).toBe(true);
});
