/** Worktrees of ended plans: what is damaged of one plan keeps none of the others, and is told. */
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { removeEndedWorktrees } from '../../../src/client/ended/worktrees.js';
import { storePaths } from '../../../src/stores/location.js';
import { createWorktreeKeeper } from '../../../src/workspace/git/index.js';
import { isolateGit, Repo } from '../../workspace/git-fixture.js';
import { fakeEmend, FakeServer, startedData } from '../fake.js';

isolateGit();

test('a damaged archive, and a damaged record of a worktree, keep no worktree of another plan', async () => {
  const emend = await fakeEmend(new FakeServer());
  const repo = await Repo.make();
  await repo.write('a.txt', 'a\n');
  const base = await repo.commitAll();
  const keeper = createWorktreeKeeper({ home: emend.home, readLock: () => Promise.resolve(null) });
  const plans = ['1', '2', '3'].map((digit) => digit.repeat(32));
  const at = new Date(0).toISOString();
  const made: string[] = [];
  for (const plan of plans) {
    const closed = { status: 'TERMINATED', result: null, message: null };
    await emend.archive.append(plan, [
      { id: 'started', at, kind: 'started', data: startedData({ workspace: repo.dir }) },
      { id: 'closed-run-1', at, kind: 'closed', data: closed },
    ]);
    const tree = await keeper.make({ plan, name: 'p1-1', workspace: repo.dir, base });
    if (tree.ok) made.push(tree.value.path);
  }
  const log = join(storePaths(emend.store).archive, plans[0]!, 'log.jsonl');
  const record = join(emend.home, 'worktrees', plans[1]!, 'p1-1.json');
  await rm(log);
  await mkdir(log);
  await writeFile(record, '');
  const told = await removeEndedWorktrees(emend);
  expect(told).toMatchObject([
    { plan: plans[0], outcome: 'failed', why: expect.stringContaining(log) },
    { plan: plans[1], outcome: 'failed', why: expect.stringContaining(`${record} is damaged`) },
    { plan: plans[2], outcome: 'removed' },
  ]);
  expect(made.map((path) => existsSync(path))).toEqual([true, true, false]);
});
