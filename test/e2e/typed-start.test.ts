/** Runs that other clients than Emend's start: from the `temporal` command, the bare SDK, a Schedule, another workflow. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { symlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { resolveRun } from '../../src/client/index.js';
import { listRuns } from '../../src/client/runs/list.js';
import { noteClosed } from '../../src/client/runs/resolve.js';
import type { StepResult, StepStatus } from '../../src/shared/run.js';
import { connectClient, type ClientConnection } from '../../src/temporal/connection.js';
import { longOnly } from '../support/skipped.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
let connection: ClientConnection | null = null;
afterEach(async () => {
  await connection?.close();
  await open?.close();
  open = connection = null;
});

const RULES = [
  { name: 'greet', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) },
];
const TASK = {
  task: '# Raise the number\n\nSet a to 2.',
  targetFiles: ['a.js'],
  test: false,
  commit: true,
  approval: 'auto',
} as const;

const begin = async (files: Record<string, string> = {}): Promise<Scene> => {
  open = await scene(
    { 'a.js': 'const a = 1;\n', 'emend.yaml': 'baseline: off\n', ...files },
    RULES,
  );
  await open.worker();
  connection = await connectClient({ env: open.env, home: open.home, connect_ms: 5000 });
  return open;
};
const queueOf = (s: Scene): string => s.emend.queues.workflow;
const start = (s: Scene, input: unknown, workflowId = randomUUID()): Promise<WorkflowHandle> =>
  connection!.client.workflow.start('editStep', {
    taskQueue: queueOf(s),
    workflowId,
    args: [input],
  });
/** Waits until the first activity has returned what the run goes by. */
const begun = async (handle: WorkflowHandle): Promise<StepStatus> => {
  for (;;) {
    const status = await handle.query<StepStatus>('status');
    if (status.stage !== 'begin') return status;
  }
};
/** Resets a run to the end of its first workflow task. */
const reset = (workflowExecution: {
  readonly workflowId: string;
  readonly runId: string;
}): Promise<{ readonly runId: string }> =>
  connection!.connection.workflowService.resetWorkflowExecution({
    namespace: connection!.namespace,
    workflowExecution,
    reason: 'test',
    requestId: randomUUID(),
    workflowTaskFinishEventId: 4 as never,
  });
const failureOf = (handle: WorkflowHandle): Promise<{ type: string; message: string }> =>
  handle.result().then(
    () => {
      throw new Error('the run did not fail');
    },
    (error: unknown) => (error as { cause: { type: string; message: string } }).cause,
  );

test('the bare SDK starts a run with a task; commands find it by its key', async () => {
  const s = await begin();
  const handle = await start(s, { workspace: s.repo, ...TASK });
  const result = (await handle.result()) as StepResult;
  expect(result).toMatchObject({ outcome: 'committed', files: ['a.js'] });
  const run = await resolveRun(s.emend, result.stepKey.slice(0, 8));
  const { status } = await s.show(run);
  expect(status).toMatchObject({ title: 'Raise the number', jobPath: 'raise-the-number-set-a' });
});

test('`temporal workflow start` runs a job file of the workspace', async () => {
  const s = await begin({
    'jobs/raise.md':
      '---\ntarget_files: [a.js]\ntest: false\ncommit: true\n---\n# Raise\n\nSet a to 2.\n',
  });
  const workflowId = randomUUID();
  const input = { workspace: s.repo, jobFile: 'jobs/raise.md', approval: 'auto' };
  await promisify(execFile)(process.env.EMEND_TEST_CLI ?? '', [
    ...['workflow', 'start', '--address', process.env.EMEND_TEST_ADDRESS ?? ''],
    ...['--task-queue', queueOf(s), '--type', 'editStep', '--workflow-id', workflowId],
    ...['--input', JSON.stringify(input)],
  ]);
  const handle = connection!.client.workflow.getHandle(workflowId);
  const result = (await handle.result()) as StepResult;
  expect(result).toMatchObject({ outcome: 'committed', files: ['a.js'] });
  const { status } = await s.show(await resolveRun(s.emend, workflowId));
  expect(status).toMatchObject({ title: 'Raise', jobPath: 'jobs/raise.md' });
});

test('the same input started twice makes two runs with a key of their own', async () => {
  const s = await begin();
  const input = { workspace: s.repo, ...TASK };
  const first = (await (await start(s, input)).result()) as StepResult;
  s.write('a.js', 'const a = 1;\n');
  s.git('commit', '-qam', 'back');
  const second = (await (await start(s, input)).result()) as StepResult;
  expect(second).toMatchObject({ outcome: 'committed', files: ['a.js'] });
  expect(second.stepKey).not.toBe(first.stepKey);
  expect(second.commit).not.toBe(first.commit);
  expect(s.git('rev-parse', 'HEAD').trim()).toBe(second.commit);
});

longOnly('a tick of cron takes up to a minute; the keys of a cron run have tests of their own')(
  'each run of a cron workflow does its own work, under a key of its own',
  async () => {
    const s = await begin();
    const handle = await connection!.client.workflow.start('editStep', {
      taskQueue: queueOf(s),
      workflowId: randomUUID(),
      args: [{ workspace: s.repo, ...TASK }],
      cronSchedule: '@every 2s',
    });
    const { workflowId } = handle;
    const keys = new Set<string>();
    const commits = new Set<string>();
    for (let night = 1; night <= 2; night++) {
      await s.until(() => s.git('rev-list', '--count', 'HEAD').trim() === String(2 * night), 40);
      commits.add(s.git('rev-parse', 'HEAD').trim());
      s.write('a.js', 'const a = 1;\n');
      s.git('commit', '-qam', `After night ${night}`);
    }
    // The chain of runs has no end: a list must not wait for it.
    expect((await listRuns(s.emend)).runs.length).toBeGreaterThan(1);
    await handle.terminate('enough nights');
    const { workflow } = connection!.client;
    for await (const { runId } of workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
      const { status } = await workflow.getHandle(workflowId, runId).describe();
      if (status.name === 'TERMINATED') continue;
      const { stepKey } = await workflow.getHandle(workflowId, runId).query<StepStatus>('status');
      keys.add(stepKey);
    }
    expect(commits.size).toBe(2);
    expect(keys.size).toBeGreaterThan(1);
    for (const key of keys) {
      const run = await resolveRun(s.emend, key);
      expect(run.stepKey).toBe(key);
      await noteClosed(s.emend, run);
      expect((await s.show(run)).status.result).toMatchObject({ outcome: 'committed' });
    }
  },
);

longOnly('a tick of cron takes up to a minute; the keys of a cron run have tests of their own')(
  'a run of a cron workflow keeps its key when it is reset, and pays for nothing again',
  async () => {
    const s = await begin();
    const { workflow } = connection!.client;
    const { workflowId } = await workflow.start('editStep', {
      taskQueue: queueOf(s),
      workflowId: randomUUID(),
      args: [{ workspace: s.repo, ...TASK }],
      cronSchedule: '@every 2s',
    });
    const committed = (): boolean => s.git('rev-list', '--count', 'HEAD').trim() === '2';
    await s.until(committed, 40);
    const closed = async (): Promise<WorkflowHandle[]> => {
      const found: WorkflowHandle[] = [];
      for await (const { runId, status } of workflow.list({
        query: `WorkflowId = '${workflowId}'`,
      }))
        if (status.name === 'COMPLETED') found.push(workflow.getHandle(workflowId, runId));
      return found;
    };
    // Visibility is eventually consistent.
    let [night] = await closed();
    while (night === undefined) [night] = await closed();
    const { runId } = await night.describe();
    const { stepKey, usage } = await night.query<StepStatus>('status');
    const { runId: resetRunId } = await reset({ workflowId, runId });
    const runs = s.emend.runs!;
    const resetRun = { workflowId, runId: resetRunId };
    const { result } = await runs.closed((await runs.describe(resetRun))!);
    expect(result).toMatchObject({
      stepKey,
      usage: { calls: usage.calls, usd: usage.usd },
    });
    expect((await runs.describe(resetRun))?.memo?.stepKey).toBe(stepKey);
    await workflow.getHandle(workflowId).terminate('enough nights');
  },
);

test('a workspace that is not there, or leads through a link, is refused with its reason', async () => {
  const s = await begin();
  const link = `${s.repo}-link`;
  symlinkSync(s.repo, link);
  const problemOf = async (workspace: string): Promise<StepResult['problem']> => {
    const handle = await start(s, { workspace, ...TASK });
    return ((await handle.result()) as StepResult).problem;
  };
  expect(await problemOf(`${s.repo}/none`)).toMatchObject({
    code: 'usage',
    message: expect.stringContaining('is not a directory on this host') as unknown,
  });
  expect(await problemOf(link)).toMatchObject({
    message: expect.stringContaining(`leads through a symbolic link to ${s.repo}`) as unknown,
  });
});

test.each([
  [undefined, /expected an object, received nothing/],
  [{}, /`workspace`: expected an absolute path.*`task`: expected instructions, or `jobFile`/],
  [{ workspace: 'repo', task: 'x' }, /`workspace`: expected an absolute path/],
  [
    { workspace: '/r', task: 'x', targetFile: ['a.js'] },
    /`targetFile`: unknown key; did you mean `targetFiles`/,
  ],
  [
    { workspace: '/r', task: 'x', targetFiles: 'a.js' },
    /`targetFiles`: expected a list of paths, received "a.js"/,
  ],
  [{ workspace: '/r', jobFile: 'j.md', task: 'x' }, /either `task` or `jobFile`/],
  [{ workspace: '/r', jobFile: 'j.md', test: 'npm test' }, /`test`: the job file sets it/],
  [{ v: 2, stepKey: 'a'.repeat(32) }, /`v`: unknown key/],
  [{ workspace: '/r', task: 'x', carried: {} }, /`carried`: unknown key/],
  [{ workspace: '/r', task: 'x', setup: {} }, /`setup`: unknown key/],
])('%j fails with InvalidInput, the field and an example', async (input, message) => {
  const s = open ?? (await begin());
  const { type, message: text } = await failureOf(await start(s, input));
  expect(type).toBe('InvalidInput');
  expect(text).toMatch(message);
  expect(text).toContain('Example: {"workspace": "/repo", "task": "Rename greet to hello"');
});

test.each([
  ['editStep', '{"workspace": "/repo", "task": "Rename greet to hello"'],
  ['plan', '{"workspace": "/repo", "planFile": "plans/010_greet.md"}'],
])('%s refuses a second argument, which would have no effect', async (workflow, example) => {
  const s = open ?? (await begin());
  const handle = await connection!.client.workflow.start(workflow, {
    taskQueue: queueOf(s),
    workflowId: randomUUID(),
    args: [{ workspace: s.repo, ...TASK }, { approval: 'ask' }],
  });
  const { type, message } = await failureOf(handle);
  expect(type).toBe('InvalidInput');
  expect(message).toContain(
    `expects one argument, an object with all keys; it received 2. Example: ${example}`,
  );
});

test('an abort ends a run that no worker has begun, and other signals wait for the rules', async () => {
  const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, RULES));
  connection = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  const aborted = await start(s, { workspace: s.repo, ...TASK });
  await aborted.signal('abort');
  const waiting = await start(s, { workspace: s.repo, ...TASK, approval: 'ask' });
  await waiting.signal('skip', 'no decision has this id');
  const third = await start(s, { workspace: s.repo, ...TASK });
  const updated = third.executeUpdate('abort');
  await s.worker();
  expect(await third.result()).toMatchObject({ outcome: 'aborted' });
  expect(await aborted.result()).toMatchObject({ outcome: 'aborted' });
  expect(await updated).toMatchObject({ outcome: 'resolved' });
  const { stepKey } = await begun(waiting);
  const { status } = await s.settle(await resolveRun(s.emend, stepKey));
  expect(status.decision?.reason).toBe('approval');
  expect((await waiting.query<StepStatus>('status')).ignored).toHaveLength(1);
  await waiting.signal('abort');
  await waiting.result();
});
