/** `worktree.setup` writes its worktree, which is Emend's own. The user's workspace and git directory stay as they are, byte for byte. */
import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createLocalRunner } from '../../../src/workspace/commands/index.js';
import { createWorktreeKeeper } from '../../../src/workspace/git/worktrees.js';
import { sampled } from '../../support/seeded.js';
import { describeIf } from '../../support/skipped.js';
import { boxUsers, endBoxUsers, found, whyNone, type BoxUser } from '../../support/box-users.js';
import { isolateGit, Repo } from '../git-fixture.js';

isolateGit();

/** Each writes to the repository of the worktree. */
const ATTEMPTS: readonly (readonly [string, string])[] = [
  ['a file of the workspace', 'echo x > "$REPO/f.txt"'],
  ['a new file in the workspace', 'echo x > "$REPO/emend.yaml"'],
  ['a hook', 'echo "#!/bin/sh" > "$REPO/.git/hooks/post-commit"'],
  ['the configuration', 'git config core.fsmonitor "$PWD/evil"'],
  ['the configuration of the worktree', 'git config --worktree core.fsmonitor "$PWD/evil"'],
  ['a ref', 'git update-ref refs/heads/moved HEAD'],
  ['a commit', 'git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x'],
  ['the index', 'echo x > made; git add made'],
  ['another worktree', 'git worktree add -q ../other'],
  ['the `.git` file', 'mv .git git2; rm -f .git; echo "gitdir: $PWD/evil" > .git'],
];

describeIf(found.works, whyNone)('worktree.setup in the sandbox', () => {
  let users: readonly BoxUser[] = [];
  let base = '';
  beforeAll(async () => {
    users = await boxUsers();
  });
  afterEach(() => rm(base, { recursive: true, force: true }));
  afterAll(endBoxUsers);

  /** Returns the mode and the content of every entry below a directory. */
  const listing = async (dir: string): Promise<Record<string, string>> => {
    const entries: Record<string, string> = {};
    for (const path of (await readdir(dir, { recursive: true })).sort()) {
      const stat = await lstat(join(dir, path));
      const content = stat.isFile() ? await readFile(join(dir, path), 'base64') : '';
      entries[path] = `${stat.mode.toString(8)} ${content}`;
    }
    return entries;
  };

  test.each(sampled('attempts of worktree.setup', ATTEMPTS, 4))(
    'does not write %s',
    async (_, command) => {
      for (const user of users) {
        // Not in TMPDIR: another user must be able to go there.
        base = await realpath(await mkdtemp('/tmp/emend-setup-'));
        const [home, dir] = [join(base, 'emend'), join(base, 'repo')];
        for (const directory of [home, dir, join(base, 'person')]) await mkdir(directory);
        const repo = await Repo.make({ dir });
        await repo.write('f.txt', 'f\n');
        await repo.git('config', 'extensions.worktreeConfig', 'true');
        const commit = await repo.commitAll();
        const keeper = createWorktreeKeeper({ home, readLock: () => Promise.resolve(null) });
        const plan = '0123456789abcdef0123456789abcdef';
        const worktree = await keeper.make({ plan, name: 'p1', workspace: dir, base: commit });
        if (!worktree.ok) throw new Error(worktree.problem.message);
        execFileSync('chown', ['-R', String(user.uid), base]);
        await chmod(base, 0o755);
        const before = await listing(dir);
        const gitFile = await readFile(join(worktree.value.path, '.git'), 'utf8');
        const env = {
          PATH: '/usr/local/bin:/usr/bin:/bin',
          HOME: join(base, 'person'),
          EMEND_BWRAP: user.bubblewrap,
          REPO: dir,
        };
        const setUp = {
          commands: createLocalRunner(env, { hidden: [home] }),
          command: `echo ready > ready; ${command}; true`,
          env: ['REPO'],
          timeout_s: 20,
          maxOutput_bytes: 10_000,
          signal: new AbortController().signal,
        };
        const outcome = await keeper.setUp(worktree.value, { ...setUp, sandbox: SANDBOX_ON });
        expect([user.name, outcome]).toEqual([user.name, { outcome: 'ready' }]);
        expect(await readFile(join(worktree.value.path, 'ready'), 'utf8')).toBe('ready\n');
        expect(await readFile(join(worktree.value.path, '.git'), 'utf8')).toBe(gitFile);
        expect(await listing(dir)).toEqual(before);
        // An attempt that fails everywhere proves nothing: outside, it writes.
        if (user.as.length === 0) {
          await rm(join(home, 'worktrees', plan, 'p1.ready.json'));
          await keeper.setUp(worktree.value, { ...setUp, sandbox: 'off' });
          const after = await readFile(join(worktree.value.path, '.git'), 'utf8');
          expect({ after, ...(await listing(dir)) }).not.toEqual({ after: gitFile, ...before });
        }
        await rm(base, { recursive: true, force: true });
      }
    },
  );
});
