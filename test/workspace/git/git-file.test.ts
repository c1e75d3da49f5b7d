/** E10: a `.git` file or link that leads to the repository of another working tree. */
import {
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { repositoryOf } from '../../../src/workspace/git/git.js';
import { createCommitter } from '../../../src/workspace/git/commit.js';
import { Blobs, hookPorts, isolateGit, Repo, requestFor } from '../git-fixture.js';

isolateGit();
let dir: string;
/** The repository that an attacker wants the commit in. */
let other: Repo;
let tree: string;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'emend-file-')));
  for (const name of ['other', 'tree']) await mkdir(join(dir, name));
  other = await Repo.make({ dir: join(dir, 'other') });
  await other.write('a', 'one\n');
  await other.commitAll();
  tree = join(dir, 'tree');
  await writeFile(join(tree, 'a'), 'one\n');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const leadTo = (gitDir: string): Promise<void> =>
  writeFile(join(tree, '.git'), `gitdir: ${gitDir}\n`);
const refused = async (owner: string): Promise<void> => {
  await expect(repositoryOf(tree)).rejects.toMatchObject({
    problem: {
      code: 'git_failed',
      message: expect.stringContaining(
        `, the git directory of ${owner}. A commit would be made there.`,
      ),
      next: expect.stringContaining(`git -C '${tree}' worktree repair`),
    },
  });
};

describe('E10: refused', () => {
  test('the git directory of another repository; its branch does not move', async () => {
    await leadTo(join(other.dir, '.git'));
    await refused(other.dir);
    const head = await other.head();
    const blobs = new Blobs();
    await writeFile(join(tree, 'a'), 'two\n');
    const request = await requestFor(other, [blobs.file('a', 'one\n', 'two\n')], {
      workspace: tree,
    });
    const ended = await createCommitter({ ...hookPorts(dir), blobs })(request);
    expect(ended).toMatchObject({ outcome: 'failed', problem: { code: 'git_failed' } });
    expect(await other.head()).toEqual(head);
  });
  test('by a relative path, from a folder below', async () => {
    await leadTo('../other/.git');
    await mkdir(join(tree, 'below'));
    await expect(repositoryOf(join(tree, 'below'))).rejects.toThrow('A commit would be made there');
  });
  test('by a link', async () => {
    await symlink(join(other.dir, '.git'), join(tree, '.git'));
    await refused(other.dir);
  });
  test('the git directory of a linked worktree', async () => {
    await other.git('worktree', 'add', '-q', '-b', 'side', join(dir, 'side'));
    await leadTo(join(other.dir, '.git/worktrees/side'));
    await refused(join(dir, 'side'));
  });
  test('a worktree that was moved, until it is repaired', async () => {
    await other.git('worktree', 'add', '-q', '-b', 'side', join(dir, 'side'));
    await rm(tree, { recursive: true });
    await rename(join(dir, 'side'), tree);
    await refused(join(dir, 'side'));
    await other.git('-C', tree, 'worktree', 'repair');
    expect(await repositoryOf(tree)).toMatchObject({ root: tree, headRef: 'refs/heads/side' });
  });
});

describe('E10: works as before', () => {
  test('a linked worktree', async () => {
    await other.git('worktree', 'add', '-q', '-b', 'side', join(dir, 'side'));
    expect(await repositoryOf(join(dir, 'side'))).toMatchObject({ headRef: 'refs/heads/side' });
  });
  test('a submodule, also through a link to the folder around it', async () => {
    const outer = await Repo.make({ dir: tree });
    await outer.git('-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', other.dir, 'sub');
    expect(await readFile(join(tree, 'sub/.git'), 'utf8')).toContain('gitdir: ');
    const expected = { root: join(tree, 'sub'), gitDir: join(tree, '.git/modules/sub') };
    expect(await repositoryOf(join(tree, 'sub'))).toMatchObject(expected);
    await symlink(tree, join(dir, 'link'));
    expect(await repositoryOf(join(dir, 'link/sub'))).toMatchObject(expected);
  });
  test('a separate git directory', async () => {
    await rm(tree, { recursive: true });
    await other.git('init', '-q', `--separate-git-dir=${join(dir, 'separate')}`, tree);
    expect(await repositoryOf(tree)).toMatchObject({ root: tree, gitDir: join(dir, 'separate') });
    await other.git('-C', tree, 'config', 'core.worktree', tree);
    expect(await repositoryOf(tree)).toMatchObject({ root: tree });
    await other.git('-C', tree, 'config', 'core.worktree', other.dir);
    await expect(repositoryOf(tree)).resolves.not.toMatchObject({ root: tree });
  });
  test('worktrees of a bare repository', async () => {
    await other.git('clone', '-q', '--bare', other.dir, join(dir, 'project/.bare'));
    await other.git('-C', join(dir, 'project/.bare'), 'worktree', 'add', '-q', '../main');
    await writeFile(join(dir, 'project/.git'), 'gitdir: ./.bare\n');
    expect(await repositoryOf(join(dir, 'project/main'))).toMatchObject({
      root: join(dir, 'project/main'),
    });
    expect(await repositoryOf(join(dir, 'project'))).toBeNull();
  });
});
