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
/** The byte of the marks in which the bit of a hash stands. */
const markOf = (hashed: number, mask: number): number => (hashed & (2 * mask + 1)) >>> 3;
const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Lines one after the other, each ended by LF; `ids` in their order. */
export interface WantedBytes {
  readonly bytes: Buffer;
  readonly ids: readonly number[];
}

export class LineFinder {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #ids: readonly number[];
  /** Where each wanted line begins, and one behind the last's end. */
  readonly #starts: Uint32Array;
  readonly #mask: number;
  /** A bit for each of twice as many hashes as `#heads` has: small enough to stay in the processor's cache, it answers for most lines. */
  readonly #marks: Uint8Array;
  /** The first wanted line by hash, -1 for none; then along `#next`. */
  readonly #heads: Int32Array;
  readonly #next: Int32Array;

  private constructor({ bytes, ids }: WantedBytes) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    this.#ids = ids;
    this.#starts = new Uint32Array(ids.length + 1);
    for (let i = 0; i < ids.length; i += 1) this.#starts[i + 1] = bytes.indexOf(LF, this.#starts[i]) + 1;
    let size = 1024;
    while (size < ids.length * 4) size *= 2;
    this.#mask = size - 1;
    this.#marks = new Uint8Array(size / 4);
    this.#heads = new Int32Array(size).fill(-1);
    this.#next = new Int32Array(ids.length).fill(-1);
  }

  /** Null: too many of the lines share a hash. */
  static of(wanted: WantedBytes): LineFinder | null {
    const finder = new LineFinder(wanted);
    return finder.#fill() ? finder : null;
  }

  #fill(): boolean {
    for (let i = 0; i < this.#ids.length; i += 1) {
      const hashed = hash(this.#view, this.#starts[i] ?? 0, (this.#starts[i + 1] ?? 0) - 1);
      const slot = hashed & this.#mask;
      const place = markOf(hashed, this.#mask);
      this.#marks[place] = (this.#marks[place] ?? 0) | (1 << (hashed & 7));
      let length = 1;
      for (let at = this.#heads[slot] ?? -1; at >= 0; at = this.#next[at] ?? -1) length += 1;
      if (length > FINDER_CHAIN) return false;
      this.#next[i] = this.#heads[slot] ?? -1;
      this.#heads[slot] = i;
    }
    return true;
  }

  /** Visits the wanted ones of the lines that begin at `starts` (and behind the last). `stop` ends a line; before LF a CR belongs to the end. */
  findAll(bytes: Buffer, starts: Uint32Array, stop: number, visit: (id: number, at: number) => void): void {
    const view = viewOf(bytes);
    const [heads, marks, mask] = [this.#heads, this.#marks, this.#mask];
    for (let line = 0; line + 1 < starts.length; line += 1) {
      const from = starts[line] ?? 0;
      let to = starts[line + 1] ?? 0;
      if (to > from && bytes[to - 1] === stop) {
        to -= 1;
        if (stop === LF && to > from && bytes[to - 1] === CR) to -= 1;
      }
      const hashed = hash(view, from, to);
      if ((((marks[markOf(hashed, mask)] ?? 0) >> (hashed & 7)) & 1) === 0) continue;
      const first = heads[hashed & mask] ?? -1;
      const id = this.#at(first, bytes, from, to);
      if (id >= 0) visit(id, line);
    }
  }

  #at(first: number, bytes: Buffer, from: number, to: number): number {
    for (let at = first; at >= 0; at = this.#next[at] ?? -1) {
      const start = this.#starts[at] ?? 0;
      const length = (this.#starts[at + 1] ?? 0) - 1 - start;
      if (length !== to - from) continue;
      let i = 0;
      while (i < length && this.#bytes[start + i] === bytes[from + i]) i += 1;
      if (i === length) return this.#ids[at] ?? -1;
    }
    return -1;
  }
}
