/**
 * Three-way merge of bytes: what changed from `base` to `theirs` is carried over to `ours`. Lines are compared byte for byte, ends
 * included (bytes are read as latin1, so any encoding survives).
 */
import { diff3Merge } from 'node-diff3';
import { longestRising, placesOnce } from './text/line-diff.js';
import { linesWithEnds } from './text/lines.js';

/**
 * node-diff3's matching takes time with the square of the lines. Lines that stand exactly once in each of the three versions, in
 * the same order, are anchors (patience diff): the stretches between them are merged one by one, so that a file of 100,000
 * lines costs little more than its changed places.
 */
type Versions = Readonly<Record<'o' | 'a' | 'b', readonly string[]>>;
type Range = readonly [start: number, end: number];
interface Place {
  o: number;
  a: number;
  b: number;
}
interface Part {
  /** `same`: equal in all three versions. */
  readonly kind: 'same' | 'merge';
  readonly o: Range;
  readonly a: Range;
  readonly b: Range;
}

function splitAtAnchors(texts: Versions): Part[] {
  const parts: Part[] = [];
  const at: Place = { o: 0, a: 0, b: 0 };
  const part = (kind: Part['kind'], to: Place): void => {
    if (to.o > at.o || to.a > at.a || to.b > at.b)
      parts.push({ kind, o: [at.o, to.o], a: [at.a, to.a], b: [at.b, to.b] });
    Object.assign(at, to);
  };
  const end = { o: texts.o.length, a: texts.a.length, b: texts.b.length };
  for (const anchor of [{ ...at }, ...anchorsOf(texts), end]) {
    if (anchor.o < at.o) continue; // an earlier anchor's run of equal lines went past this one
    part('merge', endOfEqual(texts, anchor, -1, at));
    part('same', endOfEqual(texts, anchor, 1, end));
  }
  return parts;
}

/** How far the run of equal lines goes from `anchor` on, or (`step` -1) up to it, not past `limit`. */
function endOfEqual({ o, a, b }: Versions, anchor: Place, step: 1 | -1, limit: Place): Place {
  const most = Math.min(...(['o', 'a', 'b'] as const).map((side) => Math.abs(limit[side] - anchor[side])));
  const isEqual = (shift: number): boolean =>
    o[anchor.o + shift] === a[anchor.a + shift] && o[anchor.o + shift] === b[anchor.b + shift];
  let n = 0;
  while (n < most && isEqual(step === 1 ? n : -n - 1)) n += 1;
  return { o: anchor.o + step * n, a: anchor.a + step * n, b: anchor.b + step * n };
}

/** Places of lines that are unique in all three, the longest series that rises in all three (greedy over `b` within `a`). */
function anchorsOf({ o, a, b }: Versions): Place[] {
  const [inA, inB] = [placesOnce(a), placesOnce(b)];
  const common: Place[] = [];
  for (const [line, place] of placesOnce(o)) {
    const [pa = -1, pb = -1] = [inA.get(line), inB.get(line)];
    if (place >= 0 && pa >= 0 && pb >= 0) common.push({ o: place, a: pa, b: pb });
  }
  const inBoth = longestRising(common, (p) => p.a);
  return longestRising(inBoth, (p) => p.b);
}

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
  const [o = [], a = [], b = []] = texts.map((text) => linesWithEnds(text, end));

  const merged: string[] = [];
  const regions: ConflictRegion[] = [];
  for (const part of splitAtAnchors({ o, a, b })) {
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
