/** The next process removes what a killed commit left in TMPDIR. The directory of a live commit stays. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { sampled } from '../support/seeded.js';
import { transpile } from '../support/transpile.js';
import { isolateGit, Repo } from '../workspace/git-fixture.js';
import { FOREIGN_SCRATCH_MS } from '../../src/system/scratch.js';

isolateGit();
let children: Record<'commit' | 'clear', ReturnType<typeof transpile>>;
let repo: Repo;
beforeAll(() => {
  children = {
    commit: transpile('scratch', 'test/workspace/scratch-child.ts'),
    clear: transpile('scratch-clear', 'test/workspace/scratch-clear-child.ts'),
  };
});
afterAll(() => {
  children.commit.remove();
  children.clear.remove();
});
beforeEach(async () => {
  repo = await Repo.make();
  await repo.write('f', '1\n');
  await repo.commitAll();
  await repo.write('f', '2\n');
  mkdirSync(tmp());
});
afterEach(() => repo.remove());

const inGit = (name: string): string => join(repo.dir, '.git', name);
const tmp = (): string => inGit('tmp');
const scratch = (): string[] => readdirSync(tmp()).filter((name) => name.startsWith('emend-'));
const envOf = () => ({
  ...process.env,
  NODE_OPTIONS: '',
  TMPDIR: tmp(),
  EMEND_HOME: inGit('home'),
});

type Work = 'commit' | 'recover' | 'gc';
const run = (work: Work): Promise<string> =>
  new Promise((resolve, reject) => {
    // No server listens there: `emend recover` works without one.
    const env = { ...envOf(), TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const args = work === 'commit' ? [children.commit.path, repo.dir] : [children.clear.path, work];
    execFile(process.execPath, args, { env }, (error, stdout, stderr) => {
      if (stderr === '' && error === null) resolve(stdout);
      else reject(new Error(`${work}: ${stderr}`, { cause: error }));
    });
  });

interface Held {
  readonly process: ChildProcess;
  /** Ends the hook, and with it the commit if its process is alive. */
  readonly letGo: () => void;
}
/** Starts a commit that stays in its pre-commit hook. */
const heldCommit = async (): Promise<Held> => {
  const mark = inGit('hook-pid');
  const hook = inGit('hooks/pre-commit');
  writeFileSync(hook, `#!/bin/sh\necho $$ > '${mark}'\nexec sleep 600\n`);
  chmodSync(hook, 0o755);
  const committing = spawn(process.execPath, [children.commit.path, repo.dir], {
    env: envOf(),
    stdio: 'ignore',
  });
  const limit = Date.now() + 60_000;
  while (!existsSync(mark) || !readFileSync(mark, 'utf8').endsWith('\n')) {
    if (Date.now() > limit) throw new Error('the hook never ran');
    await new Promise((go) => setTimeout(go, 10));
  }
  rmSync(hook);
  const letGo = (): void => {
    try {
      process.kill(Number(readFileSync(mark, 'utf8')), 'SIGKILL');
    } catch (error) {
      // The hook's keeper was faster: it ends the hook once the commit's process is dead.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  return { process: committing, letGo };
};
const ended = (commit: Held): Promise<unknown> =>
  new Promise((resolve) => commit.process.once('exit', resolve));

const CLEARERS: readonly [string, Work][] = [
  ['the next commit', 'commit'],
  ['emend recover', 'recover'],
  ['emend gc', 'gc'],
];
test.each(sampled('who clears up', CLEARERS, 1))(
  'SIGKILL in the middle of a commit: %s removes its directory',
  async (_who, work) => {
    const commit = await heldCommit();
    const directories = scratch();
    expect(directories).toHaveLength(1);
    expect(readdirSync(join(tmp(), directories[0] ?? ''))).toEqual([
      expect.stringMatching(/^hooks\./),
    ]);
    const gone = ended(commit);
    commit.process.kill('SIGKILL');
    await gone;
    commit.letGo();
    expect(scratch()).toEqual(directories);

    expect(await run(work)).toBe(work === 'commit' ? 'committed' : '');
    expect(scratch()).toEqual([]);
    expect(await repo.line('rev-list', '--count', 'HEAD')).toBe(work === 'commit' ? '2' : '1');
  },
);

test("a live commit's directory stays, a stranger's until it is a day old", async () => {
  const stranger = join(tmp(), 'emend-commit.00000000.1.00000000.abcdef');
  mkdirSync(stranger);
  mkdirSync(join(tmp(), 'emend-commit-of-somebody'));
  const commit = await heldCommit();
  const before = scratch();
  expect(before).toHaveLength(3);
  await run('gc');
  expect(scratch()).toEqual(before);

  const old = new Date(Date.now() - FOREIGN_SCRATCH_MS - 60_000);
  utimesSync(stranger, old, old);
  await run('gc');
  expect(existsSync(stranger)).toBe(false);
  expect(scratch()).toHaveLength(2);
  const over = ended(commit);
  commit.letGo();
  await over;
  expect(scratch()).toEqual(['emend-commit-of-somebody']);
});
