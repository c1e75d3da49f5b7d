/** Finds the lines that a response asks to be shown. */
import type { LinesRequest } from '../edit.js';
import { type LineRange, mergeRanges } from '../listing.js';
import { lookUp } from '../paths.js';
import { indexOf } from '../text/lines.js';
import type { FormatContext, Reading } from '../types.js';

export const NEEDS_LINES_LINES = 2_000; // bound: Lines that a model may ask to be shown at once.

/** Refused if the file is shown whole, or a symbol is not in it; else the lines that the request means. */
export const settleRequest = (request: LinesRequest, context: FormatContext): Reading => {
  const looked = lookUp(request.path, context, 0);
  if (!looked.ok) return { kind: 'refused', reasons: [looked.reason] };
  const { path, file } = looked;
  const { ranges, symbols } = request;
  const refused = (code: string, message: string): Reading => ({
    kind: 'refused',
    reasons: [{ code, path, message }],
  });
  if (file.text === null || file.seen === undefined)
    return refused('all_lines_shown', `All of ${path} is shown. Send the operations.`);
  const index = indexOf(file.text);
  const outline =
    symbols.length === 0 ? null : (context.options.syntax?.outline(path, index.all) ?? null);
  const all = [...ranges];
  for (const symbol of symbols) {
    const name = symbol.replaceAll('::', '.');
    const places = outline?.kind === 'read' ? outline.symbols : [];
    const meant = places.filter(
      ({ qualified }) => qualified === name || qualified.endsWith(`.${name}`),
    );
    if (meant.length === 0) {
      const message = `${path} has no definition ${JSON.stringify(symbol)} that could be found. Ask for line ranges instead.`;
      return refused('symbol_missing', message);
    }
    for (const { lead, to } of meant) all.push([lead + 1, to]);
  }
  const merged = withinBound(mergeRanges(all, index.length));
  if (merged.length === 0)
    return refused(
      'out_of_range',
      `${path} has ${index.length} lines; none of the requested ones is among them.`,
    );
  const lines = merged
    .map(([from, to]) => (from === to ? `${from}` : `${from} to ${to}`))
    .join(', ');
  const message = `The answer is not an edit: it asks to see the lines ${lines} of ${path}.`;
  return {
    kind: 'refused',
    reasons: [{ code: 'needs_lines', path, message }],
    needs: { path, ranges: merged },
  };
};

/** No more lines than one answer may ask for. */
const withinBound = (ranges: readonly LineRange[]): LineRange[] => {
  let remaining: number = NEEDS_LINES_LINES;
  return ranges.flatMap(([from, to]): LineRange[] => {
    const end = Math.min(to, from + remaining - 1);
    remaining -= end - from + 1;
    return end < from ? [] : [[from, end]];
  });
};
