/**
 * Bytes to lines and back. A file is decoded once; what an edit does not touch is never encoded again, so any encoding survives.
 *
 * UTF-8 (with or without BOM) and UTF-16 with BOM are read as such. Everything else is read byte for byte: each byte is the
 * character of its number, and only ASCII may be added, unless configuration names a single-byte encoding. NUL outside UTF-16
 * means binary.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { type Problem, problem } from '../../shared/problems.js';
import { type ByteEncoding, ByteText, isWellFormed, MAX_INDEXED_BYTES } from './byte-text.js';
import { indexOf, type LineIndex, type EolKind, splitLines, type Text } from './lines.js';

/** A character that the file's encoding cannot hold, or that must not be added. */
export interface Unholdable {
  /** `U+2019`, with a readable form where it has one. */
  readonly name: string;
  /** 0-based line of the lines given, 1-based column in characters. */
  readonly line: number;
  readonly column: number;
}

/** How a file's text becomes bytes again. */
export interface Codec {
  /** `utf-8`, `utf-16le`, `utf-16be`, `bytes` (byte for byte) or the configured name. */
  readonly encoding: string;
  /** The byte order mark as it stands in the file; empty where there is none. */
  readonly bom: Uint8Array;
  /** Bytes of text that `firstUnholdable` passed; without the BOM. */
  encode(text: string): Uint8Array;
  /** Number of bytes that `encode(text)` has. */
  size(text: string): number;
  /** May this character (one code point) be added to the file? */
  holds(character: string): boolean;
}

/** A file as splices are made of it. */
export interface SpliceBase {
  readonly bytes: Uint8Array;
  readonly text: Text;
  readonly codec: Codec;
}
export type Decoded =
  | ({ readonly ok: true } & SpliceBase)
  | { readonly ok: false; readonly problem: Problem };

const NONE = new Uint8Array(0);
/** NUL means binary, and half of a surrogate pair has no bytes. */
const isText = (c: string): boolean => c !== '\0' && (c.length > 1 || c < '\ud800' || c > '\udfff');

const utf8 = (bom: Uint8Array): Codec => ({
  encoding: 'utf-8',
  bom,
  encode: (text) => Buffer.from(text, 'utf8'),
  size: (text) => Buffer.byteLength(text, 'utf8'),
  holds: isText,
});

const utf16 = (bom: Uint8Array, littleEndian: boolean): Codec => ({
  encoding: littleEndian ? 'utf-16le' : 'utf-16be',
  bom,
  encode: (text) => {
    const bytes = Buffer.from(text, 'utf16le');
    return littleEndian ? bytes : bytes.swap16();
  },
  size: (text) => text.length * 2,
  holds: isText,
});

const byteForByte: Codec = {
  encoding: 'bytes',
  bom: NONE,
  encode: (text) => Buffer.from(text, 'latin1'),
  size: (text) => text.length,
  holds: (c) => c !== '\0' && c <= '\x7f',
};

/** A single-byte encoding by its WHATWG name, or null where the name is unknown or not single-byte. */
const singleByte = (
  name: string,
): { codec: Codec; decode: (bytes: Uint8Array) => string } | null => {
  let decoder: InstanceType<typeof TextDecoder>;
  try {
    decoder = new TextDecoder(name);
  } catch {
    return null;
  }
  const all = Uint8Array.from({ length: 256 }, (_, i) => i);
  // `stream` keeps Node 20 off its fast path, which reads windows-1252 as if it were ISO-8859-1.
  const table = Array.from(decoder.decode(all, { stream: true }));
  const byteOf = new Map(table.map((c, i) => [c, i]));
  if (table.length !== 256 || byteOf.size !== 256) return null;
  const codec: Codec = {
    encoding: decoder.encoding,
    bom: NONE,
    encode: (text) => Uint8Array.from(text, (c) => byteOf.get(c) ?? 0x3f),
    size: (text) => text.length,
    holds: (c) => c !== '\0' && byteOf.has(c),
  };
  return { codec, decode: (bytes) => Array.from(bytes, (byte) => table[byte] ?? '').join('') };
};

const startsWith = (bytes: Uint8Array, ...prefix: number[]): boolean =>
  prefix.every((b, i) => bytes[i] === b);

/** Splits a piece of an answer: LF and CRLF both end a line; the last line's end is optional. `''` is no line, `'\n'` one empty line. */
export const answerLines = (text: string): readonly string[] => splitLines(text, '\n').lines;

/** The same, without a string for each line where bytes can stand for the text. */
export const answerIndex = (text: string): LineIndex =>
  indexOf(
    text.includes('\n') && isWellFormed(text)
      ? byteText(Buffer.from(text, 'utf8'), 0, 'utf8')
      : splitLines(text, '\n'),
  );

const byteText = (bytes: Uint8Array, from: number, encoding: ByteEncoding): Text =>
  bytes.length < MAX_INDEXED_BYTES
    ? ByteText.of(bytes, from, encoding)
    : splitLines(Buffer.from(bytes.subarray(from)).toString(encoding));

const cannotRead = (...why: Parameters<typeof problem>): Decoded => ({
  ok: false,
  problem: problem(...why),
});

/** The text codec of a file that does not exist yet. */
export const newFileCodec: Codec = utf8(NONE);

/**
 * Decodes a file. `encoding` (a single-byte encoding's name, from configuration) is used only where the bytes are neither UTF-8 nor
 * UTF-16 with BOM. Problems: `target_binary` (holds NUL), `config_invalid` (encoding unknown or not single-byte).
 */
export const decodeFile = (bytes: Uint8Array, encoding?: string): Decoded => {
  const decoded = (text: Text, codec: Codec): Decoded => ({ ok: true, bytes, text, codec });
  const even = bytes.length % 2 === 0;
  // FF FE 00 00 would be UTF-32, which falls to the check for NUL.
  const littleEndian = startsWith(bytes, 0xff, 0xfe) && !startsWith(bytes, 0xff, 0xfe, 0, 0);
  if (even && (littleEndian || startsWith(bytes, 0xfe, 0xff))) {
    const body = Buffer.from(bytes.buffer, bytes.byteOffset + 2, bytes.length - 2);
    const text = (littleEndian ? body : Buffer.from(body).swap16()).toString('utf16le');
    return decoded(splitLines(text), utf16(bytes.slice(0, 2), littleEndian));
  }
  const nul = bytes.indexOf(0);
  if (nul >= 0)
    return cannotRead('target_binary', `The file is binary: a NUL byte at offset ${nul}.`);
  const bom = startsWith(bytes, 0xef, 0xbb, 0xbf) ? bytes.slice(0, 3) : NONE;
  if (isUtf8(bytes)) return decoded(byteText(bytes, bom.length, 'utf8'), utf8(bom));
  if (encoding === undefined) return decoded(byteText(bytes, 0, 'latin1'), byteForByte);
  const named = singleByte(encoding);
  if (named === null)
    return cannotRead(
      'config_invalid',
      `The encoding "${encoding}" is unknown or has more than one byte a character.`,
    );
  return decoded(splitLines(named.decode(bytes)), named.codec);
};

/**
 * The first character of `added` that the file cannot take. In a file read byte for byte, a non-ASCII character is still good as
 * often as `spare` says: those stood in the lines that went away, so none is added.
 */
export const firstUnholdable = (
  codec: Codec,
  added: readonly string[],
  spare: Map<string, number>,
): Unholdable | null => {
  for (const [line, text] of added.entries()) {
    // eslint-disable-next-line no-control-regex -- plain ASCII without NUL, the common case, needs no closer look
    if (/^[\x01-\x7f]*$/.test(text)) continue;
    let column = 0;
    for (const character of text) {
      column += 1;
      if (codec.holds(character)) continue;
      const left = spare.get(character) ?? 0;
      if (left === 0) return { name: characterName(character), line, column };
      spare.set(character, left - 1);
    }
  }
  return null;
};

/** `U+2019`. */
export const characterCode = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** `U+2019 (’)`; control characters and lone surrogates without the second part. */
export const characterName = (character: string): string => {
  const code = characterCode(character);
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character) ? `${code} (${character})` : code;
};

/** What a file is as text. */
export interface FileDescription {
  readonly encoding: string;
  readonly bom: boolean;
  readonly eol: EolKind;
  readonly lines: number;
  readonly finalNewline: boolean;
  readonly binary: boolean;
}

/** What a snapshot says about a file. A binary file has no lines. */
export const describeFile = (bytes: Uint8Array, encoding?: string): FileDescription => {
  const decoded = decodeFile(bytes, encoding);
  if (!decoded.ok)
    return {
      encoding: 'binary',
      bom: false,
      eol: 'none',
      lines: 0,
      finalNewline: false,
      binary: true,
    };
  const { text, codec } = decoded;
  const index = indexOf(text);
  const { eol, length: lines } = index;
  const finalNewline = lines > 0 && index.end(lines - 1) !== '';
  return {
    encoding: codec.encoding,
    bom: codec.bom.length > 0,
    eol,
    lines,
    finalNewline,
    binary: false,
  };
};
