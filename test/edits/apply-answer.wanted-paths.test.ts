/** Which files an answer is about, told before the files are there. */
import { expect, test } from '@jest/globals';
import { wantedPaths } from '../../src/edits/index.js';
import type { AnswerFormat } from '../../src/shared/formats.js';
import { MAX_ANSWER_LINES } from '../../src/edits/answer-size.js';

const wanted = (
  format: AnswerFormat,
  answer: string,
  there: readonly string[] = [],
  nonce?: string,
): string[] =>
  [
    ...wantedPaths({
      format,
      answer,
      files: new Map(there.map((path) => [path, { bytes: Buffer.from('a\n') }])),
      options: { requireMarker: false, ...(nonce === undefined ? {} : { nonce }) },
    }),
  ].sort();

const DIFF = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n';
const WHOLE = 'FILE x\nb\nEND FILE\nFILE y\nb\nEND FILE\n';
const operation = (path: string) => ({ type: 'append', file_path: path, content: 'b\n' });

test.each<[string, AnswerFormat, string, string[]]>([
  ['each file of whole files', 'whole-file', WHOLE, ['x', 'y']],
  ['each file of blocks', 'search-replace', 'FILE: x\nFIND:\na\nREPLACE:\nb\nEND\n', ['x']],
  [
    'each file of operations',
    'structured-edit',
    JSON.stringify({ operations: ['x', 'y'].map(operation) }),
    ['x', 'y'],
  ],
  ['a diff without its prefixes', 'unified-diff', DIFF, ['x']],
  ['a diff whose sides have the same name', 'unified-diff', DIFF.replace('b/x', 'a/x'), ['a/x']],
  [
    'the file of a hunk in a fence of its own, and words that may be paths',
    'unified-diff',
    `\`\`\`diff\n${DIFF}\`\`\`\n\nAnd:\n\n\`\`\`diff\n@@ -4 +4 @@\n-a\n+b\n\`\`\`\n`,
    ['And', 'And:', 'diff', 'x'],
  ],
  ['nothing of what cannot be read', 'structured-edit', '{"operations": 3}', []],
])('%s', (_name, format, answer, paths) => {
  expect(wanted(format, answer)).toEqual(paths);
});

test('what is there is not asked for', () => {
  expect(wanted('whole-file', WHOLE, ['x'])).toEqual(['y']);
  expect(wanted('whole-file', WHOLE, ['x', 'y'])).toEqual([]);
  expect(wanted('unified-diff', DIFF, ['x'])).toEqual([]);
});

test('marker lines without the nonce name no file', () => {
  const answer =
    'FILE x k3f9q2\nFILE y\nEND FILE\nEND FILE k3f9q2\nEMEND-COMPLETE k3f9q2 files=1 edits=1\n';
  expect(wanted('whole-file', answer, [], 'k3f9q2')).toEqual(['x']);
});

test('an answer that is too large is not read', () => {
  expect(wanted('whole-file', WHOLE + '\n'.repeat(MAX_ANSWER_LINES))).toEqual([]);
});
