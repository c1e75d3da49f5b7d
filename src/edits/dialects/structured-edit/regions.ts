/**
 * A file edited in regions: each call may change the lines of one region only, all numbers mean the file as it was, and what the calls
 * say is applied as one answer. An insert at a border belongs to the region behind it.
 */
import type { LineRange } from '../../listing.js';
import { isJsonObject, type Json, readJson } from '../../text/json.js';
import { findJsonMarker } from '../../marker.js';
import { withoutThinking } from '../../thinking/index.js';

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
