/** Splices as values: applied, undone, and joined. All lists are in order and do not overlap; costs are linear. */
import { Buffer } from 'node:buffer';
import type { Splice } from '../types.js';

const SHARED_BYTES = 64 * 1024; // bound: A smaller result is copied: node keeps small buffers together in one.

/** The bytes with every splice made. `likely` is returned itself where it holds just these, so that a large file has no second copy. */
export const applySplices = (bytes: Uint8Array, splices: readonly Splice[], likely?: Uint8Array): Uint8Array => {
  const length = splices.reduce((sum, { start, end, bytes: put }) => sum + put.length - (end - start), bytes.length);
  const shared = length >= SHARED_BYTES && likely?.length === length ? likely : null;
  const result = shared ?? new Uint8Array(length);
  let to = 0;
  for (const part of partsOf(bytes, splices)) {
    if (shared === null) result.set(part, to);
    else if (Buffer.compare(part, shared.subarray(to, to + part.length)) !== 0) return applySplices(bytes, splices);
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
    const undo = { start: start + shift, end: start + shift + bytes.length, bytes: base.slice(start, end) };
    shift += bytes.length - (end - start);
    return undo;
  });
};

/** New bytes, or a stretch that is kept (`from` the offset it has before). */
type Piece = Readonly<{ from: number; size: number; bytes?: Uint8Array }>;

/** One list with the effect of `first`, then `second` (whose offsets mean the bytes that `first` leaves). */
export const composeSplices = (first: readonly Splice[], second: readonly Splice[]): Splice[] => {
  const middle = piecesOf(first);
  const joined: Piece[] = [];
  let at = 0;
  let next = 0;
  /** Moves on through the middle text up to `offset`, keeping or dropping what lies there. */
  const pass = (offset: number, keep: boolean): void => {
    while (at < offset) {
      const piece = middle[next];
      if (piece === undefined) throw new RangeError('a splice is past the end');
      const size = Math.min(piece.size, offset - at);
      if (keep) joined.push(cut(piece, 0, size));
      if (size === piece.size) next += 1;
      else middle[next] = cut(piece, size, piece.size);
      at += size;
    }
  };
  for (const { start, end, bytes } of second) {
    pass(start, true);
    pass(end, false);
    joined.push({ from: 0, bytes, size: bytes.length });
  }
  joined.push(...middle.slice(next));
  return toSplices(joined);
};

const cut = ({ from, bytes }: Piece, first: number, end: number): Piece => {
  const size = end - first;
  return bytes === undefined ? { from: from + first, size } : { from, bytes: bytes.subarray(first, end), size };
};

/** The whole result as pieces; the last one is open-ended. */
const piecesOf = (splices: readonly Splice[]): Piece[] => {
  const pieces: Piece[] = [];
  let at = 0;
  for (const { start, end, bytes } of splices) {
    if (start > at) pieces.push({ from: at, size: start - at });
    if (bytes.length > 0) pieces.push({ from: 0, bytes, size: bytes.length });
    at = end;
  }
  return [...pieces, { from: at, size: Infinity }];
};

const toSplices = (pieces: readonly Piece[]): Splice[] => {
  const splices: Splice[] = [];
  let at = 0;
  let fresh: Uint8Array[] = [];
  const flush = (end: number): void => {
    if (end > at || fresh.some((bytes) => bytes.length > 0))
      splices.push({ start: at, end, bytes: new Uint8Array(Buffer.concat(fresh)) });
    fresh = [];
  };
  for (const piece of pieces) {
    if (piece.bytes !== undefined) fresh.push(piece.bytes);
    else {
      flush(piece.from);
      at = piece.from + piece.size;
    }
  }
  return splices;
};
