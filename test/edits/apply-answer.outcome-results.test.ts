import { expect, test } from '@jest/globals';
import { applyAnswer } from '../../src/edits/apply-answer.js';
import type { AnswerOutcome } from '../../src/edits/types.js';
import type { AnswerFormat } from '../../src/shared/formats.js';

const run = (format: AnswerFormat, answer: string): AnswerOutcome =>
  applyAnswer({
    format,
    answer,
    files: new Map([['f', { bytes: Buffer.from('a\nb\nc\nd\n') }]]),
    options: { requireMarker: false },
  });
const operations = (...list: readonly unknown[]): AnswerOutcome =>
  run('structured-edit', JSON.stringify({ operations: list, complete: true }));
/** `index status codes`, one an edit. */
const told = ({ edits }: { readonly edits?: AnswerOutcome['edits'] }): readonly string[] =>
  (edits?.results ?? []).map(({ index, status, reasons }) =>
    [index, status, ...reasons.map((r) => r.code)].join(' '),
  );

const append = { type: 'append', file_path: 'f', content: 'e\n' };

test('structured-edit: each operation is applied, and counted', () => {
  const outcome = operations(append, {
    type: 'delete',
    file_path: 'f',
    start_line: 2,
    end_line: 2,
  });
  expect(outcome.edits).toMatchObject({ applied: 2, skipped: 0, failed: 0, unused: 0 });
  expect(told(outcome)).toEqual(['0 applied', '1 applied']);
});

test('structured-edit: every empty, unknown or broken operation is told by its index, the good ones are unused', () => {
  const outcome = operations(
    append,
    {},
    { ...append, type: 'move' },
    append,
    null,
    { ...append, content: '' },
    [],
    7,
  );
  expect(outcome.outcome).toBe('invalid');
  expect(outcome.edits).toMatchObject({ applied: 0, failed: 6, unused: 2 });
  expect(told(outcome)).toEqual([
    '0 unused',
    '1 failed unknown_operation',
    '2 failed unknown_operation',
    '3 unused',
    '4 failed wrong_type',
    '5 failed empty_content',
    '6 failed wrong_type',
    '7 failed wrong_type',
  ]);
});

test('structured-edit: operations that do not fit the file are told by index, with their reasons', () => {
  const at = (line: string): unknown => ({
    type: 'delete',
    file_path: 'f',
    start_line: line,
    end_line: line,
  });
  const outcome = operations(at('2zzz'), append, at('9'), { ...append, file_path: 'g' });
  expect(outcome.outcome).toBe('refused');
  expect(told(outcome)).toEqual([
    '0 failed check_mismatch',
    '1 unused',
    '2 failed out_of_range',
    '3 failed unknown_file',
  ]);
  expect(outcome.edits).toMatchObject({ failed: 3, unused: 1 });
});

test('other formats: blocks and hunks, and blocks that had nothing to do', () => {
  const block = (find: string, replace: string): string =>
    `FILE: f\nFIND:\n${find}\nREPLACE:\n${replace}\nEND\n`;
  const end = 'EMEND-COMPLETE 1 2\n';
  expect(told(run('search-replace', block('b', 'B') + block('c', 'c') + end))).toEqual([
    '0 applied',
    '1 skipped no_change',
  ]);
  expect(told(run('search-replace', block('x', 'B') + block('c', 'C') + end))).toEqual([
    '0 failed find_absent',
    '1 unused',
  ]);
  const diff = '--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -3,2 +3,2 @@\n c\n-x\n+D\n';
  expect(told(run('unified-diff', diff))).toEqual(['0 unused', '1 failed context_mismatch']);
});

test('an answer that was cut off has no results', () => {
  expect(run('structured-edit', '{"operations": [{"type": "app').edits).toBeUndefined();
});
