/** What a worker asks about other runs: a home or server that is away is asked for again, and none is made in its place. */
import { existsSync, mkdtempSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { askEndedRuns } from '../../../src/client/ended/runs.js';
import { openEmend } from '../../../src/client/open.js';
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
