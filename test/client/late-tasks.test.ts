/** When workers are looked for: while a task of the run waits for one. */
import type { ConnectionLike } from '@temporalio/client';
import { expect, test } from '@jest/globals';
import { tasksOf, untilLate, type PendingTask } from '../../src/client/late-tasks.js';

const TIMES = { late_ms: 200, idle_ms: 400, beat_ms: 600 };
/** Returns after how many looks a task was late; null: it was not within ten. */
const looksOf = async (tasks: (look: number) => readonly PendingTask[]): Promise<number | null> => {
  let looks = 0;
  const stop = new AbortController();
  const look = async () => {
    looks += 1;
    if (looks === 10) stop.abort();
    return tasks(looks);
  };
  await untilLate(look, stop.signal, TIMES);
  return stop.signal.aborted ? null : looks;
};

test('a task that nobody takes is late; one whose activity beats is not, until it is silent', async () => {
  const waiting = { name: 'a 1', isTaken: false };
  expect(await looksOf(() => [waiting])).toBe(2);
  // Another attempt begins anew.
  expect(await looksOf((look) => [{ name: `a ${look}`, isTaken: false }])).toBeNull();
  expect(await looksOf((look) => [{ name: `a 1 ${look}`, isTaken: true }])).toBeNull();
  expect(await looksOf(() => [{ name: 'a 1 5', isTaken: true }])).toBe(4);
});

test('while there is no task, and where the server does not answer, nothing is late', async () => {
  expect(await looksOf(() => [])).toBeNull();
  expect(
    await looksOf(() => {
      throw new Error('unavailable');
    }),
  ).toBeNull();
});

test('tasks are read from the record of the run: one that waits, one that beats, and that of the workflow', async () => {
  const pendingActivities = [
    { activityId: '5', attempt: 1, state: 1 },
    { activityId: '6', attempt: 2, state: 2, lastHeartbeatTime: { seconds: 9 } },
  ];
  const pendingWorkflowTask = { originalScheduledTime: { seconds: 7 }, attempt: 3 };
  const read = async (record: object) => {
    const workflowService = { describeWorkflowExecution: async () => record };
    return tasksOf({ workflowService } as unknown as ConnectionLike, 'n', {
      workflowId: 'w',
      runId: null,
    });
  };
  expect(await read({ pendingActivities, pendingWorkflowTask })).toEqual([
    { name: '5 1 1 ', isTaken: false },
    { name: '6 2 2 9', isTaken: true },
    { name: 'workflow 7 3', isTaken: false },
  ]);
  expect(await read({ pendingActivities: [], pendingWorkflowTask: null })).toEqual([]);
});
