/**
 * The text of a file in which every line end is one byte LF or CR, or CRLF: one number a line, its offset. Lines become strings when they
 * are asked for. UTF-8 and files that are read byte for byte are such files; UTF-16 is not.
 */
import { Buffer } from 'node:buffer';
import { CR, findLines, LF } from './byte-finder.js';
import { type LineIndex, type EolKind, splitLines, type Text } from './lines.js';

/** Offsets are 32-bit numbers. */
export const MAX_INDEXED_BYTES = 2 ** 31;

/** Compared by one call. */
const COMPARED_BYTES = 512;

/** `utf8`: the bytes are known to be valid UTF-8. `latin1`: each byte is the character of its number. */
export type ByteEncoding = 'utf8' | 'latin1';

type Ending = readonly [end: '\n' | '\r', eol: EolKind];

export class ByteText implements Text, LineIndex {
  readonly length: number;
  readonly eol: EolKind;
  readonly #bytes: Buffer;
  readonly #encoding: ByteEncoding;
  /** Offset of each line, then that behind the last. */
  readonly #starts: Uint32Array;
  readonly #end: '\n' | '\r';
  #split: Text | null = null;

  /** `bytes`: up to the end of the text. */
  private constructor(
    bytes: Buffer,
    encoding: ByteEncoding,
    starts: Uint32Array,
    [end, eol]: Ending,
  ) {
    this.#bytes = bytes;
    this.#encoding = encoding;
    this.#starts = starts;
    this.length = starts.length - 1;
    this.#end = end;
    this.eol = eol;
  }

  /** `from`: where the text begins, behind the byte order mark. */
  static of(bytes: Uint8Array, from: number, encoding: ByteEncoding): ByteText {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const stop = buffer.includes(LF, from) ? LF : CR;
    const { starts, returned } = scanLines(buffer, from, stop);
    const lines = starts.length - 1;
    const ended = lines > 0 && buffer[buffer.length - 1] === stop ? lines : lines - 1;
    const eol =
      ended <= 0
        ? 'none'
        : stop === CR
          ? 'cr'
          : returned === 0
            ? 'lf'
            : returned === ended
              ? 'crlf'
              : 'mixed';
    return new ByteText(buffer, encoding, starts, [stop === CR ? '\r' : '\n', eol]);
  }

  /** Shares the bytes. A part of mixed line ends counts as mixed, whatever stands in it. */
  slice(from: number, to: number): ByteText {
    const eol = to - from > 1 || (to > from && this.end(from) !== '') ? this.eol : 'none';
    const bytes = this.#bytes.subarray(0, this.start(to));
    return new ByteText(bytes, this.#encoding, this.#starts.subarray(from, to + 1), [
      this.#end,
      eol,
    ]);
  }

  /** The text as it stands in the file. */
  get bytes(): Uint8Array {
    const start = this.start(0);
    return new Uint8Array(
      this.#bytes.buffer,
      this.#bytes.byteOffset + start,
      this.#bytes.length - start,
    );
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
    return (this.#split ??= splitLines(
      this.#bytes.toString(this.#encoding, this.#starts[0] ?? 0),
      this.#end,
    ));
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
  isLine(at: number, other: LineIndex, otherAt: number): boolean {
    if (!(other instanceof ByteText) || other.#encoding !== this.#encoding) {
      const line = other.line(otherAt);
      return line !== undefined && this.is(at, line);
    }
    if (at < 0 || otherAt < 0 || at >= this.length || otherAt >= other.length) return false;
    const [start, otherStart] = [this.start(at), other.start(otherAt)];
    const length = this.textEnd(at) - start;
    if (other.textEnd(otherAt) - otherStart !== length) return false;
    const [bytes, otherBytes] = [this.#bytes, other.#bytes];
    for (let i = 0; i < length; i += 1)
      if (bytes[start + i] !== otherBytes[otherStart + i]) return false;
    return true;
  }
  /** Whole lines, their ends too: all but the last of the equal bytes, which may go on in the other text. */
  surelySame(at: number, other: LineIndex, otherAt: number, most: number): number {
    if (!(other instanceof ByteText) || other.#encoding !== this.#encoding) return 0;
    if (other.eol !== this.eol || this.eol === 'mixed') return 0;
    const [start, otherStart] = [this.start(at), other.start(otherAt)];
    const bound = Math.min(this.start(at + most) - start, other.#bytes.length - otherStart);
    let same = 0;
    while (same + COMPARED_BYTES <= bound) {
      const [from, otherFrom] = [start + same, otherStart + same];
      if (
        this.#bytes.compare(
          other.#bytes,
          otherFrom,
          otherFrom + COMPARED_BYTES,
          from,
          from + COMPARED_BYTES,
        ) !== 0
      )
        break;
      same += COMPARED_BYTES;
    }
    let lines = 0;
    while (lines < most && lines < this.length - at && this.start(at + lines + 1) <= start + same)
      lines += 1;
    return Math.max(0, lines - 1);
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
    if (this.eol !== 'mixed' && at < this.length - 1)
      return this.eol === 'crlf' ? '\r\n' : this.#end;
    const [start, end] = [this.start(at), this.start(at + 1)];
    const last = this.#bytes[end - 1];
    if (at === this.length - 1 && last !== this.#end.charCodeAt(0)) return '';
    return this.#end === '\n' && end - 2 >= start && this.#bytes[end - 2] === CR
      ? '\r\n'
      : this.#end;
  }
  range(from: number, to: number): string[] {
    const [first, last] = [Math.max(0, from), Math.min(to, this.length) - 1];
    if (first > last) return [];
    // One call for all of them, many times faster than one for each.
    const text = this.#bytes.toString(this.#encoding, this.start(first), this.textEnd(last));
    const lines = text.split(this.eol === 'crlf' ? '\r\n' : this.#end);
    if (this.eol !== 'mixed') return lines;
    return lines.map((line, i) =>
      i < lines.length - 1 && line.endsWith('\r') ? line.slice(0, -1) : line,
    );
  }
  includes(part: string): boolean {
    return this.#holds(part) && this.#bytes.includes(part, this.#starts[0] ?? 0, this.#encoding);
  }
  findAll(texts: ReadonlyMap<string, number>, visit: (id: number, at: number) => void): boolean {
    // No line holds a line end, or a character that the encoding has not.
    const held = Array.from(texts.keys()).filter(
      (text) => !text.includes('\n') && this.#holds(text),
    );
    const ids = held.map((text) => texts.get(text) ?? -1);
    const wanted = { bytes: Buffer.from(`${held.join('\n')}\n`, this.#encoding), ids };
    return findLines(
      wanted,
      { text: this.#bytes, starts: this.#starts, stop: this.#end.charCodeAt(0) },
      visit,
    );
  }

  #holds(text: string): boolean {
    // eslint-disable-next-line no-control-regex -- all characters of one byte
    return this.#encoding === 'latin1' ? /^[\x00-\xff]*$/.test(text) : isWellFormed(text);
  }
}

/** Has UTF-8 a form for it: is no half of a surrogate pair alone? */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

/** Offsets of the lines and that behind the last, and of how many the end is CRLF. */
export const scanLines = (
  bytes: Uint8Array,
  from: number,
  stop: number,
): { readonly starts: Uint32Array; readonly returned: number } => {
  const { length } = bytes;
  if (from >= length) return { starts: Uint32Array.of(from), returned: 0 };
  let starts = new Uint32Array(1024 + Math.ceil((length - from) / 24));
  starts[0] = from;
  let count = 1;
  let returned = 0;
  let line = from;
  // Faster than a loop over the bytes, from a few bytes a line on.
  for (let at = bytes.indexOf(stop, from); at >= 0; at = bytes.indexOf(stop, line)) {
    if (stop === LF && at > line && bytes[at - 1] === CR) returned += 1;
    line = at + 1;
    if (count + 1 >= starts.length) {
      const fewer = starts;
      starts = new Uint32Array(fewer.length * 2);
      starts.set(fewer);
    }
    starts[count] = line;
    count += 1;
  }
  if (line === length) return { starts: starts.subarray(0, count), returned };
  starts[count] = length;
  return { starts: starts.subarray(0, count + 1), returned };
};
