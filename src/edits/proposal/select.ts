/** Part of a proposal: the chosen changes of a file on its base, the bytes of all else as they were. Pure. */
import { LF } from '../text/byte-finder.js';
import { scanLines } from '../text/byte-text.js';
import { applySplices } from '../text/splices.js';
import type { Splice } from '../types.js';
import { readDiff, type DiffChange, type DiffSection } from './read-diff.js';

export interface SelectInput {
  readonly base: Uint8Array;
  readonly result: Uint8Array;
  /** All changes of the file, from the proposal's diff. */
  readonly changes: readonly DiffChange[];
  /** Numbers of those to take. */
  readonly chosen: readonly number[];
}

/** Changes by path of the proposal's diff, for the files that can be taken in part: plain edits of UTF-8 text. */
export const changesByPath = (
  sections: readonly DiffSection[],
): ReadonlyMap<string, readonly DiffChange[]> =>
  new Map(
    sections
      .filter(({ path, header }) => path !== '' && header.every((line) => !WHOLE.test(line)))
      .map(({ path, hunks }) => [path, hunks.flatMap((hunk) => hunk.changes)]),
  );
const WHOLE = /^(?:new file mode|deleted file mode|rename |# )/;

/** The same, from the text. */
export const numberedChanges = (diff: string): ReadonlyMap<string, readonly DiffChange[]> =>
  changesByPath(readDiff(diff));

/** Throws where a change lies outside the bytes: diff, base and result do not belong together. */
export const selectChanges = ({ base, result, changes, chosen }: SelectInput): Uint8Array => {
  const wanted = new Set(chosen);
  const from = scanLines(base, 0, LF).starts;
  const to = scanLines(result, 0, LF).starts;
  const splices: Splice[] = [];
  for (const { n, b0, b1, r0, r1 } of changes) {
    if (!wanted.delete(n)) continue;
    if (b1 >= from.length || r1 >= to.length) throw new Error(`change ${n} lies outside its file`);
    splices.push({
      start: from[b0] ?? 0,
      end: from[b1] ?? 0,
      bytes: result.subarray(to[r0], to[r1]),
    });
  }
  if (wanted.size > 0) throw new Error(`there is no change ${[...wanted].join(', ')}`);
  return applySplices(base, splices);
};
