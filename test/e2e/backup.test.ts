/** A home is backed up while its server and a worker are at work, and restored beside workspaces that have gone on since. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { describeIf } from '../support/skipped.js';
import { decide, waitForRun } from '../../src/client/index.js';
import { eventually } from './ends.js';
import { endsUnderWorker, typed } from './damage-support.js';
import { everyState, type EveryState } from './every-state.js';

let s: EveryState;
const ENDED = {
  running: 'committed',
  waiting: 'committed',
  hooked: 'committed',
  plan: 'completed',
};
const COMMITS = { running: 1, waiting: 1, hooked: 1, committed: 1 } as const;
const fileOf = (name: string): string => join(s.home, '..', `${name}.backup`);
const done = async (...args: readonly string[]): Promise<string> => {
  const result = await typed(s, ...args);
  expect(result).toEqual({ ...result, code: 0 });
  return result.text;
};
/** The home is lost, and a backup takes its place. */
const restored = async (name: string): Promise<string> => {
  await s.stop();
  rmSync(s.home, { recursive: true });
  return done('restore', fileOf(name));
};
const commits = (): object =>
  Object.fromEntries(
    Object.keys(COMMITS).map((state) => [state, s.commitsOf(state as keyof typeof COMMITS)]),
  );

describeIf(
  process.env.EMEND_LONG === '1',
  'home-files.test.ts restores a backup (EMEND_LONG=1 runs it)',
)('a backup', () => {
  beforeAll(async () => {
    s = await everyState();
  }, 240_000);
  afterAll(() => s.close());
  beforeEach(() => {
    s.restore();
  });
  afterEach(() => s.stop());

  test('copies that are made while runs go on hold all that they name; restored, each run comes to its end with one commit, and no call is made again', async () => {
    const requests = s.rehearsal.requests().length;
    await s.startServer();
    const over = new AbortController();
    const ends = endsUnderWorker(s).finally(() => over.abort());
    const names: string[] = [];
    while (!over.signal.aborted) {
      const name = `live-${names.length}`;
      const result = await typed(s, 'backup', fileOf(name));
      // A database that is written without a pause is said to be; the others must be whole.
      if (result.code === 0) names.push(name);
      else expect(result.text).toMatch(/was written all the time/);
    }
    expect(await ends).toEqual(ENDED);
    expect(names.length).toBeGreaterThan(1);
    const tried = [...new Set([names[0]!, names[Math.floor(names.length / 2)]!, names.at(-1)!])];
    for (const name of tried) {
      await restored(name);
      expect(await done('doctor', '--deep')).toMatch(/^ok /);
      await s.startServer();
      const again = await endsUnderWorker(s);
      // A change that is there already is not made again; a phase whose worktree was removed since asks.
      expect({ name, again }).toEqual({
        name,
        again: {
          running: expect.stringMatching(/^(?:committed|unchanged)$/),
          waiting: expect.stringMatching(/^(?:committed|unchanged)$/),
          hooked: expect.stringMatching(/^(?:committed|unchanged)$/),
          plan: expect.stringMatching(/^completed$|: .*[a-z]/),
        },
      });
      expect({ name, commits: commits() }).toEqual({ name, commits: COMMITS });
    }
    expect(s.rehearsal.requests().length).toBe(requests);
  }, 300_000);

  test('an older copy beside a workspace that is further: the run asks before it makes a call that may be paid for, and makes no second commit', async () => {
    await s.startServer();
    // No other run is about to make a call.
    const first = await s.worker();
    await s.end(s.runs.running);
    await first.kill('SIGTERM');
    const dying = await s.worker('proposeEdit:before:1');
    const run = await s.startIn('late', 'const a = 1;\n');
    await dying.exited;
    expect(dying.fired()).toBe(true);
    await done('backup', fileOf('older'));
    const before = s.rehearsal.requests().length;
    await s.worker();
    expect((await s.end(run)).outcome).toBe('committed');
    expect([s.rehearsal.requests().length - before, s.commitsOf('late')]).toEqual([1, 1]);

    const text = await restored('older');
    expect(text).toContain(run.stepKey.slice(0, 8));
    await s.startServer();
    await s.worker();
    const { decision } = (await s.settle(run, 60)).status;
    expect(decision).toMatchObject({
      reason: 'call_lost',
      message: expect.stringContaining('was restored at'),
    });
    expect(s.rehearsal.requests().length - before).toBe(1);
    await decide(s.emend, run, {
      answer: 'retry',
      by: { name: 'tester', from: 'cli' },
      decision: decision!.id,
    });
    await eventually('the second call', () =>
      Promise.resolve(s.rehearsal.requests().length - before === 2),
    );
    const waited = await waitForRun(s.emend, run, { throughPauses: false });
    expect([waited.outcome, s.commitsOf('late')]).toEqual(['closed', 1]);
  }, 240_000);

  test('refused by name: a home in use, a backup that is damaged, and one whose host still works', async () => {
    await s.startServer();
    await done('backup', fileOf('whole'));
    expect(await typed(s, 'restore', fileOf('whole'))).toMatchObject({
      code: 5,
      text: expect.stringMatching(/is not empty[^]*mv /),
    });
    const bytes = readFileSync(fileOf('whole'));
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    writeFileSync(fileOf('damaged'), bytes);
    const other = { ...s.env, EMEND_HOME: `${s.home}-2`, TEMPORAL_ADDRESS: s.address() };
    const elsewhere: EveryState = { ...s, env: other };
    expect(await typed(elsewhere, 'restore', fileOf('damaged'))).toMatchObject({
      code: 1,
      text: expect.stringMatching(/cannot be restored[^]*Nothing was restored/),
    });
    await s.worker();
    const refused = await eventually('the refusal', async () => {
      const result = await typed(elsewhere, 'restore', fileOf('whole'));
      if (result.code !== 5) rmSync(`${s.home}-2`, { recursive: true });
      return result.code === 5 && result;
    });
    expect(refused.text).toMatch(/A worker of the host [^]* may still work/);
    expect(readdirSync(join(s.home, '..')).filter((name) => name.startsWith('home-2'))).toEqual([]);
  }, 120_000);
});
