import { hostOfQueue } from '../../../src/shared/names.js';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { resolveRun } from '../../../src/client/runs/resolve.js';
import { lastCheckpointed } from '../../../src/client/runs/start-plan.js';
import { storePaths } from '../../../src/stores/location.js';
import type { Emend } from '../../../src/client/types.js';
import { fakeEmend, FakeServer, startedData, problemOf } from '../fake.js';

const KEY = 'abcd1234'.padEnd(32, '0');
const OTHER = 'abcd9999'.padEnd(32, '0');

const note = (emend: Emend, stepKey: string, workflowId: string, runId = 'run-1'): Promise<void> =>
  emend.archive.append(stepKey, [
    {
      id: 'started',
      at: '2026-01-01T00:00:00.000Z',
      kind: 'started',
      data: startedData({ workflowId, runId }),
    },
  ]);

describe('which run is meant', () => {
  test('4 digits are enough, on the server alone or in the archive alone', async () => {
    const server = new FakeServer();
    server.add(KEY, 'emend-1');
    expect(await resolveRun(await fakeEmend(server), 'ABCD')).toMatchObject({
      stepKey: KEY,
      live: { runId: 'run-1' },
    });
    const offline = await fakeEmend(null);
    await note(offline, KEY, 'emend-1');
    expect(await resolveRun(offline, 'abcd')).toMatchObject({
      stepKey: KEY,
      live: null,
      archived: { started: { workflowId: 'emend-1' } },
    });
  });

  test('without search attributes the memos are looked through', async () => {
    const server = new FakeServer();
    server.attributes = false;
    server.add(OTHER, 'emend-2');
    server.add(KEY, 'emend-1');
    expect((await resolveRun(await fakeEmend(server), 'abcd1')).stepKey).toBe(KEY);
  });

  test('too few digits, and digits of no run, are unknown', async () => {
    const emend = await fakeEmend(new FakeServer());
    expect(await problemOf(() => resolveRun(emend, 'abc'))).toMatchObject({
      code: 'run_unknown',
      message: expect.stringContaining('at least the first 4'),
    });
    expect(await problemOf(() => resolveRun(emend, 'abcd'))).toMatchObject({ code: 'run_unknown' });
    expect(await problemOf(() => resolveRun(emend, '../../etc/x'))).toMatchObject({
      code: 'run_unknown',
    });
    expect(await problemOf(() => resolveRun(emend, 'emend-none'))).toMatchObject({
      code: 'run_unknown',
    });
  });

  test('ambiguous digits list the candidates, with as many digits as tell them apart', async () => {
    const emend = await fakeEmend(new FakeServer());
    const twin = `${KEY.slice(0, 10)}1`.padEnd(32, '0');
    for (const key of [KEY, OTHER, twin]) await note(emend, key, `emend-${key}`);
    const { code, message } = await problemOf(() => resolveRun(emend, 'abcd'));
    expect(code).toBe('run_ambiguous');
    expect(message).toContain('fits 3 runs');
    expect(
      message
        .split('\n')
        .slice(1)
        .map((text) => text.trim().split(' ')[0])
        .sort(),
    ).toEqual([KEY.slice(0, 11), twin.slice(0, 11), OTHER.slice(0, 8)].sort());
  });

  test('a workflow id means its newest run', async () => {
    const server = new FakeServer();
    const emend = await fakeEmend(server);
    server.close(server.add(OTHER, 'emend-1'), {
      status: 'COMPLETED',
      result: null,
      message: null,
    });
    server.add(KEY, 'emend-1');
    expect(await resolveRun(emend, 'emend-1')).toMatchObject({
      stepKey: KEY,
      live: { runId: 'run-2' },
    });
    // The older run keeps its own digits although another has its workflow id now.
    await note(emend, OTHER, 'emend-1', 'run-1');
    expect(await resolveRun(emend, OTHER)).toMatchObject({
      stepKey: OTHER,
      live: { runId: 'run-1', open: false },
    });
  });
});

describe('a run that another client started, under a workflow id of its own', () => {
  const id = 'rename-1790000000000';

  test('is found in the archive after the server has forgotten it, and without a server', async () => {
    for (const server of [new FakeServer(), null]) {
      const emend = await fakeEmend(server);
      await note(emend, KEY, id);
      expect(await resolveRun(emend, id)).toMatchObject({ stepKey: KEY, live: null });
    }
  });

  test('whose input did not fit is reported with the reason', async () => {
    const server = new FakeServer();
    const run = server.add(KEY, id, { memo: null });
    const emend = await fakeEmend(server);
    expect(await problemOf(() => resolveRun(emend, id))).toMatchObject({
      code: 'run_unknown',
      message: expect.stringContaining('No worker has read the input') as unknown,
    });
    server.close(run, { status: 'FAILED', result: null, message: 'task: expected instructions' });
    expect(await problemOf(() => resolveRun(emend, id))).toMatchObject({
      code: 'run_unknown',
      message: `${id} ended (FAILED) before it began: task: expected instructions`,
      next: expect.stringContaining('Correct its input') as unknown,
    });
  });
});

test('an archive that cannot be read, and a damaged checkpoint of another plan, hide no other run', async () => {
  const emend = await fakeEmend(null);
  const plan = {
    workspace: '/w',
    planPath: 'plans/1',
    title: 'T',
    workflowId: 'emend/plan/1',
    host: hostOfQueue(emend.queues.host),
  };
  const at = new Date(0).toISOString();
  const begun = (key: string, jobPath: string, workflowId: string): Promise<void> => {
    const data = startedData({ jobPath, workflowId, workspace: '/w', queues: emend.queues });
    return emend.archive.append(key, [{ id: 'started', at, kind: 'started', data }]);
  };
  await begun(KEY, plan.planPath, plan.workflowId);
  await emend.archive.putFile(KEY, 'checkpoint-000001', { plan_path: plan.planPath });
  await begun(OTHER, 'plans/2', 'emend/plan/2');
  const { archive } = storePaths(emend.store);
  await writeFile(join(archive, OTHER, 'checkpoint-000001.json'), '');
  await mkdir(join(archive, 'ef'.repeat(16), 'log.jsonl'), { recursive: true });
  expect(await resolveRun(emend, plan.workflowId)).toMatchObject({ stepKey: KEY });
  expect(await lastCheckpointed(emend, plan)).toMatchObject({ plan_path: plan.planPath });
  expect(
    await problemOf(() => lastCheckpointed(emend, { ...plan, planPath: 'plans/2' })),
  ).toMatchObject({
    code: 'disk',
    message: expect.stringContaining('checkpoint-000001.json is damaged'),
  });
});
