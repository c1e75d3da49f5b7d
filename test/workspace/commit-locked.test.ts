/** A git that is really killed while it holds a lock: the commit says which lock and what to type, and goes on once it is gone. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createCommitter } from '../../src/workspace/git/commit.js';
import type { CommitOutcome } from '../../src/workspace/ports.js';
import { sampled } from '../support/seeded.js';
import { Blobs, hookPorts, isolateGit, Repo, requestFor } from './git-fixture.js';

isolateGit();
let repo: Repo;
const blobs = new Blobs();
beforeEach(async () => {
  repo = await Repo.make();
  await repo.write('f', '1\n');
  await repo.write('theirs', '1\n');
  await repo.commitAll();
});
afterEach(() => repo.remove());

const git = (path: string): string => join(repo.dir, '.git', path);

/** Starts git with a hook that stays in the middle of its work, kills it there with SIGKILL, and ends the hook. */
const killedIn = async (hook: string, when: string, ...args: string[]): Promise<void> => {
  const mark = git('hook-pid');
  writeFileSync(git(`hooks/${hook}`), `#!/bin/sh\n${when}\necho $$ > '${mark}'\nexec sleep 600\n`);
  chmodSync(git(`hooks/${hook}`), 0o755);
  const child = spawn('git', args, { cwd: repo.dir, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
  const limit = Date.now() + 60_000;
  while (!existsSync(mark) || !readFileSync(mark, 'utf8').endsWith('\n')) {
    if (Date.now() > limit) throw new Error('the hook never ran');
    await new Promise((go) => setTimeout(go, 10));
  }
  child.kill('SIGKILL');
  expect(await ended).toBe('SIGKILL');
  process.kill(Number(readFileSync(mark, 'utf8')), 'SIGKILL');
  rmSync(mark);
  rmSync(git(`hooks/${hook}`));
};

/** The step's change, as apply wrote it, and its commit. */
const commitOurs = async (): Promise<CommitOutcome> => {
  await repo.write('f', '2\n');
  return createCommitter({ ...hookPorts(), blobs, lockWait_ms: 200 })(
    await requestFor(repo, [blobs.file('f', '1\n', '2\n')]),
  );
};

const IN_TRANSACTION = '[ "$1" = prepared ] || exit 0';
const LOCKED: readonly [string, string, string[], [hook: string, when: string, ...string[]]][] = [
  ['the branch', 'refs/heads/main.lock', [], ['reference-transaction', IN_TRANSACTION]],
  [
    'HEAD, detached',
    'HEAD.lock',
    ['checkout', '-q', '--detach'],
    ['reference-transaction', IN_TRANSACTION],
  ],
  ['the index', 'index.lock', [], ['pre-commit', '', '-a']],
];
test.each(sampled('what is locked', LOCKED, 2))(
  'killed with %s locked: failed, with the lock and what to type; after that the commit is made',
  async (_what, lock, before, [hook, when, ...options]) => {
    if (before.length > 0) await repo.git(...before);
    // The branch is locked, and with it HEAD, while git prepares to move it; the index while hooks of `commit -a` run.
    await killedIn(hook, when, 'commit', '-q', '--allow-empty', ...options, '-m', 'theirs');
    expect(existsSync(git(lock))).toBe(true);
    const head = await repo.line('rev-parse', 'HEAD');

    const failed = await commitOurs();
    expect(failed).toMatchObject({ outcome: 'failed', problem: { code: 'git_failed' } });
    const told = failed.outcome === 'failed' ? failed.problem.message : '';
    expect(await repo.line('rev-parse', 'HEAD')).toBe(head);
    expect(await repo.status()).toContain('M f');

    // What a person types is what it said, lock after lock, until the commit is made.
    let outcome = failed;
    for (let typed = 0; outcome.outcome === 'failed'; typed++) {
      expect(typed).toBeLessThan(5);
      const [, command] =
        / type: (rm '.+\.lock') and then answer retry\.$/.exec(outcome.problem.message) ?? [];
      expect({ message: outcome.problem.message, command }).toMatchObject({
        command: expect.stringContaining(repo.dir),
      });
      const shell = spawn('/bin/sh', ['-c', command ?? 'false'], { cwd: repo.dir });
      expect(await new Promise((resolve) => shell.once('exit', resolve))).toBe(0);
      outcome = await commitOurs();
    }
    expect(told).toContain('.lock');
    expect(outcome).toMatchObject({ outcome: 'committed' });
    expect(await repo.line('rev-parse', 'HEAD^')).toBe(head);
    expect(await repo.git('show', 'HEAD:f')).toBe('2\n');
  },
  60_000,
);

const CLOCKS: readonly [string, number][] = [
  ['a year ahead', 1],
  ['a year behind', -1],
];
test.each(sampled('clocks', CLOCKS, 1))(
  'the clock is set %s while a lock is waited for: the wait is as long as it should be',
  async (_what, sign) => {
    const real = Date.now;
    const YEAR_ms = 365 * 24 * 3_600_000;
    await repo.write('f', '2\n');
    const request = await requestFor(repo, [blobs.file('f', '1\n', '2\n')]);
    const lock = git('refs/heads/main.lock');
    writeFileSync(lock, '');
    let jumped = 0;
    const jump = setInterval(() => {
      jumped += 1;
      Date.now = () => real() + sign * jumped * YEAR_ms;
    }, 20);
    try {
      // The lock stays: given up all the same. Then it goes away in the middle of the wait: not given up before.
      const given = await createCommitter({
        ...hookPorts(),
        blobs,
        lockWait_ms: 300,
      })(request);
      expect(given).toMatchObject({ outcome: 'failed', problem: { code: 'git_failed' } });
      const later = setTimeout(() => {
        rmSync(lock);
      }, 500);
      const made = await createCommitter({
        ...hookPorts(),
        blobs,
        lockWait_ms: 60_000,
      })(request).finally(() => {
        clearTimeout(later);
      });
      expect(made).toMatchObject({ outcome: 'committed' });
      expect(jumped).toBeGreaterThan(10);
    } finally {
      clearInterval(jump);
      Date.now = real;
    }
  },
);
