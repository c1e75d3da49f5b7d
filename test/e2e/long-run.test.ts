/**
 * Runs whose history is bounded: here the server suggests a new run after 60 events, where others do after thousands. A step and a plan
 * go on in a new run at every pause, with workers killed between; whatever is sent to them, the other runs on their worker go on.
 */
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { resolveRun, type ResolvedRun } from '../../src/client/index.js';
import { connectClient, type ClientConnection } from '../../src/temporal/connection.js';
import { startDevServer, type DevServer } from '../../src/temporal/dev-server.js';
import { suggesting } from '../chaos/server.js';
import { replay } from '../support/replay.js';
import { newHome, serverOptions } from '../temporal/support/server.js';
import { historyOf } from './check-history.js';
import { eventually } from './ends.js';
import { longOnly } from '../support/skipped.js';
import { answerFor, planText, startDemo } from './plan-support.js';
import { scene, whole, type Scene } from './support.js';

const LONG = process.env.EMEND_LONG !== undefined;
const JUNK = LONG ? 5_000 : 500;
const SUGGESTED = 60;
const paths = Array.from(
  { length: LONG ? 40 : 16 },
  (_, n) => `src/f${String(n).padStart(2, '0')}.js`,
);
/** Files of a run that holds the workspace, and of one that waits for its model, then for the workspace. */
const [HELD, LATE] = ['held.js', 'late.js'] as const;
const PHASE = { name: 'One', file: 'src/one.js' };

let place: Awaited<ReturnType<typeof newHome>>;
let server: DevServer;
let s: Scene;
let connection: ClientConnection;
beforeAll(async () => {
  place = await newHome();
  const options = await serverOptions(place.home, 'memory');
  const path = suggesting(place.home, options.cli.path, SUGGESTED);
  server = await startDevServer({ ...options, cli: { ...options.cli, path } });
  const files = Object.fromEntries(
    [...paths, 'a.js', 'b.js', HELD, LATE].map((file) => [file, 'const a = 1;\n']),
  );
  s = await scene(
    { ...files, 'plans/010_demo.md': planText([PHASE]), 'emend.yaml': 'test: false\n' },
    [
      {
        name: 'brief',
        match: { contains: 'Now write the brief' },
        answer: 'Up.\nEMEND-COMPLETE {{nonce}} 0 0\n',
      },
      {
        name: 'down',
        match: { contains: `- ${LATE}`, times: 12 },
        answer: '',
        fault: { kind: 'overload' },
      },
      ...[...paths, 'a.js', 'b.js', HELD, LATE].map((file) => ({
        name: file,
        match: { contains: `- ${file}` },
        answer: whole({ [file]: 'const a = 2;\n' }),
      })),
      answerFor(PHASE),
    ],
    { address: server.address },
  );
  connection = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
}, 60_000);
afterEach(async () => {
  await Promise.all(s.workers().map((worker) => worker.kill()));
});
afterAll(async () => {
  await connection.close();
  await s.close();
  await server.stop(0);
  await place.remove();
});

const job = (files: readonly string[], ...keys: string[]): string =>
  [
    '---',
    `target_files: [${files.join(', ')}]`,
    ...keys,
    '---',
    '# Grow',
    '',
    'Raise it.',
    '',
  ].join('\n');
/** Every run of the workflow, replayed; how many events each had. */
const runsOf = async (workflowId: string): Promise<readonly number[]> => {
  const { workflow } = connection.client;
  const lengths: number[] = [];
  for await (const { runId } of workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    const { read } = await historyOf(connection, workflowId, runId);
    await replay(read, runId);
    const { events } = read;
    expect(events.filter((event) => event.activityTaskFailedEventAttributes !== undefined)).toEqual(
      [],
    );
    lengths.push(events.length);
  }
  return lengths;
};
/** None is lost, none is there twice. */
const inOrder = async (run: ResolvedRun): Promise<void> => {
  const seqs = (await s.events(run)).map(({ seq }) => seq);
  expect(seqs).not.toEqual([]);
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
};
const flood = async (workflowId: string, count: number): Promise<void> => {
  const handle = connection.client.workflow.getHandle(workflowId);
  const kinds = [
    (n: number) =>
      handle.signal('answer', { v: 2, decision: 'none', answer: 'approve', requestId: `j${n}` }),
    (n: number) => handle.signal('approve', { decision: `no-${n}` }),
    (n: number) => handle.signal('nobody-listens', n),
    () => handle.signal('approve'),
  ];
  for (let n = 0; n < count; n += 50)
    await Promise.all(Array.from({ length: 50 }, (_, i) => kinds[(n + i) % kinds.length]!(n + i)));
};

test('a step goes on in new runs, whoever is killed: each call is paid for once, each event told once', async () => {
  await s.worker();
  const run = await s.start('grow.md', job(paths, 'limits: { maxFilesPerStep: 100 }'));
  const workflowId = run.live!.workflowId;
  const calls = (): number =>
    s.rehearsal.requests().filter(({ rule }) => [...paths, 'brief'].includes(rule ?? '')).length;
  await s.until(() => calls() > paths.length / 4, 60);
  await s.workers().at(-1)!.kill();
  await s.worker();
  const newest = () => resolveRun(s.emend, run.stepKey);
  const decision = await eventually(
    'the question',
    async () => (await s.show(await newest())).status.decision,
    90,
  );
  expect(decision).toMatchObject({ reason: 'approval' });
  await s.workers().at(-1)!.kill();
  await s.worker();
  expect(await s.answer(await newest(), 'approve')).toMatchObject({ outcome: 'resolved' });
  const result = await s.end(await newest(), 90);
  expect(result).toMatchObject({ outcome: 'applied', files: paths, stepKey: run.stepKey });
  // A worker that dies between its note and the request leaves a call that nobody saw: it counts as one that may be paid for.
  expect(calls()).toBeLessThanOrEqual(result.usage.calls);
  expect(calls()).toBeGreaterThanOrEqual(result.usage.calls - result.usage.unknownCalls);
  const lengths = await runsOf(workflowId);
  expect(lengths.length).toBeGreaterThan(1);
  // One move, or one turn of calls side by side, over the suggestion.
  expect(Math.max(...lengths)).toBeLessThan(2 * SUGGESTED);
  await inOrder(await newest());
}, 240_000);

longOnly('a wait of half a minute; the others go on in new runs, too')(
  'a wait for a model that is down, and one for a busy workspace, go on in new runs',
  async () => {
    await s.worker();
    const late = await s.start('late.md', job([LATE], 'approval: auto', 'commit: false'));
    const { workflowId, runId } = late.live!;
    const newest = () => resolveRun(s.emend, late.stepKey);
    const laterThan = (than: string) => async () => {
      const { live } = await newest();
      return live?.runId === than ? null : live!.runId;
    };
    const second = await eventually('a run after the outage', laterThan(runId), 60);
    expect((await s.show(await newest())).status.outage).toMatchObject({
      message: expect.stringContaining('529'),
    });
    const until = `until test -e '${s.repo}/.git/enough'; do sleep 0.1; done`;
    const held = await s.start(
      'held.md',
      job([HELD], 'approval: auto', 'sandbox: off', 'baseline: off', `test: "${until}"`),
    );
    await eventually(
      'the tests',
      async () => ((await s.show(held)).status.stage === 'verify' ? true : null),
      60,
    );
    await eventually('a run after the busy workspace', laterThan(second), 90);
    await writeFile(`${s.repo}/.git/enough`, '');
    expect(await s.end(held, 60)).toMatchObject({
      outcome: expect.stringMatching(/applied|committed/),
    });
    expect(await s.end(await newest(), 60)).toMatchObject({ outcome: 'applied', files: [LATE] });
    expect(
      (await s.events(await newest())).filter(({ type }) => type === 'edit_step_paused'),
    ).toEqual([]);
    expect((await runsOf(workflowId)).length).toBeGreaterThan(2);
    await inOrder(await newest());
  },
  240_000,
);

test('junk signals: counted, the last 20 kept, and another run on the worker goes on', async () => {
  await s.worker();
  const run = await s.start('junk.md', job(['a.js']));
  const before = (await s.settle(run)).status.decision;
  const sending = flood(run.live!.workflowId, JUNK);
  const other = await s.start('other.md', job(['b.js']));
  expect((await s.settle(other)).status.decision?.reason).toBe('approval');
  await s.answer(other, 'approve');
  expect((await s.end(other)).outcome).toBe('applied');
  await sending;
  const told = await eventually(
    'all junk',
    async () => {
      const { status } = await s.show(run);
      return status.ignoredCount === JUNK ? status : null;
    },
    120,
  );
  expect(told.decision?.id).toBe(before?.id);
  expect(told.ignored).toHaveLength(20);
  await s.answer(run, 'approve');
  expect((await s.end(run)).outcome).toBe('applied');
  await inOrder(run);
  expect((await s.events(run)).filter(({ type }) => type === 'decision_ignored')).toHaveLength(20);
  expect((await runsOf(run.live!.workflowId)).length).toBeGreaterThan(1);
}, 300_000);

test('a plan goes on in a new run while its phase waits for a person, and attaches to it again', async () => {
  await s.worker();
  execFileSync('git', ['commit', '-qam', 'what went before', '--allow-empty'], { cwd: s.repo });
  const plan = await startDemo(s);
  const child = await eventually(
    'the phase',
    async () => {
      const found = await resolveRun(s.emend, `${plan.stepKey.slice(0, 8)}-p1-1`).catch(() => null);
      return found?.live == null ? null : found;
    },
    60,
  );
  expect((await s.settle(child)).status.decision?.reason).toBe('approval');
  await flood(plan.live!.workflowId, 300);
  await eventually(
    'a later run',
    async () =>
      (await resolveRun(s.emend, plan.stepKey)).live?.runId !== plan.live?.runId ? true : null,
    60,
  );
  await s.workers().at(-1)!.kill();
  await s.worker();
  await s.answer(child, 'approve');
  expect(await s.end(await resolveRun(s.emend, plan.stepKey), 120)).toMatchObject({
    outcome: 'completed',
    usage: { calls: 1 },
  });
  expect((await runsOf(plan.live!.workflowId)).length).toBeGreaterThan(1);
  await inOrder(await resolveRun(s.emend, plan.stepKey));
}, 240_000);
