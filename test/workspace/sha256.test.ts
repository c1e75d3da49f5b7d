/** Repositories whose objects are named by SHA-256: ids of 64 digits, and zero ids of as many. Real git. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createApplyEngine } from '../../src/workspace/apply/engine.js';
import { createCommitter } from '../../src/workspace/git/commit.js';
import { proposalIdOf, recordName, type ProposalFile } from '../../src/workspace/proposal.js';
import { mergeInto } from '../../src/workspace/landing/merge.js';
import { takeBack } from '../../src/workspace/landing/revert-commits.js';
import type { ApplyEngine, ApplyRequest, CommitOutcome } from '../../src/workspace/ports.js';
import { createWorktreeKeeper } from '../../src/workspace/git/worktrees.js';
import { fakeIo } from '../cli/io.js';
import { longOnly } from '../support/skipped.js';
import { Blobs, hookPorts, isolateGit, Repo, requestFor, STEP } from './git-fixture.js';

isolateGit();

const holder = { workflowId: 'w', namespace: 'default' };
let repo: Repo;
let blobs: Blobs;
let home: string;
let engine: ApplyEngine;

beforeEach(async () => {
  repo = await Repo.make({ sha256: true });
  blobs = new Blobs();
  home = await realpath(await mkdtemp(join(tmpdir(), 'emend sha-')));
  engine = createApplyEngine({ home, blobs });
  await repo.write('a.txt', 'one\n');
  await repo.write('gone.txt', 'x\n');
  expect(await repo.commitAll()).toHaveLength(64);
});
afterEach(async () => {
  await repo.remove();
  await rm(home, { recursive: true, force: true });
});

const applying = (files: readonly ProposalFile[]): ApplyRequest => {
  const proposal = { v: 2, stepKey: STEP, files, renames: [] } as const;
  const paths = files.map(({ path }) => path);
  const proposalId = proposalIdOf(proposal);
  return {
    stepKey: STEP,
    workspace: repo.dir,
    proposalId,
    proposal,
    decision: 1,
    files: paths,
    holder,
  };
};
const commit = async (
  files: readonly ProposalFile[],
  records: readonly string[] = [],
): Promise<CommitOutcome> =>
  createCommitter({ ...hookPorts(), blobs, lockWait_ms: 300 })(
    await requestFor(repo, files, { records }),
  );
const names = (): Promise<string> =>
  repo.git('show', '--format=', '--name-status', '--no-renames', 'HEAD');

test('commit: an edit, a deletion and a new file; and one of a deletion alone', async () => {
  const files = [
    blobs.file('a.txt', 'one\n', 'ONE\n'),
    blobs.file('gone.txt', 'x\n', null),
    blobs.file('new.txt', null, 'new\n'),
  ];
  const request = applying(files);
  expect(await engine.apply(request)).toMatchObject({ outcome: 'applied' });
  const record = recordName(STEP, request.proposalId, 1);
  expect(await commit(files, [record])).toMatchObject({ outcome: 'committed' });
  expect(await names()).toBe('M\ta.txt\nD\tgone.txt\nA\tnew.txt\n');
  expect(await repo.status()).toBe('');
  await engine.releaseLock(repo.dir, STEP);

  await rm(join(repo.dir, 'new.txt'));
  const key = STEP.replaceAll('0', '1');
  const alone = await requestFor(repo, [blobs.file('new.txt', 'new\n', null)], { stepKey: key });
  const deleted = await createCommitter({
    ...hookPorts(),
    blobs,
    lockWait_ms: 300,
  })({
    ...alone,
    lock: { ...alone.lock, stepKey: key },
  });
  expect(deleted).toMatchObject({ outcome: 'committed' });
  expect(await names()).toBe('D\tnew.txt\n');
  expect(await repo.status()).toBe('');
});

longOnly('git/commit.test.ts makes first commits; the one before ids of 64 digits')(
  'a first commit, of a new file beside one that is gone',
  async () => {
    await rm(join(repo.dir, '.git'), { recursive: true });
    await Repo.make({ dir: repo.dir, sha256: true });
    await rm(join(repo.dir, 'gone.txt'));
    await rm(join(repo.dir, 'a.txt'));
    await repo.write('new.txt', 'new\n');
    const outcome = await commit([
      blobs.file('gone.txt', 'x\n', null),
      blobs.file('new.txt', null, 'new\n'),
    ]);
    expect(outcome).toMatchObject({ outcome: 'committed' });
    expect(await repo.git('ls-tree', '--name-only', 'HEAD')).toBe('new.txt\n');
  },
);

test('rollback: the files come back, and a late commit of them is not made', async () => {
  const files = [blobs.file('a.txt', 'one\n', 'ONE\n'), blobs.file('gone.txt', 'x\n', null)];
  const request = applying(files);
  expect(await engine.apply(request)).toMatchObject({ outcome: 'applied' });
  expect(await engine.rollback(request)).toMatchObject({
    outcome: 'rolled_back',
    files: ['a.txt', 'gone.txt'],
  });
  expect(await repo.status()).toBe('');
  const head = await repo.line('rev-parse', 'HEAD');
  await repo.write('a.txt', 'ONE\n');
  await rm(join(repo.dir, 'gone.txt'));
  expect(await commit(files, [recordName(STEP, request.proposalId, 1)])).toMatchObject({
    outcome: 'conflict',
  });
  expect(await repo.line('rev-parse', 'HEAD')).toBe(head);
});

longOnly('the rollback shows that files come back')(
  'undo: `emend undo` puts a patch back, in a tree with commits',
  async () => {
    // Here alone: to load the whole command line takes longer than the other tests.
    const { main } = await import('../../src/cli/main.js');
    const emend = async (args: readonly string[], stdin = '') => {
      const env = {
        EMEND_HOME: home,
        HOME: home,
        PATH: process.env.PATH,
        GIT_CONFIG_NOSYSTEM: '1',
      };
      const io = fakeIo({ env, cwd: repo.dir, stdin: Buffer.from(stdin) });
      return { exit: await main(args, io), ...io.printed };
    };
    const diff =
      '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n';
    expect(await emend(['patch', '-'], diff)).toMatchObject({ exit: 0 });
    expect(existsSync(join(repo.dir, 'gone.txt'))).toBe(false);
    expect(await emend(['undo'])).toMatchObject({ exit: 0, err: '' });
    expect(await repo.status()).toBe('');
  },
);

test('worktree: made at its base, merged with a deletion, taken back, removed', async () => {
  const base = await repo.line('rev-parse', 'HEAD');
  const keeper = createWorktreeKeeper({
    home,
    readLock: (workspace) => engine.readLock(workspace),
  });
  const made = await keeper.make({ plan: STEP, name: 'p1-1', workspace: repo.dir, base });
  if (!made.ok) throw new Error(made.problem.message);
  const tree = new Repo(made.value.path);
  await rm(join(tree.dir, 'gone.txt'));
  await tree.write('a.txt', 'ONE\n');
  const theirs = await tree.commitAll('phase');
  const parts = { engine, blobs, lockWait_ms: 300 };
  const common = { workspace: repo.dir, holder, sign: false };
  const merged = await mergeInto(
    parts,
    { ...common, stepKey: STEP, theirs, message: 'Merge' },
    () => undefined,
  );
  expect(merged).toMatchObject({ outcome: 'merged', parent: base });
  expect(await repo.status()).toBe('');
  expect(existsSync(join(repo.dir, 'gone.txt'))).toBe(false);
  expect(await keeper.remove(STEP, 'p1-1')).toMatchObject({ dropped: null });

  await repo.git('reset', '-q', '--hard', theirs);
  const request = { ...common, isKept: () => false, commits: [theirs], message: 'Take back' };
  const back = await takeBack(
    parts,
    request,
    () => Promise.resolve(new Map()),
    () => undefined,
  );
  expect(back).toMatchObject({ outcome: 'taken_back', files: ['a.txt', 'gone.txt'] });
  expect(await readFile(join(repo.dir, 'gone.txt'), 'utf8')).toBe('x\n');
  expect(await repo.status()).toBe('');
});
