/** An unclean merge in words: each place with what both sides say there, as far as it fits a message. */
import { decodeFile } from '../edits/index.js';
import { indexOf, type LineIndex } from '../edits/lines.js';
import { MODEL_BOUNDS } from '../shared/bounds.js';
import type { ConflictRegion, LineRegion } from '../workspace/rebase.js';

/** `now`: the file as it is; `proposed`: as the proposal wants it. */
export const conflictWords = (regions: readonly ConflictRegion[], now: Uint8Array, proposed: Uint8Array): string => {
  const [ours, theirs] = [indexOfBytes(now), indexOfBytes(proposed)];
  const places = regions
    .slice(0, MODEL_BOUNDS.conflictPlaces)
    .map(
      (region) =>
        `lines ${linesIn(region.ours)} of the file now and lines ${linesIn(region.theirs)} of the proposal change the same place ` +
        `(now: ${said(ours, region.ours)}; proposal: ${said(theirs, region.theirs)})`,
    );
  const more = regions.length - places.length;
  return [...places, ...(more > 0 ? [`and ${more} more places`] : [])].join('; ');
};

const linesIn = ({ first, count }: LineRegion): string => `${first} to ${first + Math.max(0, count - 1)}`;

const indexOfBytes = (bytes: Uint8Array): LineIndex | null => {
  const decoded = decodeFile(bytes);
  return decoded.ok ? indexOf(decoded.text) : null;
};

const said = (index: LineIndex | null, { first, count }: LineRegion): string => {
  if (index === null) return 'no text';
  if (count === 0) return 'nothing';
  const shown = index.range(first - 1, first - 1 + Math.min(count, MODEL_BOUNDS.conflictLines));
  const texts = shown.map((line) => JSON.stringify(line.slice(0, MODEL_BOUNDS.conflictLine_chars)));
  return [...texts, ...(count > shown.length ? [`and ${count - shown.length} more`] : [])].join(', ');
};
