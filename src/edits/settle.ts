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
 *
 * What is not changed is not looked at: cost goes with the changes, where the format says them and the file's line ends are all alike.
 */
import { type Change, changesFrom, type FilePlan } from './changes.js';
import { lineOrigins } from './diff-lines.js';
import { indexOf, indexOfLines, type LineIndex } from './lines.js';
import { type ChangeBytes, refusals, splicesOf, withEnds, type SettleBase } from './settle-changes.js';
import { applySplices } from './splices.js';
import { newFileCodec } from './text.js';
import type { Reason, Splice } from './types.js';

export type LinesPlan = Extract<FilePlan, { kind: 'lines' }>;

export interface SettleOptions {
  readonly finalNewline?: boolean;
  readonly newFileEol?: '\n' | '\r\n';
}
export type Settled =
  | {
      readonly ok: true;
      readonly bytes: Uint8Array;
      readonly splices: readonly Splice[];
      /** What became of the base's lines. */
      readonly changes: readonly Change[];
    }
  | { readonly ok: false; readonly reasons: readonly Reason[] };

const NEW_FILE: SettleBase = { bytes: new Uint8Array(0), text: { lines: [], ends: [] }, codec: newFileCodec };

/** `base` null: the file does not exist yet. Reasons: `character`, `stray_cr`, `byte_order_mark`. */
export const settle = (base: SettleBase | null, plan: LinesPlan, options: SettleOptions = {}): Settled => {
  const from = base ?? NEW_FILE;
  const index = indexOf(from.text);
  const changes = changesOf(plan, from, index);
  const ended: readonly ChangeBytes[] = withEnds(changes, index, {
    final: options.finalNewline ?? plan.finalNewline ?? endsWithNewline(index),
    fallback: index.length === 0 ? (options.newFileEol ?? '\n') : (firstEnd(index) ?? '\n'),
  });
  const reasons = refusals(plan.path, base, from, ended);
  if (reasons.length > 0) return { ok: false, reasons };
  const splices = splicesOf(from, index, ended);
  return { ok: true, bytes: applySplices(from.bytes, splices), splices, changes };
};

const endsWithNewline = (index: LineIndex): boolean => index.length === 0 || index.end(index.length - 1) !== '';
/** Only the last line may have none. */
const firstEnd = (index: LineIndex): string | null => (index.end(0) === '' ? null : index.end(0));

const BOM = '\ufeff';

const changesOf = (plan: LinesPlan, { codec }: SettleBase, index: LineIndex): readonly Change[] => {
  // An answer that quotes the byte order mark means the one that is there.
  const ownBom = codec.bom.length > 0 && index.line(0)?.startsWith(BOM) !== true;
  const { changes } = plan;
  if (changes !== undefined && index.eol !== 'mixed' && !(ownBom && beginsWithBom(changes, index))) return changes;
  const result = plan.result ?? indexOfLines(plan.lines);
  const lines = ownBom ? withoutFirstBom(result) : result;
  const origins = usable(plan.origins, lines, index) ?? lineOrigins(index, lines);
  return changesFrom(index.length, lines, origins);
};

const beginsWithBom = ([first]: readonly Change[], index: LineIndex): boolean =>
  first?.from === 0 && (first.lines[0] ?? index.line(first.to))?.startsWith(BOM) === true;

const withoutFirstBom = (lines: LineIndex): LineIndex => {
  const first = lines.line(0);
  return first?.startsWith(BOM) === true ? indexOfLines([first.slice(1), ...lines.range(1, lines.length)]) : lines;
};

/** The format's own origins where they are sound and cannot change a byte; null: a diff decides. */
const usable = (
  origins: readonly number[] | undefined,
  lines: LineIndex,
  index: LineIndex,
): readonly number[] | null => {
  if (origins?.length !== lines.length || index.eol === 'mixed') return null;
  let last = -1;
  for (const [i, o] of origins.entries()) {
    if (o < 0) continue;
    if (o <= last || !index.isLine(o, lines, i)) return null;
    last = o;
  }
  return origins;
};
