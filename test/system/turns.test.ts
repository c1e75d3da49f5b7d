/** Turns run a maximum number of real processes at once, in order, with a time limit that begins at the turn. Files that they leave are counted. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ProblemError } from '../../src/shared/problems.js';
import { withTimeLimit } from '../../src/system/time-limit.js';
import { together } from '../../src/system/together.js';
import { createTurns } from '../../src/system/turns.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'emend-turns-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const AT_ONCE = 2;
const ask = { wait_ms: 10_000, work_ms: 0 };

test('no more at once than there are turns, first come first served; a failure gives its turn on', async () => {
  const turns = createTurns(2, 'tests');
  let atWork = 0;
  let most = 0;
  const begun: number[] = [];
  const work = (n: number) => async () => {
    begun.push(n);
    most = Math.max(most, ++atWork);
    await sleep(5);
    atWork -= 1;
    if (n % 3 === 0) throw new Error(`no ${n}`);
    return n;
  };
  const ends = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => turns(ask, work(n))));
  expect(most).toBe(2);
  expect(begun).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(ends.map(({ status }) => status)).toEqual(
    begun.map((n) => (n % 3 === 0 ? 'rejected' : 'fulfilled')),
  );
});

test('a turn that does not come in time is `busy`, and an abort ends the wait; neither takes a turn away', async () => {
  const turns = createTurns(1, 'Commands');
  let end = (): void => undefined;
  const first = turns(ask, () => new Promise<void>((resolve) => (end = resolve)));
  const refused = await turns({ wait_ms: 30, work_ms: 0 }, () => Promise.resolve()).catch(
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(ProblemError);
  expect(refused).toMatchObject({
    problem: { code: 'busy', message: expect.stringMatching(/^Commands are running \(at most 1/) },
  });
  const stop = new AbortController();
  const stopped = turns({ ...ask, signal: stop.signal }, () => Promise.resolve());
  stop.abort(new Error('stopped'));
  await expect(stopped).rejects.toThrow('stopped');
  const last = turns(ask, () => Promise.resolve('last'));
  end();
  await first;
  expect(await last).toBe('last');
  expect(await turns(ask, () => Promise.resolve('free'))).toBe('free');
});

test("in an activity a turn is waited for only so long that the work's own limit ends before it", async () => {
  const turns = createTurns(1, 'Commands');
  let end = (): void => undefined;
  const first = turns(ask, () => new Promise<void>((resolve) => (end = resolve)));
  const begun = performance.now();
  const late = withTimeLimit(60_000, () =>
    turns({ wait_ms: 600_000, work_ms: 59_500 }, () => Promise.resolve()),
  );
  await expect(late).rejects.toMatchObject({ problem: { code: 'busy' } });
  expect(performance.now() - begun).toBeLessThan(5_000);
  end();
  await first;
});

test('many items, of which one fails: what has not begun is not begun', async () => {
  const begun: number[] = [];
  const items = Array.from({ length: 100 }, (_, n) => n);
  const work = async (n: number): Promise<number> => {
    begun.push(n);
    await sleep(1);
    if (n === 5) throw new Error('five');
    return 2 * n;
  };
  await expect(together(items, work, AT_ONCE)).rejects.toThrow('five');
  await sleep(20);
  expect(begun.length).toBeLessThanOrEqual(6 + AT_ONCE);
  expect(await together([1, 2, 3], work)).toEqual([2, 4, 6]);
});

test('no more begin in a second than may, those of the first second together; a wait ends with its signal', async () => {
  const turns = createTurns(100, 'Calls', 20);
  const none = (): Promise<void> => Promise.resolve();
  const begun = performance.now();
  for (let n = 0; n < 20; n++) await turns(ask, none);
  expect(performance.now() - begun).toBeLessThan(500);
  for (let n = 0; n < 5; n++) await turns(ask, none);
  expect(performance.now() - begun).toBeGreaterThan(150);
  const seldom = createTurns(1, 'Calls', 0.01);
  await seldom(ask, none);
  await expect(seldom({ ...ask, signal: AbortSignal.timeout(20) }, none)).rejects.toThrow();
});
