/** Part of a proposal: the chosen changes of a file on its base, the bytes of all else as they were. Pure. */
import { Buffer } from 'node:buffer';
import { scanLines } from '../text/byte-text.js';
import { readDiff, type DiffChange, type DiffSection } from './read-diff.js';

const LF = 0x0a;

export interface SelectInput {
  readonly base: Uint8Array;
  readonly result: Uint8Array;
  /** All changes of the file, from the proposal's diff. */
  readonly changes: readonly DiffChange[];
  /** Numbers of those to take. */
  readonly chosen: readonly number[];
}

/** Changes by path of the proposal's diff, for the files that can be taken in part: plain edits of UTF-8 text. */
export const changesByPath = (sections: readonly DiffSection[]): ReadonlyMap<string, readonly DiffChange[]> =>
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
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const change of changes) {
    if (!wanted.delete(change.n)) continue;
    if (change.b1 >= from.length || change.r1 >= to.length) throw new Error(`change ${change.n} lies outside its file`);
    parts.push(base.subarray(at, from[change.b0]), result.subarray(to[change.r0], to[change.r1]));
    at = from[change.b1] ?? base.length;
  }
  if (wanted.size > 0) throw new Error(`there is no change ${[...wanted].join(', ')}`);
  return Buffer.concat([...parts, base.subarray(at)]);
};
