/** At the dev server of its home a run has one queue for all roles, and one worker that serves it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, jest } from '@jest/globals';
import { openEmend } from '../../src/client/index.js';
import { hostOfQueue, queueNames, type Queues } from '../../src/shared/names.js';
import { testIf } from '../support/skipped.js';
import { eventually } from './ends.js';
import { scene, whole, type Scene } from './support.js';

jest.setTimeout(120_000);

const FILES = { 'a.js': 'let a = 1;\n', 'b.js': 'let b = 1;\n' };
const RULES = ['a', 'b'].map((name) => ({
  name,
  match: { contains: `- ${name}.js` },
  answer: whole({ [`${name}.js`]: `let ${name} = 2;\n` }),
}));
const JOB = '---\ntarget_files: [a.js]\ntest: exit 0\nbaseline: off\ncommit: true\n---\n# Grow\n\nRaise it.\n';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});
const testOwn = testIf(process.env.EMEND_TEST_SERVER_HOME !== undefined, 'a cluster is no dev server of a home');
const own = async (env: Record<string, string> = {}, rules: Parameters<typeof scene>[1] = RULES): Promise<Scene> =>
  (open = await scene(FILES, rules, { own: true, env }));

interface Time {
  readonly eventTime: { readonly seconds: string; readonly nanos: number };
}
interface Event extends Time {
  readonly activityTaskScheduledEventAttributes?: { readonly taskQueue: { readonly name: string } };
}
const ms = ({ eventTime: { seconds, nanos } }: Time): number => Number(seconds) * 1000 + nanos / 1e6;

testOwn(
  'clients write one queue into the input, and an activity begins with the end of the task that asks for it',
  async () => {
    const s = await own();
    const { host } = queueNames('emend', hostOfQueue(s.emend.queues.host));
    expect(s.emend.queues).toEqual({ workflow: host, model: host, host });
    await s.worker();
    const run = await s.start('job.md', JOB);
    expect((await s.settle(run)).status.decision?.reason).toBe('approval');
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    const ref = { workflowId: run.live?.workflowId ?? '', runId: run.live?.runId ?? null };
    const events = JSON.parse((await s.emend.runs?.historyText(ref)) ?? '[]') as readonly Event[];
    const asked = events.flatMap(({ activityTaskScheduledEventAttributes: scheduled, ...event }, at) =>
      scheduled === undefined
        ? []
        : [{ queue: scheduled.taskQueue.name, wait_ms: ms(events[at + 1] ?? event) - ms(event) }],
    );
    expect(new Set(asked.map(({ queue }) => queue))).toEqual(new Set([host]));
    // In the server's one transaction; by way of the queue it is several milliseconds. One may be held up within.
    expect(asked.filter(({ wait_ms }) => wait_ms < 1).length).toBeGreaterThan(asked.length / 2);
  },
);

testOwn('the server is known by its address; a queue that a person names, and another server, make three', async () => {
  const s = await own();
  const queues = async (env: Record<string, string>): Promise<Queues> => {
    const emend = await openEmend({ env: { ...s.env, ...env } });
    await emend.close();
    return emend.queues;
  };
  const localhost = s.emend.address.replace('127.0.0.1', 'localhost');
  expect(await queues({ TEMPORAL_ADDRESS: localhost })).toEqual(s.emend.queues);
  const host = hostOfQueue(s.emend.queues.host);
  expect(await queues({ EMEND_QUEUE: 'mine' })).toEqual(queueNames('mine', host));
  const elsewhere = await openEmend({
    env: { ...s.env, TEMPORAL_ADDRESS: s.emend.address, EMEND_HOME: `${s.home}-2` },
  });
  await elsewhere.close();
  expect(elsewhere.queues).toEqual(queueNames('emend', hostOfQueue(elsewhere.queues.host)));
});

testOwn('model calls keep to their limits on a queue that has none, and hold no other work up', async () => {
  const s = await own(
    { EMEND_MODELCALLS_ATONCE: '1' },
    RULES.map((rule) => ({ ...rule, fault: 'hold' })) as typeof RULES,
  );
  await s.worker();
  const first = await s.start('a.md', JOB);
  await s.until(() => s.rehearsal.requests().length === 1);
  const second = await s.start('b.md', JOB.replace('a.js', 'b.js'));
  await eventually('the second has read its files', async () => (await s.show(second)).ledger.length > 0);
  await sleep(500);
  expect(s.rehearsal.requests()).toHaveLength(1);
  s.rehearsal.release();
  await s.until(() => s.rehearsal.requests().length === 2);
  s.rehearsal.release();
  for (const run of [first, second]) expect((await s.settle(run)).status.decision?.reason).toBe('approval');
});
