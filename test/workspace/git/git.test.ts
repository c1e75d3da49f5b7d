import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from '@jest/globals';

import { ProblemError } from '../../../src/shared/problems.js';
import { git, repositoryOf } from '../../../src/workspace/git/git.js';
import { isolateGit, Repo } from '../git-fixture.js';

isolateGit();
let repo: Repo;
beforeEach(async () => {
  repo = await Repo.make();
});
afterEach(() => repo.remove());

test('an unborn branch, a commit, detached, from a sub-directory and through a link', async () => {
  const gitDir = join(repo.dir, '.git');
  const unborn = { root: repo.dir, gitDir, prefix: '', head: null, headRef: 'refs/heads/main' };
  expect(await repositoryOf(repo.dir)).toEqual(unborn);
  await repo.write('sub/dir ü/f', '1\n');
  const head = await repo.commitAll();
  expect(await repositoryOf(join(repo.dir, 'sub/dir ü'))).toEqual({ ...unborn, prefix: 'sub/dir ü/', head });
  await repo.git('checkout', '-q', '--detach');
  const link = `${repo.dir}-link`;
  await symlink(repo.dir, link);
  expect(await repositoryOf(link)).toEqual({ ...unborn, head, headRef: null });
  await rm(link);
});

test('a linked worktree has its own git directory', async () => {
  await repo.write('f', '1\n');
  const head = await repo.commitAll();
  await repo.git('worktree', 'add', '-q', '-b', 'side', 'wt');
  expect(await repositoryOf(join(repo.dir, 'wt'))).toEqual({
    root: join(repo.dir, 'wt'),
    gitDir: join(repo.dir, '.git/worktrees/wt'),
    prefix: '',
    head,
    headRef: 'refs/heads/side',
  });
});

test('none outside a repository, in a bare one and in a git directory', async () => {
  const outside = await realpath(await mkdtemp(join(tmpdir(), 'emend-none-')));
  expect(await repositoryOf(outside)).toBeNull();
  await repo.git('init', '-q', '--bare', join(outside, 'bare'));
  expect(await repositoryOf(join(outside, 'bare'))).toBeNull();
  expect(await repositoryOf(join(repo.dir, '.git'))).toBeNull();
  await rm(outside, { recursive: true });
});

test('a directory that is not there is a ProblemError, not "no repository"', async () => {
  await expect(repositoryOf(join(repo.dir, 'nowhere'))).rejects.toThrow(ProblemError);
});

test("variables of a calling git do not lead elsewhere; git's failure is its own words", async () => {
  process.env.GIT_DIR = '/nonexistent';
  process.env.GIT_INDEX_FILE = '/nonexistent/index';
  try {
    expect((await repositoryOf(repo.dir))?.root).toBe(repo.dir);
  } finally {
    delete process.env.GIT_DIR;
    delete process.env.GIT_INDEX_FILE;
  }
  const failed = await git(['-c', 'x.y=z', 'cat-file', 'blob', 'nothing'], { cwd: repo.dir });
  expect(failed).toMatchObject({ ok: false, problem: { code: 'git_failed' } });
  expect(JSON.stringify(failed)).toMatch(/git cat-file in .*Not a valid object name nothing/);
});

test('output and input are bytes', async () => {
  const bytes = new Uint8Array([0, 255, 10, 13, 128, 0]);
  const id = await git(['hash-object', '-w', '--no-filters', '--stdin'], { cwd: repo.dir, input: bytes });
  if (!id.ok) throw new Error(id.problem.message);
  const back = await git(['cat-file', 'blob', id.value.text.trim()], { cwd: repo.dir, reading: true });
  expect(back.ok && [...back.value.bytes]).toEqual([...bytes]);
});
