/**
 * From the two sides of a commit's file to what a true answer has to say, or why no answer can say it. Judged by the bytes alone,
 * before the engine is asked for anything.
 */
import { indexOf, splitLines, type Text } from '../../../src/edits/text/lines.js';
import { lineOrigins } from '../../../src/edits/text/line-diff.js';
import { type Codec, decodeFile } from '../../../src/edits/text/codec.js';
import type { LineEdit, TrueChange } from '../../edits/true-change.js';
import type { FileChange } from './git.js';
import { maxLines } from './limits.js';

/** The sides of a change; null: the file is not there. */
export interface Sides {
  readonly base: Uint8Array | null;
  readonly result: Uint8Array | null;
}

export interface Sayable extends Sides {
  readonly change: TrueChange;
  /** What the result's lines are, by the base's encoding. */
  readonly baseText: Text;
  readonly resultText: Text;
  /** Reads bytes as the result is read. */
  readonly readResult: (bytes: Uint8Array) => Text | Outside;
  /** The commit may have changed line ends, which no answer says: the new ends are the engine's to choose. */
  readonly endsMayDiffer: boolean;
  /** What new files end their lines with, as a workspace's settings would say. */
  readonly newFileEol: '\n' | '\r\n';
  readonly traits: readonly string[];
}

/** Why a change is nothing that any format says. */
export type Outside =
  | 'symlink or submodule'
  | 'binary'
  | 'larger than the limit'
  | 'object missing here'
  | 'only line ends change'
  | 'encoding changes'
  | 'new file not UTF-8';

const EMPTY: Text = { lines: [], ends: [] };
const isFile = (mode: string): boolean =>
  mode === '100644' || mode === '100755' || mode === '000000' || mode === '100664';

export const hasFileModes = ({ oldMode, newMode }: FileChange): boolean =>
  isFile(oldMode) && isFile(newMode);

export const changeOf = (
  file: FileChange,
  { base, result }: Sides,
  encoding: string | undefined,
): Sayable | Outside => {
  const decodedBase = base === null ? null : decodeFile(base, encoding);
  if (
    decodedBase?.ok === false ||
    (base === null && result?.includes(0) === true && !hasUtf16Mark(result))
  )
    return 'binary';
  const baseText = decodedBase?.text ?? EMPTY;
  const codec = decodedBase?.codec ?? null;
  const resultText = result === null ? EMPTY : resultLines(result, codec);
  if (typeof resultText === 'string') return resultText;
  if (baseText.lines.length + resultText.lines.length > maxLines) return 'larger than the limit';
  const edits = editsOf(baseText.lines, resultText.lines);
  const final = resultText.lines.length === 0 || resultText.ends.at(-1) !== '';
  const baseFinal = baseText.lines.length === 0 || baseText.ends.at(-1) !== '';
  const kind = base === null ? 'create' : result === null ? 'delete' : 'edit';
  const { path, from, oldMode, newMode } = file;
  const saysMore = from !== undefined || oldMode !== newMode || final !== baseFinal;
  if (kind === 'edit' && edits.length === 0 && !saysMore) return 'only line ends change';
  return {
    base,
    result,
    change: {
      kind,
      path,
      base: baseText.lines,
      edits,
      baseFinal,
      final,
      baseMode: oldMode,
      mode: newMode,
      ...(from === undefined ? {} : { from }),
    },
    baseText,
    resultText,
    readResult: (bytes) => resultLines(bytes, codec),
    endsMayDiffer: kind !== 'delete' && endsDiffer(baseText, resultText),
    newFileEol: indexOf(resultText).eol === 'crlf' ? '\r\n' : '\n',
    traits: traitsOf(file, base ?? result, baseText, codec, final),
  };
};

const hasUtf16Mark = (bytes: Uint8Array): boolean =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);

/** The result as text of the base's encoding (a new file's: UTF-8), where that is what its bytes are. */
const resultLines = (result: Uint8Array, codec: Codec | null): Text | Outside => {
  const [encoding, bom] = [codec?.encoding ?? 'utf-8', codec?.bom ?? new Uint8Array(0)];
  const hasBom = bom.every((byte, i) => result[i] === byte);
  if (result.length > 0 && !hasBom) return 'encoding changes';
  const bytes = result.length > 0 ? result.subarray(bom.length) : result;
  if (encoding.startsWith('utf-16')) {
    if (bytes.length % 2 !== 0) return 'encoding changes';
    const order = encoding === 'utf-16be' ? Buffer.from(bytes).swap16() : Buffer.from(bytes);
    return splitLines(order.toString('utf16le'));
  }
  if (bytes.includes(0)) return codec === null ? 'new file not UTF-8' : 'binary';
  const label = encoding === 'bytes' ? null : encoding;
  if (label === null) return splitLines(Buffer.from(bytes).toString('latin1'));
  try {
    // `stream` keeps Node 20 off its fast path, which reads windows-1252 as if it were ISO-8859-1.
    const text = new TextDecoder(label, { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: label !== 'utf-8',
    });
    // A byte order mark that only the result has is a change of the encoding; a new file's is its first character.
    if (codec !== null && bom.length === 0 && text.startsWith('\ufeff')) return 'encoding changes';
    return splitLines(text);
  } catch {
    return codec === null ? 'new file not UTF-8' : 'encoding changes';
  }
};

const editsOf = (base: readonly string[], result: readonly string[]): LineEdit[] => {
  const edits: LineEdit[] = [];
  const origins = lineOrigins(base, result);
  let [b, r] = [0, 0];
  for (let at = 0; at <= result.length; at += 1) {
    const origin = at < result.length ? (origins[at] ?? -1) : base.length;
    if (origin < 0) continue;
    if (origin > b || at > r) edits.push({ from: b, to: origin, lines: result.slice(r, at) });
    [b, r] = [origin + 1, at + 1];
  }
  return edits;
};

/** True unless both sides end all lines alike, so that the line ends of the result follow from the base. */
const endsDiffer = (base: Text, result: Text): boolean => {
  const [before, after] = [indexOf(base).eol, indexOf(result).eol];
  if (base.lines.length === 0) return after === 'cr' || after === 'mixed';
  if (before === 'mixed' || after === 'mixed') return true;
  if (before === 'none') return after === 'crlf' || after === 'cr';
  return after !== 'none' && after !== before;
};

const traitsOf = (
  file: FileChange,
  bytes: Uint8Array | null,
  base: Text,
  codec: Codec | null,
  final: boolean,
): string[] => {
  const traits = [
    codec === null ? 'new file' : codec.encoding + (codec.bom.length > 0 ? ' with BOM' : ''),
  ];
  const ascii = codec?.encoding === 'utf-8' && bytes?.every((byte) => byte < 0x80) === true;
  if (codec?.encoding === 'utf-8' && !ascii) traits.push('more than ASCII');
  if (base.lines.length > 0) traits.push(`ends ${indexOf(base).eol}`);
  if (base.lines.length > 0 && base.ends.at(-1) === '') traits.push('no final line end before');
  if (!final) traits.push('no final line end after');
  if (file.status === 'D') traits.push('deletion');
  if (file.from !== undefined) traits.push('rename');
  if (file.oldMode !== file.newMode && file.status !== 'A' && file.status !== 'D')
    traits.push('mode');
  return traits;
};
