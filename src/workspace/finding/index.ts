/** Finds the files that a task may be about, with reasons: no model, bounded in time and bytes. */
import { gather } from './evidence.js';
import type { Candidate } from '../../shared/pick.js';
import { isCode, Ranking, type FileOutline } from './rank.js';
import { termsOf } from './words.js';

export type { FileOutline } from './rank.js';
export { cutLine, lookAround, type ReadFile, type Searched } from './signatures.js';

const CANDIDATES = 60; // bound: Files that are ranked with what they define and import, and offered at most.

/**
 * Best first, at most 60. `files`: paths of the workspace that may be offered. `outline`: what a file defines and imports; null where
 * nothing is known. Where git cannot look, what paths say is all.
 */
export async function findFiles(
  root: string,
  files: readonly string[],
  task: string,
  outline: (path: string) => Promise<FileOutline | null>,
): Promise<readonly Candidate[]> {
  const ranking = new Ranking(await gather(root, files, termsOf(task)));
  const first = ranking.first().slice(0, CANDIDATES);
  const outlines = new Map<string, FileOutline>();
  const outlined = first
    .filter(({ path }) => isCode(path))
    .map(async ({ path }) => {
      const found = await outline(path);
      if (found !== null) outlines.set(path, found);
    });
  await Promise.all(outlined);
  return ranking.explained(first, outlines);
}
