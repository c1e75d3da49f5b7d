/** How many git processes the usual work of a step starts: each costs the worker more than what git does in it. */
import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { changedPaths, listWorkspaceFiles } from '../../../src/workspace/files/index.js';
import { withTrailer } from '../../../src/workspace/git/commit-hooks.js';
import { createCommitter } from '../../../src/workspace/git/commit.js';
import type { Proposal } from '../../../src/workspace/proposal.js';
import { sampled } from '../../support/seeded.js';
import { Blobs, hookPorts, isolateGit, Repo, requestFor, STEP } from '../git-fixture.js';

isolateGit();

let repo: Repo;
let blobs: Blobs;
let bin: string;
const path = process.env.PATH ?? '';
const git = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();

/** A `git` before the real one that writes down its command. */
beforeAll(async () => {
  bin = await mkdtemp(join(tmpdir(), 'emend-starts-'));
  await writeFile(
    join(bin, 'git'),
    `#!/bin/sh\nskip=\nfor arg; do\n  if [ -n "$skip" ]; then skip=; continue; fi\n  case "$arg" in -c) skip=1 ;; -*) ;; *) break ;; esac\ndone\necho "$arg" >>'${bin}/started'\nexec '${git}' "$@"\n`,
  );
  await chmod(join(bin, 'git'), 0o755);
  process.env.PATH = `${bin}${delimiter}${path}`;
});
afterAll(async () => {
  process.env.PATH = path;
  await rm(bin, { recursive: true });
});
beforeEach(async () => {
  repo = await Repo.make();
  blobs = new Blobs();
  await repo.write('a.txt', 'one\n');
  await repo.write('sub/b.txt', 'two\n');
  await repo.commitAll();
});
afterEach(() => repo.remove());

const startedBy = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
  await rm(join(bin, 'started'), { force: true });
  await work();
  const log = await readFile(join(bin, 'started'), 'utf8').catch(() => '');
  return log.split('\n').slice(0, -1);
};

const COMMIT = [
  ...[
    'ls-tree',
    'hash-object',
    'mktree',
    'config',
    'commit-tree',
    'ls-files',
    'update-index',
    'update-ref',
  ],
];

test('a commit of one file', async () => {
  const request = await requestFor(repo, [blobs.file('a.txt', 'one\n', 'three\n')]);
  await repo.write('a.txt', 'three\n');
  const commit = createCommitter({ ...hookPorts(), blobs });
  const started = await startedBy(async () => {
    expect(await commit(request)).toMatchObject({ outcome: 'committed' });
  });
  // Git's settings are asked for once.
  expect(started).toEqual(['rev-parse', 'ls-tree', 'config', ...COMMIT.slice(1)]);
  expect(await repo.status()).toBe('');
  // Where the repository is known it is not asked for again.
  const next = await requestFor(repo, [blobs.file('a.txt', 'three\n', 'four\n')]);
  await repo.write('a.txt', 'four\n');
  expect(await startedBy(() => commit(next))).toEqual(COMMIT);
  expect(await repo.status()).toBe('');
});

test('a commit of many files: one process stores them all, but for those that a filter or a person changes', async () => {
  const names = ['a.txt', 'sub/b.txt', 'new.txt', 'crlf.txt', 'theirs.txt'];
  await repo.write('.gitattributes', 'crlf.txt text eol=crlf\n');
  await repo.write('crlf.txt', 'one\r\n');
  await repo.write('theirs.txt', 'one\n');
  await repo.commitAll();
  const request = await requestFor(repo, [
    blobs.file('a.txt', 'one\n', 'three\n'),
    blobs.file('sub/b.txt', 'two\n', 'four\n'),
    blobs.file('new.txt', null, 'five\n'),
    blobs.file('crlf.txt', 'one\r\n', 'six\r\n'),
    blobs.file('theirs.txt', 'one\n', 'seven\n'),
  ]);
  const results = ['three\n', 'four\n', 'five\n', 'six\r\n', 'eight\n'];
  for (const [at, name] of names.entries()) await repo.write(name, results[at]!);
  const commit = createCommitter({ ...hookPorts(), blobs });
  const started = await startedBy(async () => {
    expect(await commit(request)).toMatchObject({ outcome: 'committed' });
  });
  // All files; then theirs, and crlf.txt with its base.
  expect(started.filter((command) => command === 'hash-object')).toHaveLength(4);
  const held = await Promise.all(names.map((name) => repo.git('show', `HEAD:${name}`)));
  expect(held).toEqual(['three\n', 'four\n', 'five\n', 'six\n', 'seven\n']);
  expect(await repo.status()).toBe(' M theirs.txt\n');
});

test('a commit that deletes files as they were committed hashes none of them', async () => {
  const request = await requestFor(repo, [
    blobs.file('a.txt', 'one\n', null),
    blobs.file('sub/b.txt', 'two\n', null),
  ]);
  for (const name of ['a.txt', 'sub/b.txt']) await rm(join(repo.dir, name));
  const commit = createCommitter({ ...hookPorts(), blobs });
  const started = await startedBy(async () => {
    expect(await commit(request)).toMatchObject({ outcome: 'committed' });
  });
  expect(started.filter((command) => command === 'hash-object')).toEqual([]);
  expect(await repo.git('ls-tree', '-r', 'HEAD')).toBe('');
  expect(await repo.status()).toBe('');
});

test('a listing of the workspace', async () => {
  expect(await startedBy(() => listWorkspaceFiles(join(repo.dir, 'sub')))).toEqual(['ls-files']);
});

test('what is changed, at the top of a working tree: asked once where that is', async () => {
  await repo.write('a.txt', 'changed\n');
  expect(await startedBy(() => changedPaths(repo.dir))).toEqual(['rev-parse', 'config', 'status']);
  expect(await startedBy(() => changedPaths(repo.dir))).toEqual(['status']);
  expect(await startedBy(() => changedPaths(join(repo.dir, 'sub')))).toEqual([
    'rev-parse',
    'status',
  ]);
  expect(await startedBy(() => changedPaths(join(repo.dir, 'sub')))).toEqual([
    'rev-parse',
    'status',
  ]);
  // No repository any more.
  await rm(join(repo.dir, '.git'), { recursive: true });
  expect(await changedPaths(repo.dir)).toEqual([]);
});

describe('a message with our trailers is what git makes of it', () => {
  const stepKey = 'f'.repeat(32);
  const mark: Proposal = { stepKey, files: [], renames: [] };
  const messages: readonly [string, number][] = [
    ['Change', 0],
    ['', 0],
    ['feat: change', 0],
    ['Change\n\nWith words.\nAnd more.', 0],
    ['Change: it\n\n- a: b\n- c\n\nThe end.', 0],
    ['Change\n\nFixes: 12', 1],
    ['Change\n\nSome words.\n\nReviewed-by: Ada <a@b.c>\nFixes: 12', 1],
    [`Change\n\nEmend-Step: ${STEP}`, 1],
    ['Change\n\nSee: this\nand these\nand those\nand more\nof it', 1],
    ['Change\n\n# a comment', 1],
    ['#12\n\nWords', 1],
    ['Change\n\nWords\n\nConflicts:\n\n\ta.txt', 1],
    ['Change\n\n(cherry picked from commit 0123)', 1],
    ['Change\n\n---\na.txt | 2 +-', 0],
  ];
  test.each(sampled('messages', messages, 5))('%j', async (message, starts) => {
    let made = '';
    const asked = { stepKey: STEP, marks: [mark, mark] };
    const started = await startedBy(
      async () => (made = await withTrailer(repo.dir, message, asked)),
    );
    // Git's settings are asked for by the first.
    expect(started.filter((command) => command !== 'config')).toHaveLength(starts);
    const added = [`Emend-Mark: ${stepKey}`, `Emend-Mark: ${stepKey}`, `Emend-Step: ${STEP}`];
    const byGit = execFileSync(
      git,
      [
        ...[
          '-c',
          'trailer.separators=:',
          'interpret-trailers',
          '--no-divider',
          '--if-exists',
          'addIfDifferent',
        ],
        ...[
          '--if-missing',
          'add',
          '--where',
          'end',
          ...added.flatMap((line) => ['--trailer', line]),
        ],
      ],
      {
        cwd: repo.dir,
        input: message === '' ? `Emend step ${STEP}\n` : `${message}\n`,
        encoding: 'utf8',
      },
    );
    expect(made).toBe(byGit);
  });
});
