/** Programs that follow edit runs read events by these names and fields; more may come beside them, never instead. */
import { expect, test } from '@jest/globals';
import type { StepEvent } from '../../src/shared/events.js';
import { play } from '../workflows/step/step-driver.js';

/** Name -> fields that stay. `file` beside `truncation_detected` and `decision` beside `edit_step_paused` came later. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  preflight_complete: ['shouldSplit', 'reason', 'targetFileCount', 'estimatedComplexity'],
  truncation_detected: ['reason', 'partialLength', 'stopReason'],
  edit_split_triggered: ['reason', 'file_count'],
  edit_chunk_started: ['file', 'chunk_index', 'total_chunks'],
  edit_chunk_completed: ['file'],
  edit_chunk_failed: ['file', 'reason'],
  edit_step_paused: ['reason', 'progress'],
};
const OURS: Readonly<Record<string, readonly string[]>> = {
  truncation_detected: ['file'],
  edit_step_paused: ['decision'],
};

const { state } = play({
  files: ['a.ts', 'b.ts'],
  ready: { shouldSplit: false, combined: { format: 'whole-file', outputBudget_tokens: 16_384 } },
  words: { propose: { '*': ['truncated>split'], 'b.ts': ['declined'] } },
});
const one = (type: string): StepEvent => {
  const event = state.events.find((each) => each.type === type);
  if (event === undefined) throw new Error(`no ${type}`);
  return event;
};

test.each(Object.keys(NAMED))('%s', (type) => {
  const fields = Object.keys(one(type)).filter((name) => !['type', 'seq', 'at'].includes(name));
  expect(fields.sort()).toEqual([...(NAMED[type] ?? []), ...(OURS[type] ?? [])].sort());
});

test('their values', () => {
  expect(one('preflight_complete')).toMatchObject({
    shouldSplit: false,
    targetFileCount: 2,
    estimatedComplexity: 'low',
  });
  expect(one('truncation_detected')).toMatchObject({
    file: '*',
    reason: 'the answer was cut off',
    partialLength: 7,
    stopReason: 'max_tokens',
  });
  expect(one('edit_split_triggered')).toMatchObject({ reason: 'truncated', file_count: 2 });
  const started = state.events.filter((event) => event.type === 'edit_chunk_started');
  expect(
    started.map(({ file, chunk_index, total_chunks }) => [file, chunk_index, total_chunks]),
  ).toEqual([
    ['*', 1, 1],
    ['a.ts', 1, 2],
    ['b.ts', 2, 2],
  ]);
  expect(one('edit_chunk_completed')).toMatchObject({ file: 'a.ts' });
  expect(one('edit_chunk_failed')).toMatchObject({
    file: 'b.ts',
    reason: 'declined: declined (b.ts)',
  });
  expect(one('edit_step_paused')).toMatchObject({
    reason: 'declined',
    progress: { done: 1, failed: 1, skipped: 0, total: 2 },
    decision: state.decision?.id,
  });
});

test('format_chosen tells bucket, path and lines of each file', () => {
  expect(state.events.filter((event) => event.type === 'format_chosen')).toMatchObject([
    { bucket: 'A', file_path: 'a.ts', line_count: 10, format: 'whole-file' },
    { bucket: 'A', file_path: 'b.ts', line_count: 10, format: 'whole-file' },
  ]);
});
