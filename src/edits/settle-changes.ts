/** Changes get their line ends and become bytes: rules 2 to 5 of `settle.ts`. */
import type { Text } from './split-lines.js';
import { Buffer } from 'node:buffer';
import { ByteText } from './byte-text.js';
import type { Change } from './changes.js';
import type { LineIndex } from './lines.js';
import { type Codec, firstUnholdable } from './text.js';
import type { Reason, Splice } from './types.js';

export interface SettleBase {
  readonly bytes: Uint8Array;
  readonly text: Text;
  readonly codec: Codec;
}

/** A change with the end of each of its lines, and what it does to the end of the kept line before it. */
export interface ChangeBytes extends Change {
  readonly ends: readonly string[];
  /** The base's last line had no end and is followed now: the end that it gets. */
  readonly lead: string;
  /** The line before is the result's last now and loses its end. */
  readonly cut: boolean;
  /** 0-based result line of the first of `lines`. */
  readonly at: number;
}

interface EndRules {
  /** Does the result end with a line end? */
  readonly final: boolean;
  /** The end of new lines where no kept line has one. */
  readonly fallback: string;
}

export const withEnds = (
  changes: readonly Change[],
  index: LineIndex,
  { final, fallback }: EndRules,
): readonly ChangeBytes[] => {
  const count = index.length;
  const ended: ChangeBytes[] = [];
  let before = index.end(firstKept(changes)) || fallback;
  let next = 0;
  let shift = 0;
  for (const change of changes) {
    const { from, to, lines } = change;
    // Of the kept lines since the last change; only the base's last line may have no end.
    if (from > next) before = index.end(from - 1) || (from - 1 > next ? index.end(from - 2) : '') || before;
    const last = to === count;
    const ends = new Array<string>(lines.length).fill(before);
    if (last && !final && ends.length > 0) ends[ends.length - 1] = '';
    const kept = from > next ? index.end(from - 1) : null;
    // Named one by one here and in guards-view.ts: a spread of ten thousand objects costs as much as the rest of the pass.
    ended.push({
      from,
      to,
      lines,
      ends,
      lead: kept === '' && lines.length > 0 ? before : '',
      cut: last && !final && lines.length === 0 && kept !== null && kept !== '',
      at: from + shift,
    });
    next = to;
    shift += lines.length - (to - from);
  }
  const atEnd = lastEnd(next, count, index, final, before);
  return atEnd === null ? ended : [...ended, { ...atEnd, at: count + shift }];
};

/** The base's last line is the result's as well, and its end is not what is asked for. */
const lastEnd = (
  next: number,
  count: number,
  index: LineIndex,
  final: boolean,
  before: string,
): Omit<ChangeBytes, 'at'> | null => {
  if (next >= count) return null;
  const own = index.end(count - 1);
  if ((own !== '') === final) return null;
  const end = (count - 2 >= next ? index.end(count - 2) : '') || before;
  return { from: count, to: count, lines: [], ends: [], lead: final ? end : '', cut: !final };
};

const firstKept = (changes: readonly Change[]): number => {
  const [first] = changes;
  return first?.from === 0 ? first.to : 0;
};

/** Reasons: `stray_cr`, `byte_order_mark`, `character`. */
export const refusals = (
  path: string,
  base: SettleBase | null,
  { text, codec }: SettleBase,
  changes: readonly ChangeBytes[],
): Reason[] => {
  const added: string[] = [];
  const places: number[] = [];
  const reasons: Reason[] = [];
  let carriage: number | null = null;
  for (const { lines, ends, at } of changes)
    for (let i = 0; i < lines.length; i += 1) {
      const line = lines[i] ?? '';
      added.push(line);
      places.push(at + i);
      const end = ends[i] ?? '';
      if (end === '\r' ? line.includes('\r') : end === '\n' && line.endsWith('\r')) carriage ??= at + i;
    }
  if (carriage !== null)
    reasons.push({
      code: 'stray_cr',
      path,
      message: `The new text of line ${carriage + 1} of the result holds a carriage return that this file would read as a line end. Send the line without it.`,
    });
  if (base !== null && places[0] === 0 && added[0]?.startsWith('\ufeff') === true)
    reasons.push({
      code: 'byte_order_mark',
      path,
      message: `The new first line begins with a byte order mark (U+FEFF), which ${path} does not have there. Send the line without it.`,
    });
  const bad = firstUnholdable(codec, added, spareCharacters(codec, text, changes));
  if (bad !== null)
    reasons.push({
      code: 'character',
      path,
      message: `${path} is ${codec.encoding === 'bytes' ? 'neither UTF-8 nor UTF-16, so only ASCII may be added' : `encoded as ${codec.encoding}`}; it cannot take the character ${bad.name} at line ${(places[bad.line] ?? 0) + 1} of the result, column ${bad.column}. Send other text there.`,
    });
  return reasons;
};

/** Characters, not to be added, of base lines that the result does not keep: a changed line may say them again. */
const spareCharacters = (codec: Codec, text: Text, changes: readonly Change[]): Map<string, number> => {
  const spare = new Map<string, number>();
  if (codec.encoding === 'utf-8') return spare;
  const index = text.index;
  for (const { from, to } of changes)
    for (const line of index === undefined ? text.lines.slice(from, to) : index.range(from, to))
      for (const c of line) if (!codec.holds(c)) spare.set(c, (spare.get(c) ?? 0) + 1);
  return spare;
};

export const splicesOf = (base: SettleBase, index: LineIndex, changes: readonly ChangeBytes[]): Splice[] => {
  const { codec } = base;
  const startOf = offsets(base, index);
  const splices: Splice[] = [];
  const texts = changes.map(({ lines, ends, lead }) => {
    let text = lead;
    for (let i = 0; i < lines.length; i += 1) text += (lines[i] ?? '') + (ends[i] ?? '');
    return text;
  });
  const encoded = encodeAll(codec, texts);
  let i = 0;
  for (const { from, to, cut } of changes) {
    const start = startOf(from) - (cut ? codec.size(index.end(from - 1)) : 0);
    const end = startOf(to);
    const bytes = encoded[i++] ?? new Uint8Array(0);
    if (Buffer.compare(bytes, base.bytes.subarray(start, end)) !== 0) splices.push({ start, end, bytes });
  }
  return splices;
};

/** One call where every character is one byte: that is many times faster for many short texts. */
const encodeAll = (codec: Codec, texts: readonly string[]): readonly Uint8Array[] => {
  const joined = texts.join('');
  const bytes = codec.encode(joined);
  if (bytes.length !== joined.length) return texts.map((text) => codec.encode(text));
  let at = 0;
  return texts.map((text) => bytes.subarray(at, (at += text.length)));
};

/** The offset of each line. Asked for in rising order. */
const offsets = ({ text, codec }: SettleBase, index: LineIndex): ((line: number) => number) => {
  if (text instanceof ByteText) return (line) => text.start(line);
  let at = 0;
  let offset = codec.bom.length;
  return (line) => {
    for (; at < line; at += 1) offset += codec.size((index.line(at) ?? '') + index.end(at));
    return offset;
  };
};
