/** The calls of git that a run makes, from preflight to push. */
import { join } from 'node:path';
import { createCommitter } from '../../../src/workspace/git/commit.js';
import { blobId, dirtyPaths, fileIds } from '../../../src/workspace/git/entries.js';
import { git } from '../../../src/workspace/git/git.js';
import { mergeTrees } from '../../../src/workspace/git/merge-tree.js';
import { createWorktreeKeeper } from '../../../src/workspace/git/worktrees.js';
import { broughtByPerson } from '../../../src/workspace/landing/revert-commits.js';
import type { CommitOutcome } from '../../../src/workspace/ports.js';
import { Blobs, hookPorts, requestFor, type Repo } from '../git-fixture.js';

let count = 0;

/** Commits a new text of a.x. `outside`: a directory outside the workspace. */
export async function commitChange(
  repo: Repo,
  outside: string,
  more: { readonly sign?: boolean } = {},
): Promise<CommitOutcome> {
  const blobs = new Blobs();
  const text = `changed ${(count += 1)} ${process.pid}\n`;
  const base = await repo.git('show', 'HEAD:a.x');
  await repo.write('a.x', text);
  const request = await requestFor(repo, [blobs.file('a.x', base, text)], more);
  return createCommitter({ ...hookPorts(outside), blobs })(request);
}

/** Reads gone.d, whose object the repository lacks. Each call may fail. */
export async function readMissing(repo: Repo, id: string): Promise<void> {
  await git(['cat-file', 'blob', id], { cwd: repo.dir });
  await broughtByPerson(repo.dir, 'npm test', ['gone.d']).catch(() => undefined);
}

/** Each call may fail. */
export async function wholeRun(repo: Repo, outside: string): Promise<void> {
  const ignore = (): undefined => undefined;
  const { head } = await repo.head();
  await dirtyPaths(repo.dir, ['a.x', 'b.x']).catch(ignore);
  await broughtByPerson(repo.dir, 'npm test', ['e.d']).catch(ignore);
  await commitChange(repo, outside).catch(ignore);
  await commitChange(repo, outside, { sign: true }).catch(ignore);
  await fileIds(repo.dir, ['a.x', 'b.x']).catch(ignore);
  await blobId(repo.dir, Buffer.from('x\n'), 'a.x', true).catch(ignore);
  const keeper = createWorktreeKeeper({
    home: join(outside, 'home'),
    readLock: () => Promise.resolve(null),
  });
  const plan = '00112233445566778899aabbccddeeff';
  const request = { plan, name: 'p1', workspace: repo.dir, base: head ?? '' };
  await keeper.make(request, {}).catch(ignore);
  await keeper.remove(plan, 'p1').catch(ignore);
  await mergeTrees(repo.dir, 'main', 'other').catch(ignore);
  const call = { cwd: repo.dir };
  await git(['cat-file', '--filters', 'HEAD:a.x'], call);
  for (const args of [
    ['push', 'origin', 'main'],
    ['fetch', 'origin'],
    ['ls-remote', 'origin'],
  ])
    await git(args, call);
}
