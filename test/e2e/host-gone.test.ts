/**
 * A host that is gone for ever, as far as anybody can tell: an abort ends the run at once and names what is open there. Should the host come
 * back after all, its worker's start or `emend recover` puts that right.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { resolveRun, type ResolvedRun } from '../../src/client/index.js';
import { emendCommand, eventually, lockOf, withHandle } from './ends.js';
import { AFTER, BEFORE, RULES } from './group.js';
import { answerFor, planText, startDemo } from './plan-support.js';
import { longOnly } from '../support/skipped.js';
import { scene, type Scene, type WorkerProcess } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const JOB = [
  ...[
    '---',
    'target_files: [a.txt, b.txt]',
    'approval: auto',
    'commit: true',
    'baseline: off',
    'test: grep -q fifteen a.txt',
    '---',
  ],
  ...['# Raise it', '', 'Words.', ''],
].join('\n');
const SHORT = { EMEND_SCHEDULETOSTART_MS: '1500' };

/** A worker of another home serves the workflows and the model, but not the workspaces of the host that is gone. */
const abroad = (s: Scene): Promise<WorkerProcess> =>
  s.worker('', { EMEND_HOME: join(s.home, '..', `home-${randomUUID().slice(0, 8)}`) });

const unreachable = (s: Scene, run: ResolvedRun) =>
  eventually(
    'the question',
    async () => (await s.show(run)).status.decision?.reason === 'workspace_unreachable',
    60,
  );
/** The activities that were scheduled on the host once the abort was there. */
const afterAbort = (s: Scene, run: ResolvedRun) =>
  withHandle(s, run, async (handle) => {
    const { events = [] } = await handle.fetchHistory();
    const at = events!.findLastIndex(
      (event) => event.workflowExecutionUpdateAcceptedEventAttributes != null,
    );
    const scheduled = events!
      .slice(at)
      .flatMap(({ activityTaskScheduledEventAttributes: done }) => done ?? []);
    return scheduled
      .map(({ activityType }) => activityType?.name)
      .filter((name) => name !== 'countUsage');
  });
const files = (s: Scene) => [s.read('a.txt'), s.read('b.txt')];

test('applied: the abort ends the run without its host, and `emend recover` there puts the files back', async () => {
  const s = (open = await scene({ 'a.txt': BEFORE, 'b.txt': BEFORE }, RULES, { env: SHORT }));
  const own = await s.worker('commit:before:1');
  const run = await s.start('job.md', JOB);
  await own.exited;
  expect(own.fired()).toBe(true);
  const other = await abroad(s);
  await unreachable(s, run);
  await s.answer(run, 'abort');
  const result = await s.end(run, 30);
  expect(result).toMatchObject({
    outcome: 'aborted',
    openOnHost: { host: run.live!.memo!.host, workspace: s.repo, files: ['a.txt', 'b.txt'] },
    problem: { message: expect.stringContaining('a.txt, b.txt') },
  });
  expect(await afterAbort(s, run)).toEqual([]);
  expect([files(s), (await lockOf(s))?.stepKey]).toEqual([[AFTER, AFTER], run.stepKey]);
  await other.kill();
  // A person went on in one of them meanwhile: it is theirs.
  s.write('b.txt', `${AFTER}more\n`);
  const said = await emendCommand(s, 'recover');
  expect({ code: said.code, out: said.out }).toEqual({
    code: 5,
    out: expect.stringMatching(
      /aborted or moved while this host was unreachable.*\n {2}1 file restored\n {2}skipped: b\.txt/,
    ),
  });
  expect([files(s), await lockOf(s)]).toEqual([[BEFORE, `${AFTER}more\n`], null]);
}, 240_000);

longOnly('as long again as the first')(
  'half applied: the worker of the host puts the files back as it starts',
  async () => {
    const s = (open = await scene({ 'a.txt': BEFORE, 'b.txt': BEFORE }, RULES, { env: SHORT }));
    const own = await s.worker('applyProposal:sys-after:rename@/b.txt');
    const run = await s.start('job.md', JOB);
    await own.exited;
    expect(own.fired()).toBe(true);
    const other = await abroad(s);
    await unreachable(s, run);
    await s.answer(run, 'abort');
    expect(await s.end(run, 30)).toMatchObject({
      outcome: 'aborted',
      openOnHost: { files: ['a.txt', 'b.txt'] },
    });
    expect(await lockOf(s)).not.toBeNull();
    await other.kill();
    await s.worker();
    await eventually('the end of the hold', async () => (await lockOf(s)) === null, 30);
    expect(files(s)).toEqual([BEFORE, BEFORE]);
  },
  240_000,
);

longOnly('as long again as the first')(
  'a plan: its abort ends the phase that asks and waits for no clean-up; recover puts the files of the phase back',
  async () => {
    const phases = [{ name: 'One', file: 'a.txt', dependencies: [] }];
    const s = (open = await scene(
      {
        'plans/010_demo.md': planText(phases),
        'a.txt': BEFORE,
        'emend.yaml': 'baseline: off\ntest: grep -q fifteen a.txt\n',
      },
      phases.map((phase) => answerFor(phase, AFTER)),
      { env: SHORT },
    ));
    const own = await s.worker('commit:before:1');
    const run = await startDemo(s, { approval: 'auto' });
    await own.exited;
    expect(own.fired()).toBe(true);
    const other = await abroad(s);
    const phase = await eventually('the phase', () =>
      resolveRun(s.emend, `${run.stepKey}-p1-1`).catch(() => null),
    );
    await unreachable(s, phase);
    await s.answer(run, 'abort', { decision: '' });
    expect(await s.end(run, 30)).toMatchObject({
      outcome: 'aborted',
      openOnHost: { files: ['a.txt'] },
    });
    expect(await afterAbort(s, run)).toEqual([]);
    expect([s.read('a.txt'), (await lockOf(s))?.stepKey]).toEqual([AFTER, phase.stepKey]);
    await other.kill();
    const said = await emendCommand(s, 'recover');
    expect({ ...said, held: await lockOf(s), a: s.read('a.txt') }).toMatchObject({
      code: 0,
      held: null,
      a: BEFORE,
    });
  },
  240_000,
);
