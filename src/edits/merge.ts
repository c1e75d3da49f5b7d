/**
 * Three-way merge of bytes: what changed from `base` to `theirs` is carried over to `ours`. Lines are compared byte for byte, ends
 * included (bytes are read as latin1, so any encoding survives).
 */
import { diff3Merge } from 'node-diff3';

/**
 * node-diff3's matching takes time with the square of the lines. Lines that stand exactly once in each of the three versions, in
 * the same order, are anchors (patience diff): the stretches between them are merged one by one, so that a file of 100,000
 * lines costs little more than its changed places.
 */
interface Versions {
  readonly o: readonly string[];
  readonly a: readonly string[];
  readonly b: readonly string[];
}
type Range = readonly [start: number, end: number];
interface Place {
  o: number;
  a: number;
  b: number;
}
export interface Part {
  /** `same`: equal in all three versions. */
  readonly kind: 'same' | 'merge';
  readonly o: Range;
  readonly a: Range;
  readonly b: Range;
}

function splitAtAnchors(texts: Versions): Part[] {
  const { o, a, b } = texts;
  const parts: Part[] = [];
  const at: Place = { o: 0, a: 0, b: 0 };
  const part = (kind: Part['kind'], to: Place): void => {
    if (to.o > at.o || to.a > at.a || to.b > at.b) {
      parts.push({ kind, o: [at.o, to.o], a: [at.a, to.a], b: [at.b, to.b] });
    }
    Object.assign(at, to);
  };
  const [begin, end] = [
    { o: 0, a: 0, b: 0 },
    { o: o.length, a: a.length, b: b.length },
  ];
  for (const anchor of [begin, ...anchorsOf(texts), end]) {
    if (anchor.o < at.o) continue; // an earlier anchor's run of equal lines went past this one
    const before = backward(texts, at, anchor);
    part('merge', before);
    part('same', forward(texts, anchor));
  }
  return parts;
}

const equalAt = ({ o, a, b }: Versions, p: Place, shift: number): boolean =>
  o[p.o + shift] === a[p.a + shift] && o[p.o + shift] === b[p.b + shift];

/** Where the run of equal lines that ends at `anchor` begins, not before `from`. */
function backward(texts: Versions, from: Place, anchor: Place): Place {
  const most = Math.min(anchor.o - from.o, anchor.a - from.a, anchor.b - from.b);
  let n = 0;
  while (n < most && equalAt(texts, anchor, -n - 1)) n += 1;
  return { o: anchor.o - n, a: anchor.a - n, b: anchor.b - n };
}

/** The end of the run of equal lines that begins at `anchor`. */
function forward(texts: Versions, anchor: Place): Place {
  const { o, a, b } = texts;
  const most = Math.min(o.length - anchor.o, a.length - anchor.a, b.length - anchor.b);
  let n = 0;
  while (n < most && equalAt(texts, anchor, n)) n += 1;
  return { o: anchor.o + n, a: anchor.a + n, b: anchor.b + n };
}

/** Places of lines that are unique in all three, the longest series that rises in all three (greedy over `b` within `a`). */
function anchorsOf({ o, a, b }: Versions): Place[] {
  const [inO, inA, inB] = [uniquePlaces(o), uniquePlaces(a), uniquePlaces(b)];
  const common: Place[] = [];
  for (const [line, place] of inO) {
    const [pa, pb] = [inA.get(line), inB.get(line)];
    if (pa !== undefined && pb !== undefined) common.push({ o: place, a: pa, b: pb });
  }
  common.sort((x, y) => x.o - y.o);
  return rising(
    rising(common, (p) => p.a),
    (p) => p.b,
  );
}

function uniquePlaces(lines: readonly string[]): Map<string, number> {
  const places = new Map<string, number>();
  const repeated = new Set<string>();
  lines.forEach((line, i) => {
    if (places.has(line)) repeated.add(line);
    places.set(line, i);
  });
  for (const line of repeated) places.delete(line);
  return places;
}

/** Longest rising subsequence by `by` (patience sorting, n log n). */
function rising(places: readonly Place[], by: (p: Place) => number): Place[] {
  const tops: number[] = [];
  const previous: number[] = [];
  places.forEach((p, i) => {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const top = places[tops[middle] ?? 0];
      if (top !== undefined && by(top) < by(p)) low = middle + 1;
      else high = middle;
    }
    previous[i] = tops[low - 1] ?? -1;
    tops[low] = i;
  });
  const series: Place[] = [];
  for (let i = tops.at(-1) ?? -1; i >= 0; i = previous[i] ?? -1) {
    const p = places[i];
    if (p !== undefined) series.push(p);
  }
  return series.reverse();
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
  const [o = [], a = [], b = []] = texts.map((text) => linesOf(text, end));

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
