/**
 * The one place where result lines become bytes, so that the same edit said in any format gives the same bytes:
 * 1. Lines that the result keeps from the base keep the base's bytes. In a file with mixed line ends one whole-file diff decides which
 *    those are, whatever the format knew, because there the choice shows in the bytes.
 * 2. A new line takes the ending of the line before it, else after it; where no line is kept the base's first, else LF (a new
 *    file: `newFileEol`).
 * 3. The result ends with a line end exactly if the base did; a new or empty file does. A diff's `\ No newline` changes that, and the
 *    job's `final_newline` goes before both.
 * 4. The byte order mark stays where it is.
 * 5. A character that the file's encoding cannot hold is refused by name and place.
 */
import { Buffer } from 'node:buffer';
import { lineOrigins } from './diff-lines.js';
import { applySplices } from './splices.js';
import type { Codec } from './text.js';
import { eolKind, firstUnholdable, newFileCodec } from './text.js';
import type { FilePlan, Reason, Splice, Text } from './types.js';

export type LinesPlan = Extract<FilePlan, { kind: 'lines' }>;

export interface SettleBase {
  readonly bytes: Uint8Array;
  readonly text: Text;
  readonly codec: Codec;
}
export interface SettleOptions {
  readonly finalNewline?: boolean;
  readonly newFileEol?: '\n' | '\r\n';
}
export type Settled =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly splices: readonly Splice[] }
  | { readonly ok: false; readonly reasons: readonly Reason[] };

const NEW_FILE: SettleBase = { bytes: new Uint8Array(0), text: { lines: [], ends: [] }, codec: newFileCodec };

/** `base` null: the file does not exist yet. Reasons: `character`, `stray_cr`, `byte_order_mark`. */
export const settle = (base: SettleBase | null, plan: LinesPlan, options: SettleOptions = {}): Settled => {
  const from = base ?? NEW_FILE;
  const lines = withoutOwnBom(plan.lines, from);
  const origins = usable(plan.origins, lines, from.text) ?? lineOrigins(from.text.lines, lines);
  const ends = lineEnds(lines, origins, from.text, {
    final: options.finalNewline ?? plan.finalNewline ?? endsWithNewline(from.text),
    fallback:
      from.text.lines.length === 0 ? (options.newFileEol ?? '\n') : (from.text.ends.find((e) => e !== '') ?? '\n'),
  });
  const reasons = refusals(plan.path, base, lines, origins, ends);
  if (reasons.length > 0) return { ok: false, reasons };
  const splices = makeSplices(from, lines, origins, ends);
  return { ok: true, bytes: applySplices(from.bytes, splices), splices };
};

const endsWithNewline = (text: Text): boolean => text.lines.length === 0 || text.ends.at(-1) !== '';

/** An answer that quotes the byte order mark means the one that is there. */
const withoutOwnBom = (lines: readonly string[], base: SettleBase): readonly string[] => {
  const [first, ...rest] = lines;
  const quoted = first?.startsWith('\ufeff') === true && base.codec.bom.length > 0;
  return quoted && base.text.lines[0]?.startsWith('\ufeff') !== true ? [first.slice(1), ...rest] : lines;
};

/** The format's own origins where they are sound and cannot change a byte; null: a diff decides. */
const usable = (
  origins: readonly number[] | undefined,
  lines: readonly string[],
  text: Text,
): readonly number[] | null => {
  if (origins?.length !== lines.length || eolKind(text) === 'mixed') return null;
  let last = -1;
  for (const [i, o] of origins.entries()) {
    if (o < 0) continue;
    if (o <= last || text.lines[o] !== lines[i]) return null;
    last = o;
  }
  return origins;
};

const lineEnds = (
  lines: readonly string[],
  origins: readonly number[],
  text: Text,
  { final, fallback }: { final: boolean; fallback: string },
): string[] => {
  const own = origins.map((o) => (o >= 0 ? (text.ends[o] ?? '') : ''));
  const ends: string[] = [];
  let before = own.find((end) => end !== '') ?? fallback;
  for (const [i, end] of own.entries()) {
    const last = i === lines.length - 1;
    if (end !== '') before = end;
    ends.push(last && !final ? '' : before);
  }
  return ends;
};

const refusals = (
  path: string,
  base: SettleBase | null,
  lines: readonly string[],
  origins: readonly number[],
  ends: readonly string[],
): Reason[] => {
  const { text, codec } = base ?? NEW_FILE;
  const added: string[] = [];
  const places: number[] = [];
  for (const [i, line] of lines.entries())
    if ((origins[i] ?? -1) < 0) {
      added.push(line);
      places.push(i);
    }
  const line = (n: number): string => `line ${(places[n] ?? 0) + 1} of the result`;
  const reasons: Reason[] = [];
  const carriage = added.findIndex((l, n) => {
    const end = ends[places[n] ?? 0];
    return end === '\r' ? l.includes('\r') : end === '\n' && l.endsWith('\r');
  });
  if (carriage >= 0)
    reasons.push({
      code: 'stray_cr',
      path,
      message: `The new text of ${line(carriage)} holds a carriage return that this file would read as a line end. Send the line without it.`,
    });
  if (base !== null && places[0] === 0 && added[0]?.startsWith('\ufeff') === true)
    reasons.push({
      code: 'byte_order_mark',
      path,
      message: `The new first line begins with a byte order mark (U+FEFF), which ${path} does not have there. Send the line without it.`,
    });
  const bad = firstUnholdable(codec, added, spareCharacters(codec, text, origins));
  if (bad !== null)
    reasons.push({
      code: 'character',
      path,
      message: `${path} is ${codec.encoding === 'bytes' ? 'neither UTF-8 nor UTF-16, so only ASCII may be added' : `encoded as ${codec.encoding}`}; it cannot take the character ${bad.name} at ${line(bad.line)}, column ${bad.column}. Send other text there.`,
    });
  return reasons;
};

/** Characters, not to be added, of base lines that the result does not keep: a changed line may say them again. */
const spareCharacters = (codec: Codec, text: Text, origins: readonly number[]): Map<string, number> => {
  const spare = new Map<string, number>();
  if (codec.encoding === 'utf-8') return spare;
  const kept = new Set(origins);
  for (const [i, line] of text.lines.entries()) {
    if (kept.has(i)) continue;
    for (const c of line) if (!codec.holds(c)) spare.set(c, (spare.get(c) ?? 0) + 1);
  }
  return spare;
};

const makeSplices = (
  base: SettleBase,
  lines: readonly string[],
  origins: readonly number[],
  ends: readonly string[],
): Splice[] => {
  const { text, codec } = base;
  const splices: Splice[] = [];
  let next = 0;
  let offset = codec.bom.length;
  let start = offset;
  let added: string[] = [];
  const flush = (): void => {
    const bytes = codec.encode(added.join(''));
    if (Buffer.compare(bytes, base.bytes.subarray(start, offset)) !== 0) splices.push({ start, end: offset, bytes });
    added = [];
    start = offset;
  };
  const dropUpTo = (line: number): void => {
    for (; next < line; next += 1) offset += codec.size((text.lines[next] ?? '') + (text.ends[next] ?? ''));
  };
  for (const [i, line] of lines.entries()) {
    const origin = origins[i] ?? -1;
    const end = ends[i] ?? '';
    if (origin < 0) {
      added.push(line, end);
      continue;
    }
    dropUpTo(origin);
    flush();
    offset += codec.size(line);
    start = offset;
    const baseEnd = text.ends[origin] ?? '';
    offset += codec.size(baseEnd);
    if (end === baseEnd) start = offset;
    else added.push(end);
    next = origin + 1;
  }
  dropUpTo(text.lines.length);
  flush();
  return splices;
};
