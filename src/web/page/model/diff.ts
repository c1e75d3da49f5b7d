/** The combined diff as the page shows it: files, hunks, numbered lines. The edit engine reads it; here its lines get their numbers. Pure. */
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

export const parseDiff = (diff: string): readonly DiffFile[] => readDiff(diff).map(fileOf);

/** Beside an earlier version: what changed since, and whole what is the same. */
export const filesSince = (
  whole: readonly DiffFile[],
  { files, diff }: { readonly files: readonly FileSince[]; readonly diff: string },
): readonly DiffFile[] => {
  const [all, changed] = [whole, parseDiff(diff)].map(
    (each) => new Map(each.map((file) => [file.path, file])),
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

// What changed within a line. Pure.

/** A stretch of a line; `changed`: it is not in the other one. */
export interface Stretch {
  readonly text: string;
  readonly changed: boolean;
}

/** Longer lines are compared by their common beginning and end only: words cost time that grows with the square. */
const WORDS_chars = 1_000;
/** Where less than this part is the same, the marks would be noise: the line as a whole has changed. */
const ALIKE = 0.3;

/** The stretches of `text`, whose counterpart is `other`. `isNew`: `text` is the later one. */
export const stretchesOf = (text: string, other: string, isNew: boolean): readonly Stretch[] => {
  const plain: readonly Stretch[] = [{ text, changed: false }];
  if (text === '' || other === '') return plain;
  if (text.length > WORDS_chars || other.length > WORDS_chars) return ends(text, other);
  const parts = isNew ? diffWordsWithSpace(other, text) : diffWordsWithSpace(text, other);
  const own = parts
    .filter((part) => (isNew ? !part.removed : !part.added))
    .map((part) => ({ text: part.value, changed: isNew ? part.added : part.removed }));
  const same = own
    .filter((part) => !part.changed)
    .reduce((sum, part) => sum + part.text.trim().length, 0);
  return same < ALIKE * text.trim().length ? plain : own;
};

const ends = (text: string, other: string): readonly Stretch[] => {
  const [head, tail] = sameEnds(text, other);
  return [
    { text: text.slice(0, head), changed: false },
    { text: text.slice(head, text.length - tail), changed: true },
    { text: text.slice(text.length - tail), changed: false },
  ].filter((part) => part.text !== '');
};
