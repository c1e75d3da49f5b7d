/**
 * SIGSTOP inside activities of a real run until the attempt is given up and a second worker has brought the step to its end, then
 * SIGCONT: the woken process changes nothing any more, and ends no lock but its own. EMEND_WHOLE=1 runs every named point.
 */
import { afterEach, expect, jest, test } from '@jest/globals';
import { createLocks } from '../../src/workspace/apply/lock.js';
import { sampled, WHOLE } from '../support/seeded.js';
import { endedLate, expectOneEnd, faultScene, frontFor, NAMED, startJob } from './faults.js';
import { lockOf } from './ends.js';
import type { Scene } from './support.js';

jest.setTimeout(600_000);

const open = new Set<Scene>();
afterEach(async () => {
  await Promise.all([...open].map((s) => s.close()));
  open.clear();
});

/** Between two files, and as git moves the branch. */
const CORE = ['applyProposal:sys:rename@/b.js', 'commit:git:update-ref'];
const NEXT_STEP = 'ffff0000ffff0000ffff0000ffff0000';

const stoppedAt = async (point: string): Promise<void> => {
  const s = await faultScene('SIGSTOP');
  open.add(s);
  const sleeping = await s.worker(point);
  const run = await startJob(s, frontFor(point));
  await s.until(sleeping.fired, 120);
  await s.worker();
  const result = await s.end(run, 240);
  const head = await expectOneEnd(s, run, result, true);
  // Another step has the workspace by now, and a person goes on with one of the files.
  const keeper = createLocks({ home: s.home });
  expect(await keeper.take(s.repo, NEXT_STEP, { workflowId: 'w', namespace: 'n' })).toMatchObject({
    outcome: 'held',
  });
  s.write('b.js', 'mine\n');
  const lock = await lockOf(s);
  expect(lock).toMatchObject({ stepKey: NEXT_STEP });
  sleeping.child.kill('SIGCONT');
  await s.until(() => endedLate(sleeping), 120);
  expect({ point, b: s.read('b.js'), lock: await lockOf(s) }).toEqual({ point, b: 'mine\n', lock });
  expect(s.git('rev-parse', 'HEAD').trim()).toBe(head);
  s.write('b.js', 'module.exports = 3;\n');
  await keeper.release(s.repo, NEXT_STEP);
  await sleeping.kill('SIGKILL');
  await expectOneEnd(s, run, result);
  await s.close();
  open.delete(s);
};

test('SIGSTOP at named points of propose, tests, apply, rollback and commit, woken after the end: nothing changes', async () => {
  const failures: string[] = [];
  const queue = [
    ...sampled(
      'named stop points',
      NAMED,
      0,
      process.env.EMEND_LONG === '1' ? CORE : CORE.slice(0, 1),
      WHOLE,
    ),
  ];
  const worker = async (): Promise<void> => {
    for (let point = queue.shift(); point !== undefined; point = queue.shift())
      await stoppedAt(point).catch((error: unknown) => failures.push(`${point}: ${String(error)}`));
  };
  await Promise.all([worker(), worker()]);
  expect(failures).toEqual([]);
}, 3_600_000);
