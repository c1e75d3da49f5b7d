/** True changes as quoted text and what takes its place: search-replace, search-blocks, string-replace. */
import { type LineEdit, type TrueChange, apply } from './true-change.js';

export interface SaidFind {
  readonly find: readonly string[];
  readonly replace: readonly string[];
}

/** The edit's own lines and one neighbour, wherever else they may stand. */
export const shortFinds = ({ base, edits }: TrueChange): SaidFind[] =>
  edits.map(({ from, to, lines }, i) => {
    const before = from > (edits[i - 1]?.to ?? 0) ? base.slice(from - 1, from) : [];
    const after =
      to < (edits[i + 1]?.from ?? base.length) && before.length === 0 ? base.slice(to, to + 1) : [];
    return {
      find: [...before, ...base.slice(from, to), ...after],
      replace: [...before, ...lines, ...after],
    };
  });

/** Base lines [from, to) with the edits inside. */
interface Region {
  readonly from: number;
  readonly to: number;
  readonly edits: readonly LineEdit[];
}

/**
 * Quotes enough of the base that each FIND stands once in the text as the blocks before left it: lines are added on both sides until
 * it does, and where they meet the next edit, the two are said in one block.
 */
export const uniqueFinds = ({ kind, base, edits }: TrueChange, substrings: boolean): SaidFind[] => {
  if (kind === 'create') return [{ find: [], replace: edits[0]?.lines ?? [] }];
  const regions: Region[] = [];
  const saidOf = ({ from, to, edits: own }: Region): SaidFind => ({
    find: base.slice(from, to),
    replace: apply(
      base.slice(from, to),
      own.map((edit) => ({ ...edit, from: edit.from - from, to: edit.to - from })),
    ),
  });
  /** The text as the regions leave it, from its first line to the end of the base. */
  const current = (): string => {
    const parts: string[] = [];
    let next = 0;
    for (const region of regions) {
      parts.push(...base.slice(next, region.from), ...saidOf(region).replace);
      next = region.to;
    }
    return `\n${parts.concat(base.slice(next)).join('\n')}\n`;
  };
  let pending = edits;
  while (pending[0] !== undefined) {
    let region: Region = { from: pending[0].from, to: pending[0].to, edits: [pending[0]] };
    pending = pending.slice(1);
    let text = current();
    for (let more = 1; ; more *= 2) {
      const low = regions.at(-1)?.to ?? 0;
      const high = pending[0]?.from ?? base.length;
      region = {
        ...region,
        from: Math.max(low, region.from - more),
        to: Math.min(high, region.to + more),
      };
      if (standsOnce(text, saidOf(region).find, substrings)) break;
      if (region.from > low || region.to < high) continue;
      const [next] = pending;
      const before = regions.at(-1);
      if (next !== undefined) {
        region = { ...region, to: next.to, edits: [...region.edits, next] };
        pending = pending.slice(1);
      } else if (before !== undefined) {
        region = { ...region, from: before.from, edits: [...before.edits, ...region.edits] };
        regions.pop();
        text = current();
      } else break;
    }
    regions.push(region);
  }
  return regions.map(saidOf);
};

const standsOnce = (text: string, find: readonly string[], substrings: boolean): boolean => {
  if (find.length === 0) return false;
  const joined = find.join('\n');
  const wanted = substrings ? joined : `\n${joined}\n`;
  const at = text.indexOf(wanted);
  return at >= 0 && !text.includes(wanted, at + 1);
};
