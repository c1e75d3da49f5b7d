/**
 * Three-way merge of bytes: what changed from `base` to `theirs` is carried over to `ours`. Lines are compared byte for byte, ends
 * included (bytes are read as latin1, so any encoding survives).
 */
import { diff3Merge } from 'node-diff3';

import { splitAtAnchors } from './rebase-anchors.js';

/** `first` is the 1-based line where the region begins, `count` how many lines it has (0: between lines). */
export interface LineRegion {
  readonly first: number;
  readonly count: number;
}
export interface ConflictRegion {
  readonly base: LineRegion;
  readonly ours: LineRegion;
  readonly theirs: LineRegion;
}
export type Rebased =
  | { readonly outcome: 'clean'; readonly bytes: Uint8Array }
  | { readonly outcome: 'conflict'; readonly regions: readonly ConflictRegion[] };

/** Both sides changed the same or adjoining lines differently: `conflict`; the same change on both sides is clean. */
export function rebase3(base: Uint8Array, ours: Uint8Array, theirs: Uint8Array): Rebased {
  const texts = [base, ours, theirs].map((bytes) => Buffer.from(bytes).toString('latin1'));
  // As in the edit engine: CR alone ends a line only where no LF does.
  const end = texts.some((text) => text.includes('\n')) ? '\n' : '\r';
  const [o = [], a = [], b = []] = texts.map((text) => linesOf(text, end));

  const merged: string[] = [];
  const regions: ConflictRegion[] = [];
  for (const part of splitAtAnchors(o, a, b)) {
    if (part.kind === 'same') {
      merged.push(...o.slice(part.o[0], part.o[1]));
      continue;
    }
    const [oPart, aPart, bPart] = [o.slice(...part.o), a.slice(...part.a), b.slice(...part.b)];
    for (const piece of diff3Merge(aPart, oPart, bPart, { excludeFalseConflicts: true })) {
      if (piece.ok !== undefined) merged.push(...piece.ok);
      if (piece.conflict === undefined) continue;
      const c = piece.conflict;
      regions.push({
        base: { first: part.o[0] + c.oIndex + 1, count: c.o.length },
        ours: { first: part.a[0] + c.aIndex + 1, count: c.a.length },
        theirs: { first: part.b[0] + c.bIndex + 1, count: c.b.length },
      });
    }
  }
  if (regions.length > 0) return { outcome: 'conflict', regions };
  return { outcome: 'clean', bytes: new Uint8Array(Buffer.from(merged.join(''), 'latin1')) };
}

function linesOf(text: string, end: string): string[] {
  const lines: string[] = [];
  for (let start = 0; start < text.length;) {
    const at = text.indexOf(end, start);
    const stop = at < 0 ? text.length : at + 1;
    lines.push(text.slice(start, stop));
    start = stop;
  }
  return lines;
}
