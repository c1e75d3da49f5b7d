/**
 * The one place where result lines become bytes, so that the same edit said in any format gives the same bytes:
 * 1. Lines that the result keeps from the base keep the base's bytes. Which those are the format says, where it knows; else a line diff.
 * 2. A new line takes the ending of the line before it, else after it; where no line is kept the base's first, else LF (a new
 *    file: `newFileEol`).
 * 3. The result ends with a line end exactly if the base did; a new or empty file does. A diff's `\ No newline` changes that, and the
 *    job's `final_newline` goes before both.
 * 4. The byte order mark stays where it is.
 * 5. A character that the file's encoding cannot hold is refused by name and place.
 * 6. A plan that is exact (a diff with carriage returns) counts in lines as git has them: they end at LF alone, so carriage returns and the
 *    byte order mark are text, and a new line ends in LF and nothing else.
 *
 * What is not changed is not looked at: cost goes with the changes, where the format says them and the file's line ends are all alike.
 */
import { Buffer } from 'node:buffer';
import { indexOf, type Text, textOf, type LineIndex, indexOfLines } from './lines.js';
import { ByteText } from './byte-text.js';
import { type Change, changesFrom, expand, type LinesPlan, type PlacedChange } from './changes.js';
import { type Codec, decodeFile, firstUnholdable, newFileCodec, type SpliceBase } from './codec.js';
import { tally } from '../../shared/text.js';
import type { ApplyOptions, Reason, Splice } from '../types.js';
import { lineOrigins } from './line-diff.js';
import { applySplices } from './splices.js';

// Changes get their line ends and become bytes: rules 2 to 5 above.

/** A change with the end of its lines, and of the last of them, and what it does to the end of the kept line before it. */
interface ChangeBytes extends PlacedChange {
  readonly end: string;
  readonly lastEnd: string;
  /** The base's last line had no end and is followed now: the end that it gets. */
  readonly lead: string;
  /** The line before is the result's last now and loses its end. */
  readonly cut: boolean;
}

interface EndRules {
  /** Does the result end with a line end? */
  readonly final: boolean;
  /** The end of new lines where no kept line has one. */
  readonly fallback: string;
}

const withEnds = (
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
    if (from > next)
      before = index.end(from - 1) || (from - 1 > next ? index.end(from - 2) : '') || before;
    const last = to === count;
    const kept = from > next ? index.end(from - 1) : null;
    // Named one by one, as in `placed` (changes.ts).
    ended.push({
      from,
      to,
      lines,
      end: before,
      lastEnd: last && !final ? '' : before,
      lead: kept === '' && lines.length > 0 ? before : '',
      cut: last && !final && lines.length === 0 && kept !== null && kept !== '',
      at: from + shift,
    });
    next = to;
    shift += lines.length - (to - from);
  }
  const atEnd = lastEnd(next, index, final, before);
  return atEnd === null ? ended : [...ended, { ...atEnd, at: count + shift }];
};

/** The base's last line is the result's as well, and its end is not what is asked for. */
const lastEnd = (
  next: number,
  index: LineIndex,
  final: boolean,
  before: string,
): Omit<ChangeBytes, 'at'> | null => {
  const count = index.length;
  if (next >= count) return null;
  const own = index.end(count - 1);
  if ((own !== '') === final) return null;
  const end = (count - 2 >= next ? index.end(count - 2) : '') || before;
  return {
    from: count,
    to: count,
    lines: [],
    end,
    lastEnd: end,
    lead: final ? end : '',
    cut: !final,
  };
};

const firstKept = ([first]: readonly Change[]): number => (first?.from === 0 ? first.to : 0);

/** Reasons: `stray_cr`, `byte_order_mark`, `character`. */
const refusals = (
  { path, exact }: LinesPlan,
  base: SpliceBase | null,
  { text, codec }: SpliceBase,
  changes: readonly ChangeBytes[],
): Reason[] => {
  const added: string[] = [];
  const places: number[] = [];
  const reasons: Reason[] = [];
  const refuse = (code: string, message: string): void =>
    void reasons.push({ code, path, message });
  let carriage: number | null = null;
  for (const { lines, end, lastEnd, at } of changes)
    for (let i = 0; i < lines.length; i += 1) {
      const line = lines[i] ?? '';
      added.push(line);
      places.push(at + i);
      const own = i === lines.length - 1 ? lastEnd : end;
      if (own === '\r' ? line.includes('\r') : own === '\n' && line.endsWith('\r'))
        carriage ??= at + i;
    }
  if (carriage !== null && exact === undefined)
    refuse(
      'stray_cr',
      `The new text of line ${carriage + 1} of the result contains a carriage return that this file would treat as a line ending. Send the line without it.`,
    );
  if (
    base !== null &&
    exact === undefined &&
    places[0] === 0 &&
    added[0]?.startsWith('\ufeff') === true
  )
    refuse(
      'byte_order_mark',
      `The new first line starts with a byte order mark (U+FEFF), which ${path} does not have there. Send the line without it.`,
    );
  const bad = firstUnholdable(codec, added, spareCharacters(codec, text, changes));
  if (bad !== null)
    refuse(
      'character',
      `${path} is ${codec.encoding === 'bytes' ? 'neither UTF-8 nor UTF-16, so only ASCII can be added' : `encoded as ${codec.encoding}`}; it cannot encode the character ${bad.name} at line ${(places[bad.line] ?? 0) + 1} of the result, column ${bad.column}. Send other text there.`,
    );
  return reasons;
};

/** Characters, not to be added, of base lines that the result does not keep: a changed line may say them again. */
const spareCharacters = (
  codec: Codec,
  text: Text,
  changes: readonly Change[],
): Map<string, number> => {
  if (codec.encoding === 'utf-8') return new Map();
  const index = indexOf(text);
  const lines = changes.flatMap(({ from, to }) => index.range(from, to));
  return tally(lines.flatMap((line) => Array.from(line).filter((c) => !codec.holds(c))));
};

const splicesOf = (
  base: SpliceBase,
  index: LineIndex,
  changes: readonly ChangeBytes[],
): Splice[] => {
  const { codec } = base;
  const startOf = offsets(base, index);
  const splices: Splice[] = [];
  const texts = changes.map(
    ({ lines, end, lastEnd, lead }) => lead + lines.join(end) + (lines.length > 0 ? lastEnd : ''),
  );
  const encoded = encodeAll(codec, texts);
  let i = 0;
  for (const { from, to, cut } of changes) {
    const start = startOf(from) - (cut ? codec.size(index.end(from - 1)) : 0);
    const end = startOf(to);
    const bytes = encoded[i++] ?? new Uint8Array(0);
    if (Buffer.compare(bytes, base.bytes.subarray(start, end)) !== 0)
      splices.push({ start, end, bytes });
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
const offsets = ({ text, codec }: SpliceBase, index: LineIndex): ((line: number) => number) => {
  if (text instanceof ByteText) return (line) => text.start(line);
  let at = 0;
  let offset = codec.bom.length;
  return (line) => {
    for (; at < line; at += 1) offset += codec.size((index.line(at) ?? '') + index.end(at));
    return offset;
  };
};

/** The file, or none, in lines as git has them. */
export const exactBase = (bytes: Uint8Array | null, encoding?: string): SpliceBase => {
  const decoded = bytes === null ? null : decodeFile(bytes, encoding);
  if (bytes === null || decoded?.ok !== true) return NEW_FILE;
  const { text, codec } = decoded;
  const lines = ((codec.bom.length > 0 ? BOM : '') + textOf(text)).split('\n');
  const last = lines.at(-1) === '' ? lines.pop() : undefined;
  const ends = lines.map((_, i) => (i === lines.length - 1 && last === undefined ? '' : '\n'));
  return { bytes, text: { lines, ends }, codec: { ...codec, bom: new Uint8Array(0) } };
};

export type SpliceOptions = Pick<ApplyOptions, 'finalNewline' | 'newFileEol' | 'newFileEols'>;
export type Spliced =
  | {
      readonly ok: true;
      readonly bytes: Uint8Array;
      readonly splices: readonly Splice[];
      /** What became of the base's lines. */
      readonly changes: readonly Change[];
    }
  | { readonly ok: false; readonly reasons: readonly Reason[] };

const NEW_FILE: SpliceBase = {
  bytes: new Uint8Array(0),
  text: { lines: [], ends: [] },
  codec: newFileCodec,
};

/** `base` null: the file does not exist yet. Reasons: `character`, `stray_cr`, `byte_order_mark`. */
export const spliced = (
  base: SpliceBase | null,
  plan: LinesPlan,
  options: SpliceOptions = {},
): Spliced => {
  const from = plan.exact ?? base ?? NEW_FILE;
  const index = indexOf(from.text);
  const changes = changesOf(plan, from, index);
  const ended: readonly ChangeBytes[] = withEnds(changes, index, {
    final:
      options.finalNewline ??
      plan.finalNewline ??
      (index.length === 0 || index.end(index.length - 1) !== ''),
    fallback: fallbackEnd(plan, index, options),
  });
  const reasons = refusals(plan, base, from, ended);
  if (reasons.length > 0) return { ok: false, reasons };
  const splices = splicesOf(from, index, ended);
  const likely =
    'result' in plan && plan.result instanceof ByteText ? plan.result.bytes : undefined;
  return { ok: true, bytes: applySplices(from.bytes, splices, likely), splices, changes };
};

/** Returns the line end of new lines if no kept line has one. */
const fallbackEnd = (plan: LinesPlan, index: LineIndex, options: SpliceOptions): string => {
  if (index.length > 0) return index.end(0) || '\n';
  if (plan.exact !== undefined) return '\n';
  return options.newFileEols?.get(plan.path) ?? options.newFileEol ?? '\n';
};

const BOM = '\ufeff';

const changesOf = (plan: LinesPlan, { codec }: SpliceBase, index: LineIndex): readonly Change[] => {
  // An answer that quotes the byte order mark means the one that is there.
  const ownBom = codec.bom.length > 0 && index.line(0)?.startsWith(BOM) !== true;
  const changes = 'changes' in plan ? plan.changes : null;
  if (changes !== null && !(ownBom && beginsWithBom(changes, index))) return changes;
  const result = 'changes' in plan ? indexOfLines(expand(index, plan.changes)) : plan.result;
  const lines = ownBom ? withoutFirstBom(result) : result;
  return changesFrom(index.length, lines, lineOrigins(index, lines));
};

const beginsWithBom = ([first]: readonly Change[], index: LineIndex): boolean =>
  first?.from === 0 && (first.lines[0] ?? index.line(first.to))?.startsWith(BOM) === true;

const withoutFirstBom = (lines: LineIndex): LineIndex => {
  const first = lines.line(0);
  return first?.startsWith(BOM) === true
    ? indexOfLines([first.slice(1), ...lines.range(1, lines.length)])
    : lines;
};

// The byte order mark is no part of a file's text, yet diffs and copies carry it: git writes ` \ufefffirst line`. In a file that begins
// with one, a mark at the start of an answer's line is that one and is taken off.

/** Does the file begin with a mark, and no line with one of its own, so that a quoted mark can mean only that one? */
export const quotesItsBom = ({ codec, text }: SpliceBase): boolean =>
  codec.bom.length > 0 &&
  !(indexOf(text).includes(BOM) && text.lines.some((line) => line.startsWith(BOM)));

export const withoutBom = (line: string): string => (line.startsWith(BOM) ? line.slice(1) : line);
