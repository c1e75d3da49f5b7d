/**
 * node-diff3's matching takes time with the square of the lines. Lines that stand exactly once in each of the three versions, in
 * the same order, are anchors (patience diff): the stretches between them are merged one by one, so that a file of 100,000
 * lines costs little more than its changed places.
 */
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

export function splitAtAnchors(o: readonly string[], a: readonly string[], b: readonly string[]): Part[] {
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
  for (const anchor of [begin, ...anchorsOf(o, a, b), end]) {
    if (anchor.o < at.o) continue; // an earlier anchor's run of equal lines went past this one
    const before = backward(o, a, b, at, anchor);
    part('merge', before);
    part('same', forward(o, a, b, anchor));
  }
  return parts;
}

const equalAt = (o: readonly string[], a: readonly string[], b: readonly string[], p: Place, shift: number): boolean =>
  o[p.o + shift] === a[p.a + shift] && o[p.o + shift] === b[p.b + shift];

/** Where the run of equal lines that ends at `anchor` begins, not before `from`. */
function backward(o: readonly string[], a: readonly string[], b: readonly string[], from: Place, anchor: Place): Place {
  const most = Math.min(anchor.o - from.o, anchor.a - from.a, anchor.b - from.b);
  let n = 0;
  while (n < most && equalAt(o, a, b, anchor, -n - 1)) n += 1;
  return { o: anchor.o - n, a: anchor.a - n, b: anchor.b - n };
}

/** The end of the run of equal lines that begins at `anchor`. */
function forward(o: readonly string[], a: readonly string[], b: readonly string[], anchor: Place): Place {
  const most = Math.min(o.length - anchor.o, a.length - anchor.a, b.length - anchor.b);
  let n = 0;
  while (n < most && equalAt(o, a, b, anchor, n)) n += 1;
  return { o: anchor.o + n, a: anchor.a + n, b: anchor.b + n };
}

/** Places of lines that are unique in all three, the longest series that rises in all three (greedy over `b` within `a`). */
function anchorsOf(o: readonly string[], a: readonly string[], b: readonly string[]): Place[] {
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
