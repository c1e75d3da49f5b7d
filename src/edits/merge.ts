/**
 * Three-way merge of bytes: what changed from `base` to `theirs` is carried over to `ours`. Lines are compared byte for byte, ends
 * included (bytes are read as latin1, so any encoding survives). Both sides are compared with the base by the engine's own line diff, whose
 * cost is bounded; changes of both that touch are one stretch, which is a conflict where they differ.
 */
import { type Change, changesFrom } from './text/changes.js';
import { lineOrigins } from './text/line-diff.js';
import { linesWithEnds } from './text/lines.js';

/** `first` is the 1-based line where the region begins, `count` how many lines it has (0: between lines). */
export type LineRegion = Readonly<Record<'first' | 'count', number>>;
/** Lines of both sides that overlap. */
export type ConflictRegion = Readonly<Record<'base' | 'ours' | 'theirs', LineRegion>>;
export type Rebased =
  | { readonly outcome: 'clean'; readonly bytes: Uint8Array }
  | { readonly outcome: 'conflict'; readonly regions: readonly ConflictRegion[] };

/** Lines that came or went, and could as well have done so further down, did: the same change is then in the same place on both sides. */
const lowest = (base: readonly string[], { from, to, lines }: Change, limit: number): Change => {
  const moved = from === to ? lines : base.slice(from, to);
  let by = 0;
  if (from === to || lines.length === 0)
    while (to + by < limit && base[to + by] === (moved[by] ?? base[to + by - moved.length]))
      by += 1;
  const kept = from === to ? base.slice(from, from + by) : [];
  return { from: from + by, to: to + by, lines: by === 0 ? lines : [...lines, ...kept].slice(by) };
};

/** Both sides changed the same or adjoining lines differently: `conflict`; the same change on both sides is clean. */
export function rebase3(base: Uint8Array, ours: Uint8Array, theirs: Uint8Array): Rebased {
  const texts = [base, ours, theirs].map((bytes) => Buffer.from(bytes).toString('latin1'));
  // As in the edit engine: CR alone ends a line only where no LF does.
  const end = texts.some((text) => text.includes('\n')) ? '\n' : '\r';
  const [o = [], a = [], b = []] = texts.map((text) => linesWithEnds(text, end));

  const changes = [a, b]
    .flatMap((lines, i) => {
      const found = changesFrom(o.length, lines, lineOrigins(o, lines));
      return found.map((change, n) => ({
        ...lowest(o, change, found[n + 1]?.from ?? o.length),
        side: i + 1,
      }));
    })
    .sort((x, y) => x.from - y.from);
  const regions: ConflictRegion[] = [];
  let [text, next] = ['', 0];
  /** By how much each version is longer than the base so far. */
  const grown = [0, 0, 0];
  for (let i = 0; i < changes.length;) {
    const from = changes[i]?.from ?? 0;
    const starts = grown.map((by) => from + by);
    let to = from;
    for (
      let change = changes[i];
      change !== undefined && change.from <= to;
      change = changes[++i]
    ) {
      to = Math.max(to, change.to);
      grown[change.side] =
        (grown[change.side] ?? 0) + change.lines.length - (change.to - change.from);
    }
    const stretches = [o, a, b].map((lines, side) =>
      lines.slice(starts[side], to + (grown[side] ?? 0)),
    );
    const [was, mine = '', other = ''] = stretches.map((lines) => lines.join(''));
    text += o.slice(next, from).join('') + (mine === was ? other : mine);
    next = to;
    if (mine === was || other === was || mine === other) continue;
    const region = (side: number) => ({
      first: (starts[side] ?? 0) + 1,
      count: stretches[side]?.length ?? 0,
    });
    regions.push({ base: region(0), ours: region(1), theirs: region(2) });
  }
  if (regions.length > 0) return { outcome: 'conflict', regions };
  return {
    outcome: 'clean',
    bytes: new Uint8Array(Buffer.from(text + o.slice(next).join(''), 'latin1')),
  };
}
