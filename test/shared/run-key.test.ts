/** Which runs have one key, and which have keys of their own. */
import { expect, test } from '@jest/globals';
import { runKey, type RunOrigin } from '../../src/shared/run-key.js';

const origin: RunOrigin = {
  namespace: 'default',
  workflowId: 'nightly',
  firstRunId: '0195f3a2-0000-7000-8000-000000000001',
  cronRunId: null,
};
const SECOND_NIGHT = '0195f3a2-0000-7000-8000-000000000002';
const THIRD_NIGHT = '0195f3a2-0000-7000-8000-000000000003';

test('a key is 32 hex digits, and the same origin always has the same one', () => {
  // The stores of earlier runs depend on this value.
  expect(runKey(origin)).toBe('ca7820f3fa8dce5a27bf78f94ed312c1');
  expect(runKey({ ...origin })).toBe(runKey(origin));
});

test.each<[string, Partial<RunOrigin>]>([
  ['another namespace', { namespace: 'other' }],
  ['another workflow id', { workflowId: 'weekly' }],
  ['another first run', { firstRunId: SECOND_NIGHT }],
  ['a cron schedule, in its first run', { cronRunId: origin.firstRunId }],
  ['a cron schedule, in a later run', { cronRunId: SECOND_NIGHT }],
  // Without separators these would be the text of the origin.
  ['a border between two fields at another place', { namespace: 'defaultn', workflowId: 'ightly' }],
])('%s: another key', (_name, changed) => {
  expect(runKey({ ...origin, ...changed })).not.toBe(runKey(origin));
});

test('the runs of one cron schedule share their first run id, and each has a key of its own', () => {
  const nights = [origin.firstRunId, SECOND_NIGHT, THIRD_NIGHT];
  const keys = nights.map((cronRunId) => runKey({ ...origin, cronRunId }));
  expect(new Set(keys).size).toBe(nights.length);
});
