/**
 * Commands of the project run in slots of their host, as many as it has cores. Others wait on the server: without heartbeats, as long as the
 * host lives, and no longer. A cancel reaches running tests with their next heartbeat.
 */
import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, jest, test } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import { commandQueueOf } from '../../src/shared/names.js';
import { alive } from '../support/alive.js';
import { longOnly } from '../support/skipped.js';
import { eventually, pidsIn, withHandle } from './ends.js';
import { scene, whole, type Scene } from './support.js';

jest.setTimeout(240_000);

const SLOTS = availableParallelism();
const WAITING = 2;
const NAMES = Array.from({ length: SLOTS + WAITING }, (_, n) => `f${n}.txt`);
const FILES = Object.fromEntries(NAMES.map((name) => [name, 'one\n']));
const RULES = NAMES.map((name) => ({
  name,
  match: { contains: `- ${name}` },
  answer: whole({ [name]: 'two\n' }),
}));
const job = (name: string, command: string): string =>
  `---\ntarget_files: [${name}]\ntest: ${JSON.stringify(command)}\nbaseline: off\napproval: auto\ncommit: false\n---\n# Raise it\n\nWords.\n`;
const unboxed = (name: string, command: string): string =>
  job(name, command).replace('commit: false', 'commit: false\nsandbox: off');
let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

/** `temporal.api.enums.v1.PendingActivityState`. */
const STATES = { scheduled: 1, started: 2 } as const;
interface PendingTests {
  readonly isStarted: boolean;
  readonly beats: boolean;
}
/** The run of the tests that is scheduled or started now; null: none is. */
const pendingTests = (s: Scene, run: ResolvedRun): Promise<PendingTests | null> =>
  withHandle(s, run, async (handle) => {
    const { raw } = await handle.describe();
    const found = raw.pendingActivities?.find(
      ({ activityType }) => activityType?.name === 'runTests',
    );
    if (found == null) return null;
    return {
      isStarted: Number(found.state) !== STATES.scheduled,
      beats: found.lastHeartbeatTime != null,
    };
  });
const allPending = (s: Scene, runs: readonly ResolvedRun[]) =>
  Promise.all(runs.map((run) => pendingTests(s, run)));

/** The backlog of the queue of commands, as `temporal task-queue describe` shows it. */
const backlogOf = (s: Scene, run: ResolvedRun): Promise<number> =>
  withHandle(s, run, async (_handle, client) => {
    const taskQueue = { name: commandQueueOf(s.emend.queues.host) };
    const described = await client.workflowService.describeTaskQueue({
      namespace: s.emend.namespace,
      taskQueue,
      taskQueueType: 2,
      reportStats: true,
    });
    return Number(described.stats?.approximateBacklogCount ?? 0);
  });

const scheduledIn = (s: Scene, run: ResolvedRun): Promise<readonly string[]> =>
  withHandle(s, run, async (handle) => {
    const { events } = await handle.fetchHistory();
    return (events ?? []).flatMap(
      ({ activityTaskScheduledEventAttributes: done }) => done?.activityType?.name ?? [],
    );
  });

/** More runs than there are slots, all at their tests. */
const crowd = async (s: Scene, command: string): Promise<readonly ResolvedRun[]> => {
  const runs: ResolvedRun[] = [];
  for (const name of NAMES) runs.push(await s.start(`${name}.md`, job(name, command)));
  await eventually('all tests are scheduled', async () =>
    (await allPending(s, runs)).every((pending) => pending !== null),
  );
  return runs;
};

const SHORT = { EMEND_SCHEDULETOSTART_MS: '2000' };

test('more commands than slots: the rest waits without heartbeats, and a host that lives is never unreachable', async () => {
  const s = (open = await scene(FILES, RULES, { env: SHORT }));
  await s.worker();
  const runs = await crowd(s, 'sleep 8');
  const pending = await eventually('all slots are taken', async () => {
    const tasks = await allPending(s, runs);
    return tasks.filter((task) => task?.isStarted === true).length === SLOTS && tasks;
  });
  const waiting = runs.filter((_, index) => pending[index]?.isStarted === false);
  expect(waiting).toHaveLength(WAITING);
  expect(await backlogOf(s, runs[0]!)).toBe(WAITING);
  // Looks for the host, which would end the wait.
  await sleep(2.5 * Number(SHORT.EMEND_SCHEDULETOSTART_MS));
  expect(await allPending(s, waiting)).toEqual(
    waiting.map(() => ({ isStarted: false, beats: false })),
  );
  for (const run of waiting)
    await eventually('its tests run', async () => (await pendingTests(s, run))?.isStarted ?? null);
  expect(await scheduledIn(s, waiting[0]!)).toContain('checkHost');
});

longOnly('as long again as the first')(
  'a host that dies while commands wait for it: workspace_unreachable for each, and `wait` continues',
  async () => {
    const s = (open = await scene(FILES, RULES, { env: SHORT }));
    const own = await s.worker();
    const runs = await crowd(s, 'sleep 5');
    await s.worker('', { EMEND_HOME: join(s.home, '..', `home-${randomUUID().slice(0, 8)}`) });
    await own.kill();
    for (const run of runs)
      await eventually(
        'the question',
        async () => (await s.show(run)).status.decision?.reason === 'workspace_unreachable',
        30,
      );
    await s.worker();
    for (const run of runs) await s.answer(run, 'wait');
    for (const run of runs)
      await eventually('its tests are scheduled', async () => pendingTests(s, run));
  },
);

/** Starts long tests outside the sandbox, which shows their process id, aborts the run once they run, and returns how long their end took. */
const abortTests = async (env: Record<string, string>, beforeAbort_ms: number): Promise<number> => {
  const s = (open = await scene(FILES, RULES, { env }));
  await s.worker();
  const pids = join(s.repo, '..', 'pids');
  const [name = ''] = NAMES;
  const run = await s.start(
    'job.md',
    unboxed(name, `echo $$ >> ${JSON.stringify(pids)}; exec sleep 300`),
  );
  await eventually('the tests run', async () => Promise.resolve(pidsIn(pids).length === 1));
  await sleep(beforeAbort_ms);
  const begun = performance.now();
  await s.answer(run, 'abort', { decision: '' });
  expect(await s.end(run, 90)).toMatchObject({ outcome: 'aborted' });
  const took_ms = performance.now() - begun;
  const [pid = 0] = pidsIn(pids);
  await s.until(() => !alive(pid), 5);
  return took_ms;
};

test('an abort reaches running tests within their heartbeat time-out', async () => {
  const took_ms = await abortTests({ EMEND_COMMANDHEARTBEATTIMEOUT_MS: '4000' }, 500);
  expect(took_ms).toBeLessThan(4_000);
});

longOnly('half a minute between two heartbeats')(
  'with the default an abort reaches running tests within 60 s, whenever it comes',
  async () => {
    const defaults = { EMEND_COMMANDHEARTBEATTIMEOUT_MS: '60000' };
    // Right after the first heartbeat, from which on the SDK holds back others.
    expect(await abortTests(defaults, 21_000)).toBeLessThan(60_000);
  },
);
