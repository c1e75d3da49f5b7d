/** At the dev server of its home a run has one queue for all roles but commands, and one worker that serves it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, jest } from '@jest/globals';
import { openEmend, resolveRun, type ResolvedRun } from '../../src/client/index.js';
import { commandQueueOf, hostOfQueue, queueNames, type Queues } from '../../src/shared/names.js';
import { longOnly, testIf } from '../support/skipped.js';
import { check } from './check-history.js';
import { eventually, withHandle } from './ends.js';
import { scene, whole, type Scene } from './support.js';

jest.setTimeout(120_000);

const FILES = { 'a.js': 'let a = 1;\n', 'b.js': 'let b = 1;\n' };
const RULES = ['a', 'b'].map((name) => ({
  name,
  match: { contains: `- ${name}.js` },
  answer: whole({ [`${name}.js`]: `let ${name} = 2;\n` }),
}));
const JOB =
  '---\ntarget_files: [a.js]\ntest: exit 0\nbaseline: off\ncommit: true\n---\n# Grow\n\nRaise it.\n';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});
const testOwn = testIf(
  process.env.EMEND_TEST_SERVER_HOME !== undefined,
  'a cluster is no dev server of a home',
);
const longOwn =
  process.env.EMEND_TEST_SERVER_HOME === undefined
    ? testOwn
    : longOnly('each starts a run of its own; a killed or held workflow task is waited for 10 s');
const own = async (
  env: Record<string, string> = {},
  rules: Parameters<typeof scene>[1] = RULES,
): Promise<Scene> => (open = await scene(FILES, rules, { own: true, env }));

interface Time {
  readonly eventTime: { readonly seconds: string; readonly nanos: number };
}
interface Event extends Time {
  readonly activityTaskScheduledEventAttributes?: {
    readonly taskQueue: { readonly name: string };
    readonly activityType: { readonly name: string };
  };
}
const ms = ({ eventTime: { seconds, nanos } }: Time): number =>
  Number(seconds) * 1000 + nanos / 1e6;

const eventsOf = async (s: Scene, { live }: ResolvedRun): Promise<readonly Event[]> =>
  JSON.parse(
    (await s.emend.runs?.historyText({
      workflowId: live?.workflowId ?? '',
      runId: live?.runId ?? null,
    })) ?? '[]',
  ) as readonly Event[];

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
    const asked = events.flatMap(
      ({ activityTaskScheduledEventAttributes: scheduled, ...event }, at) =>
        scheduled === undefined
          ? []
          : [{ queue: scheduled.taskQueue.name, wait_ms: ms(events[at + 1] ?? event) - ms(event) }],
    );
    // Slots bound a worker, so commands have a queue, and a worker, of their own.
    const commands = commandQueueOf(host);
    expect(new Set(asked.map(({ queue }) => queue))).toEqual(new Set([host, commands]));
    // In the server's one transaction; by way of the queue it is several milliseconds. One may be held up within.
    expect(asked.filter(({ wait_ms }) => wait_ms < 1).length).toBeGreaterThan(asked.length / 2);
  },
);

testOwn(
  'the server is known by its address; a queue that a person names, and another server, make three',
  async () => {
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
  },
);

longOwn(
  'model calls keep to their limits on a queue that has none, and hold no other work up',
  async () => {
    const s = await own(
      { EMEND_MODELCALLS_ATONCE: '1' },
      RULES.map((rule) => ({ ...rule, fault: 'hold' })) as typeof RULES,
    );
    await s.worker();
    const first = await s.start('a.md', JOB);
    await s.until(() => s.rehearsal.requests().length === 1);
    const second = await s.start('b.md', JOB.replace('a.js', 'b.js'));
    await eventually(
      'the second has read its files',
      async () => (await s.show(second)).ledger.length > 0,
    );
    await sleep(500);
    expect(s.rehearsal.requests()).toHaveLength(1);
    s.rehearsal.release();
    await s.until(() => s.rehearsal.requests().length === 2);
    s.rehearsal.release();
    for (const run of [first, second])
      expect((await s.settle(run)).status.decision?.reason).toBe('approval');
  },
);

longOwn(
  'more calls than the SDK has slots wait for their turn, and the files of another run are read',
  async () => {
    // The slots of the SDK's default are 100.
    const [runs, calls] = [4, 32];
    const s = await own(
      {
        EMEND_MODELCALLS_ATONCE: '1',
        EMEND_HEARTBEAT_MS: '5000',
        EMEND_HEARTBEATTIMEOUT_MS: '30000',
      },
      [{ name: 'any', match: { contains: 'Raise it.' }, answer: '', fault: { kind: 'hold' } }],
    );
    await s.worker();
    const paths = Array.from({ length: calls }, (_, n) => `new-${n}.txt`).join(', ');
    const front = `mode: sequential\noutput_files: [${paths}]\nlimits: { concurrency: ${calls} }`;
    const started = await Promise.all(
      Array.from({ length: runs }, (_, n) =>
        s.start(`${n}.md`, JOB.replace('target_files: [a.js]', front)),
      ),
    );
    for (const run of started)
      await eventually(
        'its calls are asked for',
        async () =>
          (await s.show(run)).ledger.filter(({ status }) => status === 'in_progress').length ===
          calls,
      );
    const other = await s.start('other.md', JOB);
    await eventually(
      'the other has read its files',
      async () => (await s.show(other)).ledger.length > 0,
    );
    expect(s.rehearsal.requests()).toHaveLength(1);
  },
);

// A worker that serves all roles is killed or stopped while it builds a proposal.

const asActivities = (events: readonly Event[]): readonly string[] =>
  events.flatMap(
    ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType.name ?? [],
  );

/** Each activity's result once, each event once, one answer paid for, one commit of both attempts together. */
const expectOneEnd = async (s: Scene, run: ResolvedRun): Promise<void> => {
  expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
  expect(s.rehearsal.requests()).toHaveLength(1);
  expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('2');
  const archived = await resolveRun(s.emend, run.stepKey);
  const built = archived.archived.activities.filter(({ name }) => name === 'buildProposal');
  expect(built.length).toBeGreaterThan(0);
  expect(new Set(built.map(({ result }) => JSON.stringify(result))).size).toBe(1);
  const seqs = archived.archived.events.map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.map((_, at) => at + 1));
  const history = await eventsOf(s, run);
  expect(asActivities(history)).toEqual([
    ...['beginRun', 'preflight', 'proposeEdit', 'buildProposal', 'runTests', 'applyProposal'],
    'commit',
  ]);
};
const AUTO = JOB.replace('commit: true', 'commit: true\napproval: auto');

const KILLS = ['buildProposal:after:1', 'buildProposal:before:1', 'buildProposal:sys:link@blobs'];
longOwn.each(KILLS)(
  'SIGKILL while the proposal is built (%s): another worker builds it, and nothing is lost',
  async (point) => {
    const s = await own();
    const dying = await s.worker(point);
    const run = await s.start('job.md', AUTO);
    await s.until(dying.fired);
    await dying.exited;
    await s.worker();
    await expectOneEnd(s, run);
    await check(s, run.live?.workflowId ?? '', 'edit-step-committed-one-queue');
  },
);

longOwn(
  'a worker that is stopped while the proposal is built ends that, and the run is not cancelled by it',
  async () => {
    const s = await own();
    const stopping = await s.worker('buildProposal:hold-before:1');
    const run = await s.start('job.md', AUTO);
    await s.until(stopping.fired);
    stopping.child.kill('SIGTERM');
    await sleep(500);
    stopping.go();
    await stopping.exited;
    await s.worker();
    await expectOneEnd(s, run);
  },
);

longOwn.each(['abort', 'cancel'] as const)(
  '%s while the proposal is built: that comes to its end, then the run does',
  async (how) => {
    const s = await own();
    const worker = await s.worker('buildProposal:hold-before:1');
    const run = await s.start('job.md', AUTO);
    await s.until(worker.fired);
    if (how === 'abort')
      expect((await s.answer(run, 'abort', { decision: '' })).outcome).toBe('resolved');
    else await withHandle(s, run, (handle) => handle.cancel());
    worker.go();
    const ended = await s.end(run).catch(() => null);
    expect(ended === null || ended.outcome === 'aborted').toBe(true);
    expect([
      s.git('rev-list', '--count', 'HEAD').trim(),
      s.git('status', '--porcelain', 'a.js'),
    ]).toEqual(['1', '']);
  },
);
