/** Commands for a plan whose runs another Temporal client started, under workflow ids of its own. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { shownKey } from '../../src/shared/ids.js';
import { resolveRun } from '../../src/client/index.js';
import { emendCommand, eventually } from './ends.js';
import { answerFor, planText } from './plan-support.js';
import { scene, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const PHASES = [{ n: 1, name: 'Foundation', file: 'src/one.js' }];
const PLAN = 'plans/010_demo.md';

/** Starts the plan as a person types it, and waits until lists know the run by its plan. */
const startWithCli = async (s: Scene, workflowId: string): Promise<string> => {
  const input = { workspace: s.repo, planFile: PLAN };
  await promisify(execFile)(process.env.EMEND_TEST_CLI ?? '', [
    ...['workflow', 'start', '--address', process.env.EMEND_TEST_ADDRESS ?? ''],
    ...['--task-queue', s.emend.queues.workflow, '--type', 'plan', '--workflow-id', workflowId],
    ...['--input', JSON.stringify(input)],
  ]);
  return eventually('the list knows the run', async () => {
    const listed = await s.emend.runs!.list(`WorkflowId = "${workflowId}"`, 1);
    return listed[0]?.memo?.stepKey ?? null;
  });
};
const pausedBy = async (s: Scene, key: string): Promise<string | null> =>
  (await s.show(await resolveRun(s.emend, key))).status.plan?.pausedBy ?? null;

test('commands find the open run of a plan under any workflow id, and refuse to choose between two', async () => {
  const s = (open = await scene(
    { [PLAN]: planText(PHASES), 'emend.yaml': 'baseline: off\n' },
    PHASES.map((phase) => answerFor(phase)),
  ));
  await s.worker();
  const [id, otherId] = ['my-plan', 'nightly plan'].map(
    (name) => `${name} ${s.emend.queues.workflow}`,
  );
  const key = await startWithCli(s, id!);

  const paused = await emendCommand(s, 'plan', 'pause', PLAN);
  expect(paused).toMatchObject({ code: 0, err: '' });
  expect(paused.out).toContain(`(run ${shownKey(key)}, workflow ${id}): will pause`);
  expect(await pausedBy(s, key)).not.toBeNull();
  for (const name of [id!, shownKey(key)]) {
    await emendCommand(s, 'plan', 'pause', name);
    const resumed = await emendCommand(s, 'plan', 'resume', name, '--json');
    expect(JSON.parse(resumed.out)).toMatchObject({
      workflowId: id,
      stepKey: key,
      control: 'resume',
    });
    expect(await pausedBy(s, key)).toBeNull();
  }
  const status = await emendCommand(s, 'plan', 'status', PLAN, '--json');
  expect(JSON.parse(status.out)).toMatchObject({ workflowId: id, stepKey: key });
  const again = await emendCommand(s, 'plan', 'run', PLAN, '--json');
  expect(JSON.parse(again.out)).toMatchObject({ workflowId: id, started: 'already_running' });

  const otherKey = await startWithCli(s, otherId!);
  const refused = await emendCommand(s, 'plan', 'stop', PLAN, '--after-phase');
  expect(refused.code).toBe(2);
  expect(refused.err).toContain(`${id}: emend plan stop ${shownKey(key)} --after-phase`);
  expect(refused.err).toContain(`${otherId}: emend plan stop ${shownKey(otherKey)} --after-phase`);
  expect((await emendCommand(s, 'plan', 'pause', shownKey(otherKey))).code).toBe(0);
  expect([await pausedBy(s, key), await pausedBy(s, otherKey)]).toEqual([null, expect.any(String)]);
}, 120_000);

test('the name of a run that is no open run of a plan is refused', async () => {
  const s = (open = await scene({ 'a.js': 'const a = 1;\n', [PLAN]: planText(PHASES) }, []));
  await s.worker();
  const job = await s.start('job.md', '---\ntarget_files: [a.js]\n---\n# Raise it\n\nTwo.\n');
  const ofJob = await emendCommand(s, 'plan', 'pause', shownKey(job.stepKey));
  expect(ofJob).toMatchObject({ code: 2, err: expect.stringContaining('is the run of a job') });

  const key = await startWithCli(s, `ended ${s.emend.queues.workflow}`);
  await s.answer(await resolveRun(s.emend, key), 'abort');
  await s.end(await resolveRun(s.emend, key));
  const ended = await emendCommand(s, 'plan', 'pause', shownKey(key));
  expect(ended).toMatchObject({ code: 2, err: expect.stringContaining('has ended') });
  const none = await emendCommand(s, 'plan', 'pause', PLAN);
  expect(none).toMatchObject({
    code: 2,
    err: expect.stringContaining('No run of plans/010_demo is open'),
  });
}, 120_000);
