import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { startStep, stepInput, workflowIdOf } from '../../../src/client/runs/start.js';
import { runKey } from '../../../src/shared/run-key.js';
import { jobOfText, readJobFile } from '../../../src/workspace/documents/read-job.js';
import { queueNames } from '../../../src/shared/names.js';
import { fakeEmend, FakeServer, problemOf, tempDir } from '../fake.js';

const jobIn = async (dir: string) => {
  await writeFile(join(dir, 'job.md'), '# A job\n\nDo it.\n');
  return readJobFile({ jobPath: 'job.md', workspace: dir, cwd: dir });
};

describe('starting a step', () => {
  test('a new run has the workflow id of workspace and job, and the key of its first execution', async () => {
    const server = new FakeServer();
    const emend = await fakeEmend(server);
    const dir = await tempDir();
    const step = await startStep(emend, { job: await jobIn(dir) });
    const workflowId = workflowIdOf('job', dir, 'job.md');
    const origin = { namespace: 'default', workflowId, firstRunId: 'run-1', cronRunId: null };
    expect(step).toEqual({ stepKey: runKey(origin), workflowId, runId: 'run-1', started: 'new' });
    expect(await emend.archive.names()).toEqual([]);
  });

  test('while one is open a second start shows it and leaves no trace of its own', async () => {
    const emend = await fakeEmend(new FakeServer());
    const job = await jobIn(await tempDir());
    const first = await startStep(emend, { job });
    const second = await startStep(emend, { job });
    expect(second).toEqual({ ...first, started: 'already_running' });
  });

  test('the input is what you would type: the job file by its path, words as a task with its keys', async () => {
    const emend = await fakeEmend(new FakeServer());
    const dir = await tempDir();
    const { host } = emend.queues;
    const place = { workspace: dir, host: host.slice(host.lastIndexOf('-') + 1) };
    const settings = { overrides: { budget_tokens: 5 }, approval: 'auto' as const };
    expect(await stepInput(emend, { job: await jobIn(dir), ...settings })).toEqual({
      jobFile: 'job.md',
      ...place,
      approval: 'auto',
      budget_tokens: 5,
    });
    const words = { instructions: '# Greet\n\nSay hello.', new_files: ['a.js'], budget_usd: 2 };
    const job = await jobOfText({ workspace: dir, ...words });
    expect(await stepInput(emend, { job })).toEqual({
      task: words.instructions,
      name: 'greet-say-hello',
      newFiles: ['a.js'],
      ...place,
      budget_usd: 2,
    });
  });

  test('the input shows task and files first, whatever the order in the job', async () => {
    const emend = await fakeEmend(new FakeServer());
    const workspace = await tempDir();
    const job = await jobOfText({
      workspace,
      budget_usd: 2,
      commit: true,
      test: 'npm test',
      new_files: ['b.js'],
      instructions: 'Greet.',
    });
    const input = await stepInput(emend, { job, approval: 'ask' });
    // JSON, and so the Temporal UI, keeps the order.
    expect(Object.keys(JSON.parse(JSON.stringify(input)) as object)).toEqual([
      'task',
      'name',
      'newFiles',
      'test',
      'commit',
      'workspace',
      'host',
      'approval',
      'budget_usd',
    ]);
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
