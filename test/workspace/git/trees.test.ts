/** Trees that are made without an index, and a repository that is known without a process, beside what git itself says of both. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { foldersOf, treeWith, type Entry } from '../../../src/workspace/git/entries.js';
import { repositoryOf } from '../../../src/workspace/git/git.js';
import { drawn, randomFrom, sampled, seed } from '../../support/seeded.js';
import { isolateGit, Repo } from '../git-fixture.js';

isolateGit();
let repo: Repo;
beforeEach(async () => {
  repo = await Repo.make();
});
afterEach(() => repo.remove());

const run = (args: readonly string[], input = '', env = {}): string =>
  execFileSync('git', args, {
    cwd: repo.dir,
    input: Buffer.from(input, 'latin1'),
    encoding: 'latin1',
    env: { ...process.env, ...env },
  });

/** Of an index of its own, as git makes it. */
const byGit = (entries: ReadonlyMap<string, Entry | null>, from?: string): string => {
  const env = { GIT_INDEX_FILE: join(repo.dir, '.git', 'other-index') };
  run(['read-tree', from ?? '--empty'], '', env);
  const lines = [...entries].sort(([, a], [, b]) => Number(a !== null) - Number(b !== null));
  const info = lines.map(
    ([path, entry]) =>
      `${entry?.mode ?? 0} ${entry?.id ?? '0'.repeat(40)}\t${Buffer.from(path).toString('latin1')}\0`,
  );
  run(['update-index', '-z', '--index-info'], info.join(''), env);
  return run(['write-tree'], '', env).trim();
};

const made = async (from: string, entries: ReadonlyMap<string, Entry | null>) => {
  const paths = [...entries.keys()];
  const commit = new Map([...entries].filter((each): each is [string, Entry] => each[1] !== null));
  return treeWith(repo.dir, await foldersOf(repo.dir, from, paths), { paths, commit });
};

test('a tree with other entries is the one that git makes of an index', async () => {
  const random = randomFrom(seed);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
  const ids = ['one', 'two', 'three'].map((text) =>
    run(['hash-object', '-w', '--stdin'], text).trim(),
  );
  const head = await repo.git('commit-tree', '-m', 'x', byGit(new Map()));
  const entry = (): Entry => {
    const mode = pick(['100644', '100644', '100755', '120000', '160000']);
    return { mode, id: mode === '160000' ? head.trim() : pick(ids) };
  };
  const names = ['a', 'a.b', 'a-b', 'a0', 'b c', 'ü', 'z\n'];
  const path = (): string =>
    Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(names)).join('/');
  let seen = { lost: 0, whole: 0 };
  // A few turns may hold none of one kind: as many more as it takes.
  const isLacking = (): boolean => seen.lost === 0 || seen.whole === 0;
  for (let turn = 0; turn < drawn(6, 100) || (isLacking() && turn < 200); turn++) {
    const paths = (most: number) => Array.from({ length: Math.floor(random() * most) }, path);
    const before = byGit(
      new Map([...paths(12).map((each) => [each, entry()] as const), ['kept', entry()]]),
    );
    const there = run(['ls-tree', '-r', '-z', '--name-only', before])
      .split('\0')
      .slice(0, -1)
      .map((each) => Buffer.from(each, 'latin1').toString());
    const gone = there.filter(() => random() < 0.4).map((each) => [each, null] as const);
    const added = paths(4).map((each) => [each, entry()] as const);
    // No two of them one below the other: no commit has both.
    const clear = added.filter(
      ([a], i) => !added.some(([b], j) => i !== j && (a === b || a.startsWith(`${b}/`))),
    );
    const entries = new Map<string, Entry | null>([...gone, ...clear]);
    const wanted = byGit(entries, before);
    const { tree, lost } = await made(before, entries);
    expect({ seed, turn, entries, tree }).toEqual({ seed, turn, entries, tree: wanted });
    const left = run([
      'diff-tree',
      '-r',
      '-z',
      '--no-renames',
      '--name-only',
      '--diff-filter=D',
      before,
      wanted,
    ])
      .split('\0')
      .slice(0, -1);
    const foreign = left.some((each) => !entries.has(Buffer.from(each, 'latin1').toString()));
    expect({ seed, turn, before, entries, lost: lost.length > 0 }).toEqual({
      seed,
      turn,
      before,
      entries,
      lost: foreign,
    });
    seen = { lost: seen.lost + Number(foreign), whole: seen.whole + Number(!foreign) };
  }
  expect(Math.min(seen.lost, seen.whole)).toBeGreaterThan(drawn(0, 2));
});

test('names that are not UTF-8 stay as they are, in a repository of SHA-256 too', async () => {
  await repo.remove();
  repo = await Repo.make({ sha256: true });
  const id = run(['hash-object', '-w', '--stdin'], 'text').trim();
  const tree = run(['mktree', '-z'], `100644 blob ${id}\t\xff\xfe\0`).trim();
  const top = run(['mktree'], `040000 tree ${tree}\tdir\n`).trim();
  const entries = new Map([['dir/new', { mode: '100644', id }]]);
  const { tree: other } = await made(top, entries);
  expect(run(['ls-tree', '-r', '-z', '--name-only', other])).toBe('dir/new\0dir/\xff\xfe\0');
  expect(run(['fsck', '--strict', '--no-dangling', other])).toBe('');
});

/** What git says now, asked by nobody who remembers. */
const asked = () => {
  const line = (...args: string[]): string | null => {
    try {
      return run(args).trim();
    } catch {
      return null;
    }
  };
  const root = line('rev-parse', '--show-toplevel');
  const head = line('rev-parse', '--verify', '--quiet', 'HEAD^{commit}');
  const headRef = line('symbolic-ref', '--quiet', 'HEAD');
  if (root === null || (head ?? headRef) === null) return null;
  const [gitDir, prefix] = [
    line('rev-parse', '--absolute-git-dir'),
    line('rev-parse', '--show-prefix'),
  ];
  return { root, gitDir, prefix, head, headRef };
};

test('a repository that is known is what git says of it, whatever became of it', async () => {
  await repo.write('f', '1\n');
  const first = await repo.commitAll();
  await repo.write('f', '2\n');
  await repo.commitAll();
  const dotGit = (name: string): string => join(repo.dir, '.git', name);
  const put = (name: string, text: string): void => {
    rmSync(dotGit(name), { force: true });
    writeFileSync(dotGit(name), text);
  };
  const link = (name: string, target: string): void => {
    rmSync(dotGit(name), { force: true });
    symlinkSync(target, dotGit(name));
  };
  const steps: readonly (readonly [string, () => unknown])[] = [
    ['as it was', () => first],
    ['another branch', () => run(['checkout', '-q', '-b', 'topic/v1.2-x'])],
    ['a commit', () => run(['commit', '-q', '--allow-empty', '-m', 'more'])],
    ['packed', () => run(['pack-refs', '--all'])],
    ['moved while packed', () => run(['update-ref', 'HEAD', first])],
    ['detached', () => run(['checkout', '-q', '--detach'])],
    ['no commit yet', () => run(['checkout', '-q', '--orphan', 'new'])],
    [
      'a branch that leads to another',
      () => run(['symbolic-ref', 'refs/heads/alias', 'refs/heads/main']),
    ],
    ['and is checked out', () => run(['symbolic-ref', 'HEAD', 'refs/heads/alias'])],
    ['HEAD as a link', () => link('HEAD', 'refs/heads/topic/v1.2-x')],
    ['HEAD as a file again', () => put('HEAD', 'ref: refs/heads/main\n')],
    ['another commit of it', () => run(['update-ref', 'refs/heads/main', first])],
    ['a branch by a link', () => link('refs/heads/main', '../../refs/heads/topic/v1.2-x')],
    ['a branch as a file again', () => put('refs/heads/main', `${first}\n`)],
    ['a HEAD that is none', () => put('HEAD', 'ref: refs/heads/../../config\n')],
    ['a whole one', () => put('HEAD', 'ref: refs/heads/main\n')],
    ['another working tree', () => run(['config', 'core.worktree', join(repo.dir, 'else')])],
    ['its own again', () => run(['--git-dir', dotGit(''), 'config', '--unset', 'core.worktree'])],
    ['bare', () => run(['config', 'core.bare', 'true'])],
    ['not bare', () => run(['config', 'core.bare', 'false'])],
    ['no repository', () => renameSync(dotGit(''), join(repo.dir, 'away'))],
  ];
  mkdirSync(join(repo.dir, 'else'));
  const looked = sampled('states of a repository', steps, 8);
  for (const step of steps) {
    const [what, change] = step;
    change();
    if (!looked.includes(step)) continue;
    const expected = asked();
    const said = await repositoryOf(repo.dir).catch(() => null);
    expect({ what, said }).toEqual({ what, said: expected });
  }
  expect(readFileSync(join(repo.dir, 'f'), 'utf8')).toBe('2\n');
});
