import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

import { ProblemError } from '../../../src/shared/problems.js';
import { withTrailer } from '../../../src/workspace/git/commit-hooks.js';
import { dirtyPaths } from '../../../src/workspace/git/entries.js';
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
  expect(await repositoryOf(join(repo.dir, 'sub/dir ü'))).toEqual({
    ...unborn,
    prefix: 'sub/dir ü/',
    head,
  });
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
  const id = await git(['hash-object', '-w', '--no-filters', '--stdin'], {
    cwd: repo.dir,
    input: bytes,
  });
  if (!id.ok) throw new Error(id.problem.message);
  const back = await git(['cat-file', 'blob', id.value.text.trim()], {
    cwd: repo.dir,
    reading: true,
  });
  expect(back.ok && [...back.value.bytes]).toEqual([...bytes]);
});

describe("no program of a repository's configuration is run", () => {
  const canary = (): string => join(repo.dir, 'ran');
  const ran = async (): Promise<boolean> => {
    const there = existsSync(canary());
    await rm(canary(), { force: true });
    return there;
  };
  /** A program that says that it ran, and does what git wants of it. */
  const program = async (path: string, then = 'exit 1'): Promise<string> => {
    await repo.write(path, `#!/bin/sh\ntouch "${canary()}"\n${then}\n`, 0o755);
    return `'${join(repo.dir, path)}'`;
  };
  const update = ['update-ref', 'refs/heads/side', 'HEAD'];
  const index = async (): Promise<string[]> => {
    const blob = await repo.line('hash-object', '-w', 'f');
    return ['update-index', '--add', '--cacheinfo', `100644,${blob},g`];
  };

  beforeEach(async () => {
    await repo.write('f', '1\n');
    await repo.commitAll();
  });

  const ROWS: readonly (readonly [string, () => Promise<string[]>])[] = [
    [
      'a file-system monitor',
      async () => {
        await repo.git('config', 'core.fsmonitor', await program('monitor'));
        return ['status', '--porcelain'];
      },
    ],
    [
      'a hook on refs',
      async () => (await program('.git/hooks/reference-transaction', 'exit 0'), update),
    ],
    ['a hook on the index', async () => (await program('.git/hooks/post-index-change'), index())],
    [
      'hooks in the workspace',
      async () => {
        await program('hooks/reference-transaction', 'exit 0');
        await repo.git('config', 'core.hooksPath', 'hooks');
        return update;
      },
    ],
    [
      'a checker of signatures',
      async () => {
        const signed = (await repo.git('cat-file', 'commit', 'HEAD')).replace(
          '\n\n',
          '\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n\n',
        );
        await repo.write('signed', signed);
        await repo.git(
          'update-ref',
          'HEAD',
          await repo.line('hash-object', '-t', 'commit', '-w', 'signed'),
        );
        await program('gpg');
        await repo.git('config', 'gpg.program', join(repo.dir, 'gpg'));
        await repo.git('config', 'log.showSignature', 'true');
        return ['log', '-1', '--format=%B'];
      },
    ],
  ];
  test.each(ROWS)('%s', async (_what, make) => {
    const args = await make();
    await git(args, { cwd: repo.dir });
    expect(await ran()).toBe(false);
    // Git by itself runs it.
    await repo.git(...args).catch(() => undefined);
    expect(await ran()).toBe(true);
  });

  test('a command for trailers', async () => {
    const step = '00112233445566778899aabbccddeeff';
    await repo.git('config', 'trailer.x.key', 'X: ');
    await repo.git('config', 'trailer.x.command', await program('trailer', 'echo x'));
    const message = 'Change\n\nFixes: 12';
    expect(await withTrailer(repo.dir, message, { stepKey: step })).toBe(
      `${message}\nEmend-Step: ${step}\n`,
    );
    expect(await ran()).toBe(false);
    execFileSync('git', ['interpret-trailers'], { cwd: repo.dir, input: 'Change\n' });
    expect(await ran()).toBe(true);
  });

  test('a monitor of a repository that took the place of a submodule', async () => {
    await mkdir(join(repo.dir, 'sub'));
    const inner = await Repo.make({ dir: join(repo.dir, 'sub') });
    await inner.write('x', '1\n');
    const head = await inner.commitAll();
    await repo.git('update-index', '--add', '--cacheinfo', `160000,${head},sub`);
    await repo.git('commit', '-q', '-m', 'submodule');
    await inner.git('config', 'core.fsmonitor', await program('monitor'));
    expect(await dirtyPaths(repo.dir, ['f', 'sub', 'sub/x'])).toEqual([]);
    expect(await ran()).toBe(false);
    await repo.git('status', '--porcelain');
    expect(await ran()).toBe(true);
  });

  test('a filter of a repository that a command made over files of the real one', async () => {
    await repo.write('below/f', '1\n');
    await repo.write('own/.keep', '');
    await repo.git('add', 'below');
    const [below, own] = [join(repo.dir, 'below'), join(repo.dir, 'own')];
    const inner = await Repo.make({ dir: below });
    await inner.git('config', 'filter.x.clean', await program('filter', 'cat'));
    await inner.write('.gitattributes', '* filter=x\n');
    await expect(repositoryOf(below)).rejects.toThrow(
      `${below}/.git hides the repository ${repo.dir}, which has the files of ${below}`,
    );
    await expect(dirtyPaths(below, ['f'])).rejects.toThrow('hides the repository');
    expect(await ran()).toBe(false);
    await inner.git('status');
    execFileSync('git', ['hash-object', '--path=f', '--stdin'], { cwd: below, input: 'x' });
    expect(await ran()).toBe(true);
    // A clone or a submodule has no file of the outer one.
    await Repo.make({ dir: own });
    expect(await repositoryOf(own)).toMatchObject({ root: own });
    await repo.git(
      'update-index',
      '--add',
      '--cacheinfo',
      `160000,${await repo.line('rev-parse', 'HEAD')},own`,
    );
    expect(await repositoryOf(own)).toMatchObject({ root: own });
  });

  test('a filter of a directory that looks like a bare repository', async () => {
    const filter = await program('filter', 'cat');
    for (const [path, text] of [
      ...[
        ['HEAD', 'ref: refs/heads/main\n'],
        ['objects/x', ''],
        ['refs/x', ''],
        ['.gitattributes', '* filter=x\n'],
      ],
      [
        'config',
        `[core]\n\tbare = false\n\tworktree = .\n[filter "x"]\n\tclean = ${filter}\n\trequired = true\n`,
      ],
    ] as const)
      await repo.write(`below/${path}`, text);
    const below = join(repo.dir, 'below');
    expect(await repositoryOf(below)).toBeNull();
    const args = ['hash-object', '--path=f', '--stdin'];
    await git(args, { cwd: below, input: 'x' });
    expect(await ran()).toBe(false);
    execFileSync('git', args, { cwd: below, input: 'x' });
    expect(await ran()).toBe(true);
  });
});

test('without a git on PATH it is said that git is missing', async () => {
  const path = process.env.PATH;
  process.env.PATH = '/nonexistent';
  const asked = await git(['status'], { cwd: process.cwd() });
  process.env.PATH = path;
  expect(asked).toMatchObject({
    ok: false,
    problem: { message: expect.stringContaining('git is not on PATH') },
  });
});
