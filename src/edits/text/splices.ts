/** Splices as values: applied and undone. All lists are in order and do not overlap; costs are linear. */
import { Buffer } from 'node:buffer';
import type { Splice } from '../types.js';

const SHARED_BYTES = 64 * 1024; // bound: A smaller result is copied: node keeps small buffers together in one.

/** The bytes with every splice made. `likely` is returned itself where it holds just these, so that a large file has no second copy. */
export const applySplices = (
  bytes: Uint8Array,
  splices: readonly Splice[],
  likely?: Uint8Array,
): Uint8Array => {
  const length = splices.reduce(
    (sum, { start, end, bytes: put }) => sum + put.length - (end - start),
    bytes.length,
  );
  const shared = length >= SHARED_BYTES && likely?.length === length ? likely : null;
  const result = shared ?? new Uint8Array(length);
  let to = 0;
  for (const part of partsOf(bytes, splices)) {
    if (shared === null) result.set(part, to);
    else if (Buffer.compare(part, shared.subarray(to, to + part.length)) !== 0)
      return applySplices(bytes, splices);
    to += part.length;
  }
  return result;
};

function* partsOf(bytes: Uint8Array, splices: readonly Splice[]): Generator<Uint8Array> {
  let from = 0;
  for (const { start, end, bytes: put } of splices) {
    yield bytes.subarray(from, start);
    yield put;
    from = end;
  }
  yield bytes.subarray(from);
}

/** The splices that undo `splices`: applied to the result they give `base` again. */
export const invertSplices = (base: Uint8Array, splices: readonly Splice[]): Splice[] => {
  let shift = 0;
  return splices.map(({ start, end, bytes }) => {
    const undo = {
      start: start + shift,
      end: start + shift + bytes.length,
      bytes: base.slice(start, end),
    };
    shift += bytes.length - (end - start);
    return undo;
  });
};
