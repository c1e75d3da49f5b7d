/** True changes as hunks: unified-diff and begin-patch. */
import { type LineEdit, type TrueChange, body } from './true-change.js';

export interface HunkStyle {
  /** Kept lines on each side of a change. */
  readonly context: number;
  /** Changes whose contexts meet share a hunk, as git writes it; otherwise each change is a hunk of its own. */
  readonly merge: boolean;
}

interface Line {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
  /** No line end follows in the file. */
  readonly open: boolean;
}
export interface SaidHunk {
  readonly header: string;
  readonly lines: readonly Line[];
}

export const hunksOf = (change: TrueChange, { context, merge }: HunkStyle): SaidHunk[] => {
  const { base } = change;
  const edits = withOpenEnds(change);
  let shift = 0;
  let said = 0;
  return grouped(edits, merge ? 2 * context : 0).map((group) => {
    const first = group[0]?.from ?? 0;
    const last = group.at(-1)?.to ?? 0;
    const start = Math.max(said, first - context);
    // One kept line at least is left to the next hunk.
    const next = edits.find(({ from }) => from > last)?.from ?? base.length + 1;
    const end = Math.min(next - 1, last + context, base.length);
    said = end;
    const lines = linesOf(change, group, start, end);
    const oldCount = end - start;
    const newCount = lines.filter(({ sign }) => sign !== '-').length;
    const at = (count: number, from: number): number => (count === 0 ? from : from + 1);
    const header = `@@ -${at(oldCount, start)},${oldCount} +${at(newCount, start + shift)},${newCount} @@\n`;
    shift += newCount - oldCount;
    return { header, lines };
  });
};

/** Where an end is without line end, the last lines of both sides stand in the change itself, since one may have its line end and one not. */
const withOpenEnds = ({
  base,
  edits,
  baseFinal = true,
  final = true,
}: TrueChange): readonly LineEdit[] => {
  if (baseFinal && final) return edits;
  const last = edits.at(-1);
  const count = base.length;
  const tail = base.slice(-1);
  if (last?.to !== count)
    return baseFinal === final || count === 0
      ? edits
      : [...edits, { from: count - 1, to: count, lines: tail }];
  if ((last.from < last.to && last.lines.length > 0) || last.from === 0) return edits;
  const from = last.from - 1;
  return [
    ...edits.slice(0, -1),
    { from, to: count, lines: [...base.slice(from, from + 1), ...last.lines] },
  ];
};

const grouped = (edits: readonly LineEdit[], gap: number): LineEdit[][] => {
  const groups: LineEdit[][] = [];
  for (const edit of edits) {
    const before = groups.at(-1)?.at(-1);
    if (before !== undefined && edit.from - before.to <= gap) groups.at(-1)?.push(edit);
    else groups.push([edit]);
  }
  return groups;
};

const linesOf = (
  change: TrueChange,
  group: readonly LineEdit[],
  start: number,
  end: number,
): Line[] => {
  const { base, baseFinal = true, final = true } = change;
  const lines: Line[] = [];
  const put = (sign: Line['sign'], from: number, to: number): void => {
    for (let at = from; at < to; at += 1)
      lines.push({ sign, text: base[at] ?? '', open: !baseFinal && at === base.length - 1 });
  };
  let next = start;
  for (const { from, to, lines: added } of group) {
    put(' ', next, from);
    put('-', from, to);
    for (const [i, text] of added.entries())
      lines.push({ sign: '+', text, open: !final && to === base.length && i === added.length - 1 });
    next = to;
  }
  put(' ', next, end);
  return lines;
};

/** A hunk's lines without their ends told: begin-patch. */
export const plainLines = (lines: readonly Line[]): string =>
  body(lines.map(({ sign, text }) => sign + text));

const diffLines = (lines: readonly Line[]): string =>
  lines
    .map(({ sign, text, open }) =>
      open ? `${sign}${text}\n\\ No newline at end of file\n` : body([sign + text]),
    )
    .join('');

export const diffOf = (change: TrueChange, hunks: readonly SaidHunk[]): string => {
  const { kind, path, from = path, baseMode, mode } = change;
  const names = [quoted(`a/${from}`), quoted(`b/${path}`)] as const;
  const extended: string[] = [];
  if (kind === 'create') extended.push(`new file mode ${mode ?? '100644'}`);
  else if (kind === 'delete') extended.push(`deleted file mode ${baseMode ?? '100644'}`);
  else if (baseMode !== mode) extended.push(`old mode ${baseMode ?? ''}`, `new mode ${mode ?? ''}`);
  if (from !== path) extended.push(`rename from ${quoted(from)}`, `rename to ${quoted(path)}`);
  const git =
    extended.length > 0
      ? `diff --git ${names.join(' ')}\n${extended.map((line) => `${line}\n`).join('')}`
      : '';
  if (hunks.length === 0) return git;
  const [old, now] = [
    kind === 'create' ? '/dev/null' : names[0],
    kind === 'delete' ? '/dev/null' : names[1],
  ];
  return `${git}--- ${old}\n+++ ${now}\n${hunks.map(({ header, lines }) => header + diffLines(lines)).join('')}`;
};

/** A name as git writes it: in double quotes, bytes as octal numbers, where it holds more than plain ASCII. */
const quoted = (name: string): string => {
  if (/^[\x20-\x7e]*$/.test(name) && !/["\\]/.test(name)) return name;
  const bytes = [...Buffer.from(name)].map((byte) => {
    if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`;
    return byte >= 0x20 && byte < 0x7f
      ? String.fromCharCode(byte)
      : `\\${byte.toString(8).padStart(3, '0')}`;
  });
  return `"${bytes.join('')}"`;
};
