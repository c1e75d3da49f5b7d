/**
 * SIGKILL inside activities of a real run: between system calls, at points of the journal, round and inside git. EMEND_WHOLE=1 runs every
 * named point and a sample of every system call of apply and rollback; else the core points and a printed, seeded sample.
 */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, jest, test } from '@jest/globals';
import { sampled, spread, WHOLE } from '../support/seeded.js';
import { testIf } from '../support/skipped.js';
import { CORE, expectOneEnd, faultScene, frontFor, NAMED, startJob, UNBOXED } from './faults.js';
import type { Scene } from './support.js';

jest.setTimeout(600_000);

const open = new Set<Scene>();
afterEach(async () => {
  await Promise.all([...open].map((s) => s.close()));
  open.clear();
});
const opened = async (): Promise<Scene> => {
  const s = await faultScene('SIGKILL');
  open.add(s);
  return s;
};

const killedAt = async (point: string): Promise<void> => {
  const s = await opened();
  const dying = await s.worker(point);
  const run = await startJob(s, frontFor(point));
  await s.until(dying.fired, 120);
  await dying.exited;
  await s.worker();
  await expectOneEnd(s, run, await s.end(run, 180));
  await s.close();
  open.delete(s);
};

/** Runs a few at a time: each mostly waits for a heartbeat time-out. */
const all = async (
  points: readonly string[],
  work: (point: string) => Promise<void>,
): Promise<void> => {
  const failures: string[] = [];
  const queue = [...points];
  const worker = async (): Promise<void> => {
    for (let point = queue.shift(); point !== undefined; point = queue.shift())
      await work(point).catch((error: unknown) => failures.push(`${point}: ${String(error)}`));
  };
  await Promise.all([worker(), worker()]);
  expect(failures).toEqual([]);
};

test('SIGKILL at named points inside propose, tests, apply, rollback and commit: one outcome, one commit, no second payment', async () => {
  await all(sampled('named kill points', NAMED, 0, spread(CORE, 3), WHOLE), killedAt);
}, 1_800_000);

// The engine's own tests kill at every system call (test/crash/apply-kill.test.ts); here they are met through a run.
testIf(
  WHOLE,
  'kills at system calls take thirteen minutes on a loaded machine (EMEND_WHOLE=1 runs them)',
)(
  'SIGKILL before every eighth system call of apply and rollback, archive and lock among them',
  async () => {
    const points: string[] = [];
    for (const activity of ['applyProposal', 'rollBack']) {
      const s = await opened();
      const counting = await s.worker(`${activity}:count:0`);
      await s.end(await startJob(s, frontFor(`${activity}:`)), 180);
      const calls = Number(readFileSync(counting.mark, 'utf8'));
      expect(calls).toBeGreaterThan(40);
      for (let n = 1; n <= calls; n += 8) points.push(`${activity}:sys:${n}`);
      await s.close();
      open.delete(s);
    }
    await all(points, killedAt);
  },
  3_600_000,
);

test('SIGKILL while git runs a hook of the repository', async () => {
  const s = await opened();
  const dying = await s.worker();
  const pid = join(s.home, '..', 'pid');
  writeFileSync(pid, String(dying.pid));
  const path = join(s.repo, '.git/hooks/pre-commit');
  writeFileSync(
    path,
    `#!/bin/sh\n[ -e '${pid}' ] && { worker=$(cat '${pid}'); rm '${pid}'; kill -9 $worker; }\nexit 0\n`,
  );
  chmodSync(path, 0o755);
  // In a sandbox a hook cannot reach its worker. It may die with it: the next one must not be hit again.
  const run = await startJob(s, UNBOXED);
  await dying.exited;
  await s.until(() => !existsSync(pid));
  await s.worker();
  await expectOneEnd(s, run, await s.end(run, 180));
});
