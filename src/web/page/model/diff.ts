/** The combined diff as the page shows it: files, hunks, numbered lines. The edit engine parses the diff; this file numbers its lines. Pure. */
import { diffWordsWithSpace } from 'diff';
import {
  readName,
  readDiff,
  type DiffHunk,
  type DiffSection,
} from '../../../edits/proposal/index.js';
import type { FileSince } from '../../../shared/event-text.js';
import { sameEnds } from '../../../shared/text.js';

export type Sign = ' ' | '+' | '-';

export interface DiffLine {
  readonly sign: Sign;
  readonly text: string;
  /** Line number in the text before, from 1. Null: the line is added. */
  readonly before: number | null;
  /** Line number in the proposed text, from 1. Null: the line is removed. */
  readonly after: number | null;
  /** The file ends with this line, which has no line end. */
  readonly noEnd?: true;
}
export interface Hunk {
  readonly beforeStart: number;
  readonly beforeLines: number;
  readonly afterStart: number;
  readonly afterLines: number;
  readonly lines: readonly DiffLine[];
  /** Numbers of the changes in this hunk. An answer `select` names changes by these numbers. */
  readonly changes: readonly number[];
}
export interface DiffFile {
  readonly path: string;
  /** The earlier path of a file that was moved. Null: the file was not moved. */
  readonly movedFrom: string | null;
  readonly isNew: boolean;
  readonly isDeleted: boolean;
  /** `100644 -> 100755` if the mode changes. Null: it does not change. */
  readonly mode: string | null;
  readonly hunks: readonly Hunk[];
  /** Notes in the diff about a file that is not UTF-8. The page shows them unchanged. */
  readonly notes: readonly string[];
}

export const parseDiff = (diff: string): readonly DiffFile[] => readDiff(diff).map(fileOf);

/** Returns the files of a comparison with an earlier version. A changed file has the diff since then, an unchanged file has its whole diff. */
export const filesSince = (
  whole: readonly DiffFile[],
  { files, diff }: { readonly files: readonly FileSince[]; readonly diff: string },
): readonly DiffFile[] => {
  const [all, changed] = [whole, parseDiff(diff)].map(
    (diffFiles) => new Map(diffFiles.map((file) => [file.path, file])),
  );
  return files.flatMap(
    ({ path, is }) => (is === 'same' ? undefined : changed?.get(path)) ?? all?.get(path) ?? [],
  );
};

const fileOf = ({ path, header, hunks }: DiffSection): DiffFile => {
  const after = (words: string): string | null =>
    header.find((line) => line.startsWith(words))?.slice(words.length) ?? null;
  const [from, oldMode, newMode] = [after('rename from '), after('old mode '), after('new mode ')];
  return {
    path,
    movedFrom: from === null ? null : readName(from),
    isNew: after('new file mode ') !== null,
    isDeleted: after('deleted file mode ') !== null,
    mode:
      oldMode !== null && newMode !== null && oldMode !== newMode
        ? `${oldMode} -> ${newMode}`
        : null,
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
      sign,
      text: line.slice(1),
      before: sign === '+' ? null : before,
      after: sign === '-' ? null : after,
    });
    if (sign !== '+') before += 1;
    if (sign !== '-') after += 1;
  }
  return {
    beforeStart: oldStart,
    beforeLines: before - oldStart,
    afterStart: newStart,
    afterLines: after - newStart,
    lines,
    changes: changes.map(({ n }) => n),
  };
};

/** A stretch of a line. `changed` means that the counterpart of the line does not have it. */
export interface Stretch {
  readonly text: string;
  readonly changed: boolean;
}

/** Maximum length of a line that is compared word by word. A longer line is compared by its ends, because time grows with the square. */
const WORDS_chars = 1_000;
/** Minimum part of a line that both sides share. Below it the marks would be noise, so the line has none. */
const ALIKE = 0.3;

/** Splits `text` into stretches by comparing it with its counterpart `other`. `isNew` means that `text` is the later line. */
export const stretchesOf = (text: string, other: string, isNew: boolean): readonly Stretch[] => {
  const plain: readonly Stretch[] = [{ text, changed: false }];
  if (text === '' || other === '') return plain;
  if (text.length > WORDS_chars || other.length > WORDS_chars) return stretchesByEnds(text, other);
  const parts = isNew ? diffWordsWithSpace(other, text) : diffWordsWithSpace(text, other);
  const own = parts
    .filter((part) => (isNew ? !part.removed : !part.added))
    .map((part) => ({ text: part.value, changed: isNew ? part.added : part.removed }));
  const same = own
    .filter((part) => !part.changed)
    .reduce((sum, part) => sum + part.text.trim().length, 0);
  return same < ALIKE * text.trim().length ? plain : own;
};

const stretchesByEnds = (text: string, other: string): readonly Stretch[] => {
  const [head, tail] = sameEnds(text, other);
  return [
    { text: text.slice(0, head), changed: false },
    { text: text.slice(head, text.length - tail), changed: true },
    { text: text.slice(text.length - tail), changed: false },
  ].filter((part) => part.text !== '');
};
