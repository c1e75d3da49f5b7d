/** Places of lines that stand in the file in another, uniformly shifted indentation (rung `indent`). */
import { indentShift, type Shift } from './indent.js';
import type { LineChain } from './locate.js';

export interface ShiftedPlaces {
  readonly places: readonly { readonly first: number; readonly shift: Shift }[];
  /** There are more candidates than were looked at. */
  readonly more: boolean;
}

/** `chain` must know the texts of `lines`. */
export const shiftedPlaces = (chain: LineChain, lines: readonly string[]): ShiftedPlaces => {
  const found = chain.find(
    lines.map((text) => ({ text })),
    'indent',
  );
  const places = found.first.flatMap((first) => {
    const texts = chain.run(first, lines.length).map((node) => chain.textOf(node));
    const shift = indentShift(lines, texts);
    return shift === null ? [] : [{ first, shift }];
  });
  return { places, more: found.more };
};

/** Why a hunk is refused whose added lines cannot follow it. */
export const UNSHIFTABLE =
  'It stands in the file in another indentation, and an added line does not have the indentation that goes. Send it as the file is indented.';

/** A hunk's lines in the file's indentation: old ones as `found` has them, added ones shifted; null where one cannot be. */
export const shiftHunk = <T extends { readonly sign: string; readonly text: string }>(
  lines: readonly T[],
  found: readonly string[],
  shift: Shift,
): T[] | null => {
  const shifted: T[] = [];
  let at = 0;
  for (const line of lines) {
    const text = line.sign === '+' ? shift(line.text) : (found[at] ?? null);
    if (text === null) return null;
    if (line.sign !== '+') at += 1;
    shifted.push({ ...line, text });
  }
  return shifted;
};
