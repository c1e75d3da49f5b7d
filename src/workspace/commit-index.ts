/**
 * After the commit: the person's own index follows it, so that `git status` is clean. Only entries that were as the parent has
 * them are touched; what a person staged, in these files or others, stays staged.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { git } from './git.js';
import { indexEntries, indexInfo, sameEntry, type Entries, type Entry } from './git-entries.js';
import { STORE_BOUNDS } from '../shared/bounds.js';

/** Brings `paths` of the index from the parent's entries to the commit's; returns what a person should know, if anything. */
export async function syncIndex(input: {
  readonly root: string;
  readonly paths: readonly string[];
  readonly parent: Entries;
  readonly commit: Entries;
  /** How long a lock that somebody else holds on the index is waited for. */
  readonly wait_ms: number;
}): Promise<string | null> {
  // By a clock that is never set: a wait must not end early, or last a day, because somebody set the time.
  const deadline = performance.now() + input.wait_ms;
  for (;;) {
    const { updates, staged } = await pending(input);
    const told = staged.length === 0 ? null : stagedNote(staged);
    if (updates.size === 0) return told;
    // What is removed is what the parent holds.
    const like = [...input.parent.values()][0]?.id ?? '';
    const call = { cwd: input.root, input: indexInfo(updates, like) };
    const done = await git(['update-index', '-z', '--index-info'], call);
    if (done.ok) return told;
    const locked = done.problem.message.includes('index.lock');
    if (!locked || performance.now() >= deadline) {
      const why = locked
        ? 'another git process holds index.lock, or left it behind when it was killed'
        : done.problem.message;
      return `the commit is made, but your index still has the files as they were before (${why}); when it is free: git reset -q`;
    }
    await sleep(STORE_BOUNDS.indexPoll_ms);
  }
}

async function pending(input: {
  root: string;
  paths: readonly string[];
  parent: Entries;
  commit: Entries;
}): Promise<{ updates: ReadonlyMap<string, Entry | null>; staged: readonly string[] }> {
  const { entries, unmerged } = await indexEntries(input.root, input.paths);
  const updates = new Map<string, Entry | null>();
  const staged: string[] = [];
  for (const path of input.paths) {
    const [now, before, after] = [entries.get(path), input.parent.get(path), input.commit.get(path)];
    if (!unmerged.has(path) && sameEntry(now, after)) continue;
    if (!unmerged.has(path) && sameEntry(now, before)) updates.set(path, after ?? null);
    else staged.push(path);
  }
  return { updates, staged };
}

const stagedNote = (paths: readonly string[]): string =>
  `what you had staged stays staged as it was, without this commit's change: stage ${paths.join(', ')} again before you commit`;
