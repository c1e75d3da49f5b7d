/** Turns the diff into the rows of one long list. The page draws only the visible rows. Pure. */
import type { Finding } from '../../../shared/formats.js';
import { groupBy } from '../../../shared/text.js';
import type { DiffFile, DiffLine, Hunk } from './diff.js';

export type Layout = 'unified' | 'split';
/** A place in a file that a comment or finding is about: a line of the result, or a removed line. */
export interface Spot {
  readonly path: string;
  readonly side: 'before' | 'after';
  /** Line number from 1. 0 means the whole file. */
  readonly line: number;
}

export type Row = { readonly key: string; readonly file: number } & (
  | { readonly kind: 'file' }
  | { readonly kind: 'hunk'; readonly hunk: number; readonly text: string }
  | {
      readonly kind: 'fold';
      readonly gap: number;
      readonly from: number;
      readonly to: number;
      readonly shift: number;
    }
  | {
      readonly kind: 'line';
      readonly line: DiffLine;
      readonly other: DiffLine | null;
      readonly hunk: number;
    }
  /** The line before and the line after, next to each other. */
  | {
      readonly kind: 'pair';
      readonly before: DiffLine | null;
      readonly after: DiffLine | null;
      readonly hunk: number;
    }
  | { readonly kind: 'finding'; readonly finding: Finding }
  | { readonly kind: 'comment'; readonly spot: Spot }
  | { readonly kind: 'note'; readonly text: string }
);

export interface RowsInput {
  readonly files: readonly DiffFile[];
  readonly layout: Layout;
  readonly findings: readonly Finding[];
  /** Places with a comment or an open comment box. */
  readonly comments: readonly Spot[];
  /** Paths of the files whose diff is hidden. */
  readonly folded: ReadonlySet<string>;
  /** Lines of the result by path, for files with unfolded parts. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
  /** Number of lines of a file before the change, by path, for files whose number is known. */
  readonly linesBefore: ReadonlyMap<string, number>;
  /** Keys `<path>:<gap>` of the unfolded parts. */
  readonly unfolded: ReadonlySet<string>;
}

export const spotKey = ({ path, side, line }: Spot): string => `${path}:${side}:${line}`;

/** Returns the place of a line. If `line` is null, returns the place of the whole file. */
export const spotOf = ({ path }: DiffFile, line: DiffLine | null): Spot => ({
  path,
  side: line?.after === null ? 'before' : 'after',
  line: line?.after ?? line?.before ?? 0,
});

/** Pairs removed lines with the added lines that replace them, in order. A line without a counterpart is paired with null. */
export const pairsOf = (hunk: Hunk): readonly (readonly [DiffLine | null, DiffLine | null])[] => {
  const pairs: (readonly [DiffLine | null, DiffLine | null])[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = (): void => {
    for (let i = 0; i < Math.max(removed.length, added.length); i++)
      pairs.push([removed[i] ?? null, added[i] ?? null]);
    [removed, added] = [[], []];
  };
  for (const line of hunk.lines) {
    if (line.sign === '-') {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.sign === '+') added.push(line);
    else {
      flush();
      pairs.push([line, line]);
    }
  }
  flush();
  return pairs;
};

export const rowsOf = (input: RowsInput): readonly Row[] => {
  const rows: Row[] = [];
  const findings = groupBy(input.findings, ({ path }) => path);
  const spots = new Map<string, Spot>(input.comments.map((spot) => [spotKey(spot), spot]));
  input.files.forEach((file, index) => {
    const add: AddRow = (key, row) => {
      rows.push({ ...row, key: `${index}:${key}`, file: index });
    };
    fileRows(add, file, { ...input, findings: findings.get(file.path) ?? [] }, spots);
  });
  return rows;
};

type AddRow = (key: string, row: DistributiveOmit<Row, 'key' | 'file'>) => void;

/** Adds the rows of one file. `input.findings` has only the findings in this file. */
const fileRows = (
  add: AddRow,
  file: DiffFile,
  input: RowsInput,
  spots: ReadonlyMap<string, Spot>,
): void => {
  const { path } = file;
  const { findings } = input;
  const shownFindings = new Set<Finding>();
  const addFinding = (finding: Finding): void => {
    shownFindings.add(finding);
    add(`finding:${findings.indexOf(finding)}`, { kind: 'finding', finding });
  };
  const addComment = (spot: Spot): void => {
    const found = spots.get(spotKey(spot));
    if (found !== undefined)
      add(`comment:${spot.side}:${spot.line}`, { kind: 'comment', spot: found });
  };
  add('file', { kind: 'file' });
  if (input.folded.has(path)) return;
  addComment(spotOf(file, null));
  const linesInDiff = visibleLines(file);
  // A finding whose line is not in the diff is shown at the top of the file.
  for (const finding of findings)
    if (finding.lines === undefined || !linesInDiff.has(finding.lines[1])) addFinding(finding);
  file.notes.forEach((text, i) => add(`note:${i}`, { kind: 'note', text }));
  const addRemarks = (line: DiffLine): void => {
    if (line.after !== null)
      for (const finding of findings)
        if (!shownFindings.has(finding) && finding.lines?.[1] === line.after) addFinding(finding);
    addComment(spotOf(file, line));
  };
  const addLine = (line: DiffLine, other: DiffLine | null, hunk: number): void => {
    add(`l:${line.before ?? ''}:${line.after ?? ''}`, { kind: 'line', line, other, hunk });
    addRemarks(line);
  };
  const addPair = (before: DiffLine | null, after: DiffLine | null, hunk: number): void => {
    const key = `p:${before?.before ?? ''}:${after?.after ?? ''}`;
    add(key, { kind: 'pair', before, after, hunk });
    if (before !== null && before !== after) addRemarks(before);
    if (after !== null) addRemarks(after);
  };
  const addGap = (n: number, from: number, to: number, shift: number): void => {
    if (to < from) return;
    const texts = input.texts.get(path);
    if (texts === undefined || !input.unfolded.has(`${path}:${n}`)) {
      add(`fold:${n}`, { kind: 'fold', gap: n, from, to, shift });
      return;
    }
    for (let number = from; number <= Math.min(to, texts.length); number++) {
      const line: DiffLine = {
        sign: ' ',
        text: texts[number - 1] ?? '',
        before: number - shift,
        after: number,
      };
      if (input.layout === 'split') addPair(line, line, -1);
      else addLine(line, null, -1);
    }
  };
  let next = 1;
  let shift = 0;
  file.hunks.forEach((hunk, h) => {
    const start = hunk.afterLines === 0 ? hunk.afterStart + 1 : hunk.afterStart;
    if (!file.isNew && !file.isDeleted) addGap(h, next, start - 1, shift);
    add(`hunk:${h}`, { kind: 'hunk', hunk: h, text: hunkText(hunk, h, file.hunks.length) });
    if (input.layout === 'split')
      for (const [before, after] of pairsOf(hunk)) addPair(before, after, h);
    else {
      const others = partners(hunk);
      for (const line of hunk.lines) addLine(line, others.get(line) ?? null, h);
    }
    next = start + hunk.afterLines;
    shift += hunk.afterLines - hunk.beforeLines;
  });
  const known = input.linesBefore.get(path);
  const end =
    input.texts.get(path)?.length ??
    (known === undefined ? Number.MAX_SAFE_INTEGER : known + shift);
  if (file.hunks.length > 0 && !file.isNew && !file.isDeleted)
    addGap(file.hunks.length, next, end, shift);
};

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

const hunkText = (
  { beforeStart, beforeLines, afterStart, afterLines }: Hunk,
  index: number,
  hunkCount: number,
): string => {
  const range = (start: number, count: number): string =>
    `${start}-${Math.max(start, start + count - 1)}`;
  const number = hunkCount > 1 ? `hunk ${index + 1}/${hunkCount}: ` : '';
  return `${number}lines ${range(beforeStart, beforeLines)} become ${range(afterStart, afterLines)}`;
};

const visibleLines = (file: DiffFile): ReadonlySet<number> => {
  const lines = new Set<number>();
  for (const hunk of file.hunks)
    for (const line of hunk.lines) if (line.after !== null) lines.add(line.after);
  return lines;
};

/** Maps each changed line to its counterpart on the other side. */
const partners = (hunk: Hunk): ReadonlyMap<DiffLine, DiffLine> => {
  const found = new Map<DiffLine, DiffLine>();
  for (const [before, after] of pairsOf(hunk)) {
    if (before === null || after === null || before === after) continue;
    found.set(before, after);
    found.set(after, before);
  }
  return found;
};
