/**
 * ◆ A deploy while runs are on their way: the workflows of one build with the activities of the other (what one scheduled, the other
 * carries out), both builds polling the same queues, and a run whose history is cached by a worker that hangs. Old is the packed
 * release, with its own workflow bundle.
 */
import { afterEach, expect, test } from '@jest/globals';
import { connectClient } from '../../src/temporal/connection.js';
import { sampled } from '../support/seeded.js';
import { longOnly } from '../support/skipped.js';
import { buildWorker, endBuildWorkers, TODAY, unpacked } from './builds.js';
import { scene, whole, type Scene } from './support.js';

const OLD = unpacked('0.1.0');

let open: Scene | null = null;
afterEach(async () => {
  await endBuildWorkers();
  await open?.close();
  open = null;
});

const NAMES = ['a', 'b', 'c', 'd'];
const FILES = Object.fromEntries(NAMES.map((name) => [`${name}.js`, 'module.exports = 1;\n']));
const RULES = [
  {
    name: 'brief',
    match: { contains: 'Now write the brief' },
    answer: 'Numbers grow.\nEMEND-COMPLETE {{nonce}} 0 0\n',
  },
  ...NAMES.map((name) => ({
    name,
    match: { contains: `- ${name}.js` },
    answer: whole({ [`${name}.js`]: 'module.exports = 2;\n' }),
  })),
];
const job = (...names: readonly string[]): string =>
  `---\ntarget_files: [${names.map((name) => `${name}.js`).join(', ')}]\ntest: exit 0\ncommit: true\n---\n# Grow ${names.join('')}\n\nGrow.\n`;

/** Who carried out what: `<what> <pid>` for every workflow task and activity that was started in a run. */
const startedBy = async (s: Scene, workflowId: string): Promise<readonly string[]> => {
  const connected = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  try {
    const { events } = await connected.client.workflow.getHandle(workflowId).fetchHistory();
    return (events ?? []).flatMap((event) => {
      const task = event.workflowTaskStartedEventAttributes;
      const activity = event.activityTaskStartedEventAttributes;
      const identity = (task ?? activity)?.identity;
      return identity == null
        ? []
        : [`${task == null ? 'activity' : 'workflow'} ${identity.split('@')[0] ?? ''}`];
    });
  } finally {
    await connected.close();
  }
};
const approveAndEnd = async (
  s: Scene,
  run: Awaited<ReturnType<Scene['start']>>,
  files: readonly string[],
) => {
  const paused = await s.settle(run, 90);
  expect(paused.status.decision?.reason).toBe('approval');
  await s.answer(run, 'approve');
  expect(await s.end(run, 90)).toMatchObject({ outcome: 'committed', files, verification: 'pass' });
  return paused.workflowId!;
};

const SIDES = [
  ['the old workflows with the new activities', OLD, TODAY],
  ['the new workflows with the old activities', TODAY, OLD],
] as const;
test.each(sampled('sides of a deploy', SIDES, 1))(
  '%s; inputs and results carry fields that neither knows',
  async (_title, workflows, activities) => {
    const s = (open = await scene(FILES, RULES));
    // Only the workflow's side: activities are scheduled by it and wait until the other build's worker comes.
    const one = await buildWorker(s, workflows, { parts: 'workflows' });
    const run = await s.start('job.md', job('a', 'b'));
    const connected = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
    const workflowId = (await s.show(run)).workflowId!;
    try {
      for (;;) {
        const { raw } = await connected.client.workflow.getHandle(workflowId).describe();
        const [pending] = raw.pendingActivities ?? [];
        if (pending !== undefined) {
          expect(pending.activityType?.name).toBe('preflight');
          break;
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    } finally {
      await connected.close();
    }
    const other = await buildWorker(s, activities, { parts: 'activities', extra: true });
    await approveAndEnd(s, run, ['a.js', 'b.js']);
    const by = new Set(await startedBy(s, workflowId));
    expect([...by].sort()).toEqual([`activity ${other.pid}`, `workflow ${one.pid}`]);
    expect(s.rehearsal.requests().map((request) => request.rule)).toEqual(['brief', 'a', 'b']);
  },
  150_000,
);

test('rolling: old and new workers on the same queues, runs with approvals; each did a part, all runs end committed', async () => {
  const s = (open = await scene(FILES, RULES, { env: { EMEND_STICKYWAIT_MS: '200' } }));
  const workers = [await buildWorker(s, OLD), await buildWorker(s, TODAY)];
  const ids: string[] = [];
  // One after the other: they share a workspace, and each commit is the next one's base.
  for (const names of [
    ['a', 'b'],
    ['c', 'd'],
  ]) {
    const run = await s.start(`${names.join('')}.md`, job(...names));
    ids.push(
      await approveAndEnd(
        s,
        run,
        names.map((name) => `${name}.js`),
      ),
    );
  }
  const by = new Set((await Promise.all(ids.map((id) => startedBy(s, id)))).flat());
  for (const { pid } of workers)
    expect([...by].filter((each) => each.endsWith(` ${pid}`))).not.toEqual([]);
  expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('3');
  expect(s.rehearsal.requests()).toHaveLength(6);
}, 150_000);

longOnly('frozen polls swallow attempts for up to a minute')(
  'a run cached by an old worker that hangs is replayed by the new one; the old one, woken, does no harm',
  async () => {
    // The stopped worker's polls still stand at the server: each may swallow an attempt before the other worker gets one.
    const s = (open = await scene(FILES, RULES, { env: { EMEND_HOSTACTIVITYATTEMPTS: '60' } }));
    const old = await buildWorker(s, OLD);
    const run = await s.start('job.md', job('a', 'b'));
    const paused = await s.settle(run, 90);
    expect(paused.status.decision?.reason).toBe('approval');
    old.send('SIGSTOP');
    const today = await buildWorker(s, TODAY);
    // Nobody answers yet: the decision that was looked at is named.
    await s.answer(run, 'approve', { decision: paused.status.decision!.id });
    expect(await s.end(run, 120)).toMatchObject({ outcome: 'committed', files: ['a.js', 'b.js'] });
    const by = await startedBy(s, paused.workflowId!);
    expect(by).toContain(`workflow ${old.pid}`);
    expect(by).toContain(`workflow ${today.pid}`);
    old.send('SIGCONT');
    await old.end();
    expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('2');
    expect(s.git('status', '--porcelain', '--ignored').trim()).toBe('?? job.md');
    expect(s.rehearsal.requests()).toHaveLength(3);
  },
  200_000,
);
