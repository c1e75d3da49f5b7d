/** Which of many lines stands where in a file: a table of hashes over bytes, and a comparison where one hits. */
import type { Buffer } from 'node:buffer';

const FINDER_CHAIN = 8; // bound: Lines of one hash; more of them are no accident, and strings tell them apart at a known cost.

export const LF = 10;
export const CR = 13;

/** Four bytes at a time; only equality matters. */
const hash = (view: DataView, from: number, to: number): number => {
  let h = to - from;
  let at = from;
  for (; at + 4 <= to; at += 4) {
    h = Math.imul(h ^ view.getInt32(at, true), 0x9e3779b1);
    h ^= h >>> 15;
  }
  for (; at < to; at += 1) h = Math.imul(h ^ view.getUint8(at), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  return h ^ (h >>> 13);
};
const markOf = (hashed: number, mask: number): number => (hashed & (2 * mask + 1)) >>> 3;
const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Lines one after the other, each ended by LF; `ids` in their order. */
export interface WantedBytes {
  readonly bytes: Buffer;
  readonly ids: readonly number[];
}

/**
 * Visits the wanted ones of the lines of `text` that begin at `starts` (and behind the last). `stop` ends a line; before LF a CR belongs to
 * the end. False: too many of the wanted lines share a hash, nothing is visited.
 */
export const findLines = (
  { bytes, ids }: WantedBytes,
  {
    text,
    starts,
    stop,
  }: { readonly text: Buffer; readonly starts: Uint32Array; readonly stop: number },
  visit: (id: number, at: number) => void,
): boolean => {
  // Where each wanted line begins, and one behind the last's end.
  const begins = new Uint32Array(ids.length + 1);
  for (let i = 0; i < ids.length; i += 1) begins[i + 1] = bytes.indexOf(LF, begins[i]) + 1;
  let size = 1024;
  while (size < ids.length * 4) size *= 2;
  const mask = size - 1;
  // A bit for each of twice as many hashes as `heads` has: small enough to stay in the processor's cache, it answers for most lines.
  const marks = new Uint8Array(size / 4);
  // The first wanted line by hash, -1 for none; then along `next`.
  const heads = new Int32Array(size).fill(-1);
  const next = new Int32Array(ids.length).fill(-1);

  const wanted = viewOf(bytes);
  for (let i = 0; i < ids.length; i += 1) {
    const hashed = hash(wanted, begins[i] ?? 0, (begins[i + 1] ?? 0) - 1);
    const slot = hashed & mask;
    const place = markOf(hashed, mask);
    marks[place] = (marks[place] ?? 0) | (1 << (hashed & 7));
    let length = 1;
    for (let at = heads[slot] ?? -1; at >= 0; at = next[at] ?? -1) length += 1;
    if (length > FINDER_CHAIN) return false;
    next[i] = heads[slot] ?? -1;
    heads[slot] = i;
  }

  const view = viewOf(text);
  for (let line = 0; line + 1 < starts.length; line += 1) {
    const from = starts[line] ?? 0;
    let to = starts[line + 1] ?? 0;
    if (to > from && text[to - 1] === stop) {
      to -= 1;
      if (stop === LF && to > from && text[to - 1] === CR) to -= 1;
    }
    const hashed = hash(view, from, to);
    if ((((marks[markOf(hashed, mask)] ?? 0) >> (hashed & 7)) & 1) === 0) continue;
    for (let at = heads[hashed & mask] ?? -1; at >= 0; at = next[at] ?? -1) {
      const [start, end] = [begins[at] ?? 0, (begins[at + 1] ?? 0) - 1];
      if (end - start !== to - from || bytes.compare(text, from, to, start, end) !== 0) continue;
      visit(ids[at] ?? -1, line);
      break;
    }
  }
  return true;
};
