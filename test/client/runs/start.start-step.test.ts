import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { archivedRun } from '../../../src/client/archive/run.js';
import { prepareRun, startStep, stepInput, workflowIdOf } from '../../../src/client/runs/start.js';
import { readJobFile } from '../../../src/workspace/documents/read-job.js';
import { queueNames } from '../../../src/shared/names.js';
import { fakeEmend, FakeServer, problemOf, tempDir } from '../fake.js';

const jobIn = async (dir: string) => {
  await writeFile(join(dir, 'job.md'), '# A job\n\nDo it.\n');
  return readJobFile({ jobPath: 'job.md', workspace: dir, cwd: dir });
};

describe('starting a step', () => {
  test('a new run is noted in the archive, under the workflow id of workspace and job', async () => {
    const server = new FakeServer();
    const emend = await fakeEmend(server);
    const dir = await tempDir();
    const step = await startStep(emend, { job: await jobIn(dir), overrides: { budget_tokens: 5 } });
    expect(step).toMatchObject({
      workflowId: workflowIdOf('job', dir, 'job.md'),
      runId: 'run-1',
      started: 'new',
    });
    const { started } = archivedRun(step.stepKey, await emend.archive.read(step.stepKey));
    expect(started).toEqual({
      workflowId: step.workflowId,
      runId: 'run-1',
      namespace: 'default',
      address: 'localhost:7233',
      queues: emend.queues,
      workspace: dir,
      jobPath: 'job.md',
      title: 'A job',
      job: await emend.blobs.put(new TextEncoder().encode('# A job\n\nDo it.\n')),
    });
  });

  test('while one is open a second start shows it and leaves no trace of its own', async () => {
    const emend = await fakeEmend(new FakeServer());
    const job = await jobIn(await tempDir());
    const first = await startStep(emend, { job });
    const second = await startStep(emend, { job });
    expect(second).toEqual({ ...first, started: 'already_running' });
    expect(await emend.archive.list()).toEqual([first.stepKey]);
  });

  test('prepared for a child: plain JSON with all that a started run has, and the archive knows of it', async () => {
    const server = new FakeServer();
    const emend = await fakeEmend(server);
    const job = await jobIn(await tempDir());
    const input = await stepInput(emend, { job });
    const prepared = await prepareRun(emend, 'emend/job/a/0123456789ab', input);
    expect(JSON.parse(JSON.stringify(prepared))).toEqual(prepared);
    expect(prepared).toMatchObject({
      workflowId: 'emend/job/a/0123456789ab',
      taskQueue: emend.queues.workflow,
      args: [{ stepKey: input.stepKey, jobPath: 'job.md' }],
      memo: { stepKey: input.stepKey, jobPath: 'job.md', title: 'A job', workspace: job.workspace },
      parentClosePolicy: 'ABANDON',
      cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    });
    const { started } = archivedRun(input.stepKey, await emend.archive.read(input.stepKey));
    expect(started).toMatchObject({
      workflowId: 'emend/job/a/0123456789ab',
      runId: '',
      title: 'A job',
    });
    expect(server.runs).toEqual([]);
  });

  test('another host with a workspace at the same path has runs of its own; each sees its own again', async () => {
    const server = new FakeServer();
    const [here, there] = [
      await fakeEmend(server),
      { ...(await fakeEmend(server)), queues: queueNames('emend', 'def0123456789') },
    ];
    const job = await jobIn(await tempDir());
    const first = await startStep(here, { job });
    const second = await startStep(there, { job });
    expect(second).toMatchObject({ started: 'new', workflowId: `${first.workflowId}-def01234` });
    expect(await startStep(there, { job })).toEqual({ ...second, started: 'already_running' });
    expect(await startStep(here, { job })).toEqual({ ...first, started: 'already_running' });
    expect((await startStep(there, { job, again: true })).workflowId).toBe(
      `${second.workflowId}-2`,
    );
  });

  test('--again takes the first free number; a closed run does not stand in the way', async () => {
    const server = new FakeServer();
    const emend = await fakeEmend(server);
    const job = await jobIn(await tempDir());
    const first = await startStep(emend, { job });
    const second = await startStep(emend, { job, again: true });
    const third = await startStep(emend, { job, again: true });
    expect([second.workflowId, third.workflowId]).toEqual([
      `${first.workflowId}-2`,
      `${first.workflowId}-3`,
    ]);
    server.close(server.runs[0]!, { status: 'COMPLETED', result: null, message: null });
    const fourth = await startStep(emend, { job });
    expect(fourth).toMatchObject({ workflowId: first.workflowId, started: 'new' });
    expect(fourth.stepKey).not.toBe(first.stepKey);
  });

  test('a foreign run under our workflow id is a conflict, no server is no_server', async () => {
    const server = new FakeServer();
    const dir = await tempDir();
    const job = await jobIn(dir);
    server.add('x', workflowIdOf('job', dir, 'job.md'), { memo: null });
    expect(await problemOf(async () => startStep(await fakeEmend(server), { job }))).toMatchObject({
      code: 'conflict',
    });
    expect(await problemOf(async () => startStep(await fakeEmend(null), { job }))).toMatchObject({
      code: 'no_server',
    });
  });
});
