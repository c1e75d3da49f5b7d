/** What a worker asks about other runs: a home or server that is away is asked for again, and none is made in its place. */
import { existsSync, mkdtempSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, jest, test } from '@jest/globals';
import { askEndedRuns } from '../../../src/client/ended/runs.js';
import { openEmend } from '../../../src/client/open.js';
import { startDevServer } from '../../../src/temporal/dev-server.js';
import { newHome, serverOptions } from '../../temporal/support/server.js';
import type { WorkspaceLock } from '../../../src/workspace/ports.js';

const HOLDER: WorkspaceLock = {
  token: 1,
  stepKey: 'ffff0000ffff0000ffff0000ffff0000',
  workflowId: 'emend-1',
  namespace: 'default',
  takenAt: '2026-11-22T00:00:00.000Z',
  head: null,
  headRef: null,
};

test('a home that is away when it is first asked for is not made, and is found when it is back', async () => {
  const home = join(mkdtempSync(join(tmpdir(), 'emend-ended-')), 'home');
  const env = { EMEND_HOME: home, TEMPORAL_ADDRESS: '127.0.0.1:1', EMEND_CONNECT_MS: '100' };
  await (await openEmend({ env, local: true })).close();
  renameSync(home, `${home}.away`);
  const ended = askEndedRuns({ env });
  await expect(ended.stateOfHolder(HOLDER, '/w')).rejects.toMatchObject({
    problem: { code: 'home_unusable' },
  });
  expect(existsSync(home)).toBe(false);
  renameSync(`${home}.away`, home);
  expect(await ended.stateOfHolder(HOLDER, '/w')).toEqual({
    state: 'unknown',
    why: expect.objectContaining({ code: 'no_server' }),
  });
  await ended.close();
});

test('the end of a run is waited for in a long poll: told as it comes, or that the run is still open', async () => {
  const place = await newHome();
  const server = await startDevServer({ ...(await serverOptions(place.home, 'memory')), port: 0 });
  const connection = await Connection.connect({ address: server.address });
  const env = { EMEND_HOME: join(place.home, 'home'), TEMPORAL_ADDRESS: server.address };
  await (await openEmend({ env, local: true })).close();
  const ended = askEndedRuns({ env, connection });
  try {
    const { workflow } = new Client({ connection });
    const run = await workflow.start('editStep', { taskQueue: 'none', workflowId: 'phase' });
    const never = new AbortController();
    expect(await ended.endOf('phase', 300, never.signal)).toEqual({ outcome: 'open' });
    const stop = new AbortController();
    const stopped = ended.endOf('phase', 60_000, stop.signal);
    stop.abort();
    expect(await stopped).toEqual({ outcome: 'open' });
    expect(await ended.endOf('unknown', 60_000, never.signal)).toEqual({ outcome: 'open' });
    const describes = jest.spyOn(connection.workflowService, 'describeWorkflowExecution');
    const end = ended.endOf('phase', 60_000, never.signal);
    setTimeout(() => void run.terminate('by hand'), 2_500);
    expect(await end).toEqual({ outcome: 'closed', status: 'TERMINATED', result: null });
    expect(describes).toHaveBeenCalledTimes(1);
  } finally {
    await ended.close();
    await connection.close();
    await server.stop(0);
    await place.remove();
  }
}, 60_000);
