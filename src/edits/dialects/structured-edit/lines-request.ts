/**
 * Reads a response that asks to be shown more of a file instead of editing it:
 *
 *   { "needs_lines": { "file_path": "...", "ranges": [[120, 180]], "symbols": ["Class.method"] }, "complete": true, "nonce": "..." }
 *
 * `file_path` may be left out if one file is offered. Ranges are 1-based, both ends included; symbols are found in the syntax tree.
 */
import type { LinesRequest } from '../../edit.js';
import type { LineRange } from '../../listing.js';
import { isJsonObject, type Json, keyBeside } from '../../text/json.js';
import type { Reading } from '../../types.js';
import { invalid } from '../reader.js';

const KEYS = ['file_path', 'ranges', 'symbols'];

const bad = (message: string): Reading => invalid('bad_needs_lines', message);

/** Null: the object asks for nothing. `only`: the path of the only offered file. */
export const readLinesRequest = (
  value: Json,
  only: string | null,
): LinesRequest | Reading | null => {
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
  const path = needs.file_path ?? only;
  if (typeof path !== 'string')
    return bad('`needs_lines` needs `file_path`: several files are offered.');
  return { path, ranges, symbols };
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
