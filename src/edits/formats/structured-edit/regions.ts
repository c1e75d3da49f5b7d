/**
 * A file edited in regions: each call may change the lines of one region only, all numbers mean the file as it was, and what the calls
 * say is applied as one answer. An insert at a border belongs to the region behind it.
 */
import { indexOf } from '../../text/lines.js';
import { type LineRange, mergeRanges } from '../../listing.js';
import { lookUp } from '../../paths.js';
import { isJsonObject, type Json, keyBeside, readJson } from '../../text/json.js';
import type { FormatContext, Reading } from '../../types.js';
import { findJsonMarker } from '../../marker.js';
import { withoutThinking } from '../../thinking/index.js';
import { invalid } from '../../dialects/reader.js';

export const NEEDS_LINES_LINES = 2_000; // bound: Lines that a model may ask to be shown at once.

/**
 * Cuts a region into at most `parts`, none shorter than `least_lines` (some ten and more): at the beginning of a definition (`starts`, 1-based lines) where
 * one is near, else below a blank line, else where it comes.
 */
export const splitRegion = (
  [from, to]: LineRange,
  { parts, least_lines }: { readonly parts: number; readonly least_lines: number },
  starts: readonly number[],
  isBlank: (line: number) => boolean,
): readonly LineRange[] => {
  const lines = to - from + 1;
  const count = Math.min(parts, Math.floor(lines / least_lines));
  if (count < 2) return [[from, to]];
  const reach = Math.floor((lines / count - least_lines) / 2) + Math.floor(least_lines / 4);
  const nearestCut = (ideal: number): number => {
    const near = starts.filter((line) => Math.abs(line - ideal) <= reach);
    const [best] = near.sort((a, b) => Math.abs(a - ideal) - Math.abs(b - ideal));
    if (best !== undefined) return best;
    for (let away = 0; away <= reach; away += 1)
      for (const line of [ideal - away, ideal + away]) if (isBlank(line - 1)) return line;
    return ideal;
  };
  const regions: LineRange[] = [];
  let begin = from;
  for (let part = 1; part < count; part += 1) {
    const cut = nearestCut(from + Math.round((part * lines) / count));
    regions.push([begin, cut - 1]);
    begin = cut;
  }
  return [...regions, [begin, to]];
};

/** The operations of a structured edit that was judged already; none where there are none. */
export const operationsOf = (answer: string, nonce: string | undefined): readonly Json[] => {
  const { text } = withoutThinking(answer, 'structured-edit', nonce);
  const read = readJson(findJsonMarker(text, nonce).body);
  if (read.kind !== 'value' || !isJsonObject(read.value)) return [];
  const { operations } = read.value;
  return Array.isArray(operations) ? (operations as readonly Json[]) : [];
};

/** One answer with all operations, without nonce; `reason`: why there are none. */
export const joinOperations = (operations: readonly Json[], reason?: string): string =>
  JSON.stringify({ operations, reason, complete: true });

// An answer that asks to be shown more of a file instead of editing it:
//   { "needs_lines": { "file_path": "...", "ranges": [[120, 180]], "symbols": ["Class.method"] }, "complete": true, "nonce": "..." }
// `file_path` may be left out where one file is offered. Ranges are 1-based, both ends included; symbols are found in the syntax tree.
// Refused where the file is shown whole, or a symbol is not in it.

const KEYS = ['file_path', 'ranges', 'symbols'];

const bad = (message: string): Reading => invalid('bad_needs_lines', message);

/** Null: the object asks for nothing. */
export const readNeedsLines = (value: Json, context: FormatContext): Reading | null => {
  if (!isJsonObject(value) || value.needs_lines === undefined) return null;
  const { needs_lines: needs, operations } = value;
  if (operations !== undefined) return bad('Send `operations` or `needs_lines`, not both.');
  if (!isJsonObject(needs))
    return bad('`needs_lines` must be an object with `ranges` or `symbols`.');
  const unknown = keyBeside(needs, KEYS);
  if (unknown !== undefined)
    return bad(`\`needs_lines\` has the unknown key ${unknown}; known are ${KEYS.join(', ')}.`);
  const ranges = rangesOf(needs.ranges ?? []);
  const symbols = stringsOf(needs.symbols ?? []);
  if (ranges === null || symbols === null || ranges.length + symbols.length === 0)
    return bad(
      '`needs_lines` needs `ranges`, pairs of line numbers like [[120, 180]], or `symbols`, names.',
    );
  const [only, ...others] = context.files.keys();
  const named = needs.file_path ?? (others.length === 0 ? only : null);
  if (typeof named !== 'string')
    return bad('`needs_lines` needs `file_path`: several files are offered.');
  const found = lookUp(named, context, 0);
  if (!found.ok) return { kind: 'refused', reasons: [found.reason] };
  return wanted(found.path, context, ranges, symbols);
};

const wanted = (
  path: string,
  { files, options }: FormatContext,
  ranges: readonly LineRange[],
  symbols: readonly string[],
): Reading => {
  const refused = (code: string, message: string): Reading => ({
    kind: 'refused',
    reasons: [{ code, path, message }],
  });
  const file = files.get(path);
  if (file?.text == null || file.seen === undefined)
    return refused('all_lines_shown', `All of ${path} is shown. Send the operations.`);
  const index = indexOf(file.text);
  const outline = symbols.length === 0 ? null : (options.syntax?.outline(path, index.all) ?? null);
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
  let left: number = NEEDS_LINES_LINES;
  return ranges.flatMap(([from, to]): LineRange[] => {
    const end = Math.min(to, from + left - 1);
    left -= end - from + 1;
    return end < from ? [] : [[from, end]];
  });
};

const rangesOf = (value: Json): LineRange[] | null => {
  if (!Array.isArray(value)) return null;
  const ranges: LineRange[] = [];
  for (const item of value as readonly Json[]) {
    const [from, to] = Array.isArray(item) ? (item as readonly Json[]) : [];
    if (typeof from !== 'number' || typeof to !== 'number' || from < 1 || to < from) return null;
    ranges.push([Math.floor(from), Math.floor(to)]);
  }
  return ranges;
};

const stringsOf = (value: Json): string[] | null => {
  if (!Array.isArray(value)) return null;
  const strings = (value as readonly Json[]).filter(
    (item): item is string => typeof item === 'string' && item !== '',
  );
  return strings.length === value.length ? strings : null;
};
