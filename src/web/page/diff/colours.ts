/** Syntax colours laid over the stretches of a line. Pure. */
import type { Stretch } from '../model/within-line.js';

/** `[from, to)` of the line has this colour. */
export interface Token {
  readonly from: number;
  readonly to: number;
  readonly colour: string;
}
export interface ColouredPart extends Stretch {
  readonly colour: string | null;
}

/** Tokens in order and apart from each other. */
export const coloured = (stretches: readonly Stretch[], tokens: readonly Token[] | null): readonly ColouredPart[] => {
  if (tokens === null || tokens.length === 0) return stretches.map((stretch) => ({ ...stretch, colour: null }));
  const parts: ColouredPart[] = [];
  let start = 0;
  let next = 0;
  for (const { text, changed } of stretches) {
    const end = start + text.length;
    let at = start;
    const put = (to: number, colour: string | null): void => {
      if (to > at) parts.push({ text: text.slice(at - start, to - start), changed, colour });
      at = Math.max(at, to);
    };
    for (let token = tokens[next]; token !== undefined && token.from < end; token = tokens[next]) {
      put(Math.min(token.from, end), null);
      put(Math.min(token.to, end), token.colour);
      if (token.to > end) break;
      next += 1;
    }
    put(end, null);
    start = end;
  }
  return parts;
};
