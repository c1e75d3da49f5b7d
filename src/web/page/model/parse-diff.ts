/** The combined diff as the page shows it: files, hunks, numbered lines. The edit engine reads it; here its lines get their numbers. Pure. */
import { readName } from '../../../edits/unified-diff-names.js';
import { readSealedDiff, type DiffHunk, type DiffSection } from '../../../edits/sealed-diff.js';

export type Sign = ' ' | '+' | '-';

export interface DiffLine {
  readonly sign: Sign;
  readonly text: string;
  /** 1-based; null on the side where the line is not. */
  readonly before: number | null;
  readonly after: number | null;
  /** The file ends here without a line end. */
  readonly noEnd?: true;
}
export interface Hunk {
  readonly beforeStart: number;
  readonly beforeLines: number;
  readonly afterStart: number;
  readonly afterLines: number;
  readonly lines: readonly DiffLine[];
  /** Numbers of its changes, as an answer `select` names them. */
  readonly changes: readonly number[];
}
export interface DiffFile {
  readonly path: string;
  /** The path before, where it was moved. */
  readonly movedFrom: string | null;
  readonly isNew: boolean;
  readonly isDeleted: boolean;
  /** `100644 -> 100755` where the mode changes; null otherwise. */
  readonly mode: string | null;
  readonly hunks: readonly Hunk[];
  /** What the diff says of a file that is not UTF-8: shown as it is. */
  readonly notes: readonly string[];
}

export const parseDiff = (diff: string): readonly DiffFile[] => readSealedDiff(diff).map(fileOf);

const fileOf = ({ path, header, hunks }: DiffSection): DiffFile => {
  const after = (words: string): string | null =>
    header.find((line) => line.startsWith(words))?.slice(words.length) ?? null;
  const [from, oldMode, newMode] = [after('rename from '), after('old mode '), after('new mode ')];
  return {
    path,
    movedFrom: from === null ? null : readName(from),
    isNew: after('new file mode ') !== null,
    isDeleted: after('deleted file mode ') !== null,
    mode: oldMode !== null && newMode !== null && oldMode !== newMode ? `${oldMode} -> ${newMode}` : null,
    hunks: hunks.map(hunkOf),
    notes: header.filter((line) => line.startsWith('# ')).map((line) => line.slice(2)),
  };
};

const hunkOf = ({ oldStart, newStart, lines: raw, changes }: DiffHunk): Hunk => {
  const lines: DiffLine[] = [];
  let [before, after] = [oldStart, newStart];
  for (const line of raw) {
    const last = lines.at(-1);
    if (line.startsWith('\\')) {
      if (last !== undefined) lines[lines.length - 1] = { ...last, noEnd: true };
      continue;
    }
    const sign = line.startsWith('+') ? '+' : line.startsWith('-') ? '-' : ' ';
    lines.push({
      ...{ sign, text: line.slice(1) },
      before: sign === '+' ? null : before,
      after: sign === '-' ? null : after,
    });
    if (sign !== '+') before += 1;
    if (sign !== '-') after += 1;
  }
  return {
    ...{ beforeStart: oldStart, beforeLines: before - oldStart, afterStart: newStart, afterLines: after - newStart },
    lines,
    changes: changes.map(({ n }) => n),
  };
};
