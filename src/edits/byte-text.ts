/**
 * The text of a file in which every line end is one byte LF or CR, or CRLF: one number a line, its offset. Lines become strings when they
 * are asked for. UTF-8 and files that are read byte for byte are such files; UTF-16 is not.
 */
import { Buffer } from 'node:buffer';
import { LineFinder } from './byte-finder.js';
import type { LineIndex } from './lines.js';
import { type EolKind, splitLines } from './split-lines.js';
import type { Text } from './types.js';

const LF = 10;
const CR = 13;
/** Offsets are 32-bit numbers. */
export const MAX_INDEXED_BYTES = 2 ** 31;

/** `utf8`: the bytes are known to be valid UTF-8. `latin1`: each byte is the character of its number. */
export type ByteEncoding = 'utf8' | 'latin1';

export class ByteText implements Text, LineIndex {
  readonly length: number;
  readonly eol: EolKind;
  readonly #bytes: Buffer;
  readonly #encoding: ByteEncoding;
  /** Offset of each line, then that behind the last. */
  readonly #starts: Uint32Array;
  readonly #end: string;
  #split: Text | null = null;

  /** `from`: where the text begins, behind the byte order mark. */
  constructor(bytes: Uint8Array, from: number, encoding: ByteEncoding) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#encoding = encoding;
    const stop = this.#bytes.includes(LF, from) ? LF : CR;
    const { starts, lines, returned } = scan(this.#bytes, from, stop);
    this.#starts = starts;
    this.length = lines;
    const ended = lines > 0 && this.#bytes[this.#bytes.length - 1] === stop ? lines : lines - 1;
    this.eol = ended <= 0 ? 'none' : stop === CR ? 'cr' : returned === 0 ? 'lf' : returned === ended ? 'crlf' : 'mixed';
    this.#end = stop === CR ? '\r' : '\n';
  }

  get index(): LineIndex {
    return this;
  }
  get lines(): readonly string[] {
    return this.#strings().lines;
  }
  get ends(): readonly string[] {
    return this.#strings().ends;
  }
  get all(): readonly string[] {
    return this.lines;
  }
  #strings(): Text {
    return (this.#split ??= splitLines(this.#bytes.toString(this.#encoding, this.#starts[0] ?? 0)));
  }

  /** At most three bytes a character, a CRLF is one. */
  get leastChars(): number {
    return Math.floor((this.#bytes.length - this.start(0)) / 3);
  }

  /** Offset of line `at` in the file; of `length`: behind the text. */
  start(at: number): number {
    return this.#starts[at] ?? this.#bytes.length;
  }
  line(at: number): string | undefined {
    if (at < 0 || at >= this.length) return undefined;
    const start = this.#starts[at] ?? 0;
    return this.#bytes.toString(this.#encoding, start, this.textEnd(at));
  }
  is(at: number, text: string): boolean {
    if (at < 0 || at >= this.length) return false;
    const start = this.start(at);
    if (text.length > this.textEnd(at) - start) return false;
    for (let i = 0; i < text.length; i += 1) {
      const unit = text.charCodeAt(i);
      if (unit >= 0x80) return this.line(at) === text;
      if (unit !== this.#bytes[start + i]) return false;
    }
    return text.length === this.textEnd(at) - start;
  }
  isBlank(at: number): boolean {
    if (at < 0 || at >= this.length) return true;
    const end = this.textEnd(at);
    for (let i = this.start(at); i < end; i += 1) {
      const byte = this.#bytes[i] ?? 0;
      if (byte >= 0x80) return this.line(at)?.trim() === '';
      if (byte !== 0x20 && (byte < 9 || byte > 13)) return false;
    }
    return true;
  }
  /** Offset behind the text of line `at`, before its end. */
  textEnd(at: number): number {
    return this.start(at + 1) - this.end(at).length;
  }
  end(at: number): string {
    if (at < 0 || at >= this.length) return '';
    // No look at the bytes, which lie far apart.
    if (this.eol !== 'mixed' && at < this.length - 1) return this.eol === 'crlf' ? '\r\n' : this.#end;
    const [start, end] = [this.start(at), this.start(at + 1)];
    const last = this.#bytes[end - 1];
    if (at === this.length - 1 && last !== this.#end.charCodeAt(0)) return '';
    return this.#end === '\n' && end - 2 >= start && this.#bytes[end - 2] === CR ? '\r\n' : this.#end;
  }
  range(from: number, to: number): string[] {
    const lines: string[] = [];
    for (let at = Math.max(0, from); at < Math.min(to, this.length); at += 1) lines.push(this.line(at) ?? '');
    return lines;
  }
  includes(part: string): boolean {
    const sought = this.#encode(part);
    return sought !== null && this.#bytes.includes(sought, this.#starts[0] ?? 0);
  }
  begins(part: string): boolean {
    const sought = this.#encode(part);
    if (sought === null || this.length === 0) return false;
    const first = this.start(0);
    const stop = this.#end.charCodeAt(0);
    for (let at = this.#bytes.indexOf(sought, first); at >= 0; at = this.#bytes.indexOf(sought, at + 1))
      if (at === first || this.#bytes[at - 1] === stop) return true;
    return false;
  }
  findAll(texts: ReadonlyMap<string, number>): Int32Array | null {
    // No line holds a line end, or a character that the encoding has not.
    let joined = '';
    let ids: number[] = [];
    for (const [text, id] of texts) {
      if (text.includes('\n')) continue;
      joined += `${text}\n`;
      ids.push(id);
    }
    if (this.#encode(joined) === null) {
      const held = [...texts].filter(([text]) => !text.includes('\n') && this.#encode(text) !== null);
      joined = held.map(([text]) => `${text}\n`).join('');
      ids = held.map(([, id]) => id);
    }
    const finder = LineFinder.of({ bytes: Buffer.from(joined, this.#encoding), ids });
    return finder?.findAll(this.#bytes, this.#starts, this.length, this.#end === '\n' ? LF : CR) ?? null;
  }

  /** Null: no line of this file can hold it. */
  #encode(text: string): Buffer | null {
    // eslint-disable-next-line no-control-regex -- all characters of one byte
    if (this.#encoding === 'latin1') return /^[\x00-\xff]*$/.test(text) ? Buffer.from(text, 'latin1') : null;
    return /\p{Surrogate}/u.test(text) ? null : Buffer.from(text, 'utf8');
  }
}

/** Offsets of the lines and that behind the last, and of how many the end is CRLF. */
const scan = (
  bytes: Buffer,
  from: number,
  stop: number,
): { readonly starts: Uint32Array; readonly lines: number; readonly returned: number } => {
  const { length } = bytes;
  if (from >= length) return { starts: Uint32Array.of(from), lines: 0, returned: 0 };
  let starts = new Uint32Array(1024 + Math.ceil((length - from) / 24));
  starts[0] = from;
  let count = 1;
  let returned = 0;
  let line = from;
  // Faster than a loop over the bytes, from a few bytes a line on.
  for (let at = bytes.indexOf(stop, from); at >= 0; at = bytes.indexOf(stop, line)) {
    if (stop === LF && at > line && bytes[at - 1] === CR) returned += 1;
    line = at + 1;
    if (count + 1 >= starts.length) starts = grown(starts);
    starts[count] = line;
    count += 1;
  }
  if (line === length) return { starts: starts.subarray(0, count), lines: count - 1, returned };
  starts[count] = length;
  return { starts: starts.subarray(0, count + 1), lines: count, returned };
};

const grown = (starts: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> => {
  const more = new Uint32Array(starts.length * 2);
  more.set(starts);
  return more;
};
