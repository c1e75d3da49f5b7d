/** One hunk of a unified diff: how far it reaches, and its lines. */
import { closesFence, type Fence } from '../../text/fence.js';
import type { Hint, HunkHint, LinesEdit } from '../../edit.js';
import { type AnswerReader, fault } from '../reader.js';
import type { Fault } from '../../types.js';

export interface HunkLine {
  readonly sign: ' ' | '-' | '+';
  /** The line without its sign. */
  readonly text: string;
  /** A context line that came without its blank. */
  readonly unsigned: boolean;
  /** The answer's line ends in CRLF: the carriage return is part of the line where bytes are exact. */
  readonly returned?: boolean;
  /** `\ No newline at end of file` follows. */
  noNewline: boolean;
}

export interface Hunk {
  /** 0-based line that the header states for each side: the first of the hunk, or the place between lines where the side has none; -1: it states none. */
  readonly oldAt: number;
  readonly newAt: number;
  /** Numbers of lines that the header states. */
  readonly oldCount: number;
  readonly newCount: number;
  readonly lines: readonly HunkLine[];
  readonly oldLines: number;
  readonly newLines: number;
  /** 1-based line of the answer where the header stands. */
  readonly answerLine: number;
  /** The header states the numbers above; else they are those of the lines. */
  readonly isNumbered: boolean;
}

export const wrongCounts = ({ oldLines, oldCount, newLines, newCount }: Hunk): boolean =>
  oldLines !== oldCount || newLines !== newCount;

/** Returns a hunk as an edit of the file that `hint` and `path` name. */
export const editOf = (
  hunk: Hunk,
  path: string,
  hint: Hint,
  bounds: HunkHint['bounds'],
): LinesEdit => {
  const [before, after]: [string[], string[]] = [[], []];
  const lacksNewline = { before: false, after: false };
  let signs = '';
  for (const { sign, text, unsigned, noNewline } of hunk.lines) {
    signs += unsigned ? '_' : sign;
    if (sign !== '+') before.push(text);
    if (sign !== '-') after.push(text);
    if (noNewline && sign !== '+') lacksNewline.before = true;
    if (noNewline && sign !== '-') lacksNewline.after = true;
  }
  const hasReturns = hunk.lines.some(({ returned }) => returned === true);
  const returns = hasReturns
    ? hunk.lines.map(({ returned }) => (returned === true ? 'r' : ' ')).join('')
    : null;
  const { oldAt, newAt, oldCount, newCount, isNumbered } = hunk;
  const header = isNumbered ? { newLine: newAt + 1, oldCount, newCount } : null;
  return {
    kind: 'lines',
    path,
    before,
    after,
    hint: {
      index: hint.index,
      responseLine: hint.responseLine,
      section: hint.section,
      rules: hint.rules,
      line: oldAt < 0 ? null : oldAt + 1,
      refusal: null,
      readings: null,
      hunk: { signs, returns, lacksNewline, header, bounds },
    },
  };
};

const HEADER = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: |$)/;
/** `@@`, `@@ ... @@`, `@@ heading`: it states no lines. */
const BARE = /^@@(?: (?! *[-+]?\d)|$)/;
const NO_NEWLINE = /^\\ No newline at end of file/i;
/** Few lines are worth the expression. */
const isNoNewline = (line: string): boolean => line.startsWith('\\') && NO_NEWLINE.test(line);

export const isHunkHeader = (line: string): boolean => HEADER.test(line) || BARE.test(line);

/** The line of `diff`, `hg diff` or `svn diff` before the names of a file. */
export const isPrelude = (line: string): boolean => /^(?:diff -|Index: )/.test(line);
/** A line that begins something else, whatever counts say; few lines are worth the expressions. */
const isHard = (line: string): boolean =>
  line.startsWith('@@') ? isHunkHeader(line) : !/^[-+ ]/.test(line) && isPrelude(line);
/** Also the pair of lines that begins a file without `diff --git`; inside the counts they are a removed `-- x` and an added `++ y`. */
const isSoft = (lines: readonly string[], lineIndex: number): boolean =>
  (lines[lineIndex]?.startsWith('--- ') ?? false) &&
  (lines[lineIndex + 1]?.startsWith('+++ ') ?? false) &&
  isHunkHeader(lines[lineIndex + 2] ?? '');

const signed = (line: string): boolean => /^[ +\-\\]/.test(line);

/** `isItem`: is the line one of a list in prose, which no hunk could hold? */
type Answer = Pick<AnswerReader, 'lines' | 'returned'> & {
  readonly isItem: (lineIndex: number) => boolean;
};

export type ReadHunk =
  | { readonly ok: true; readonly hunk: Hunk; readonly next: number }
  /** `open`: the answer ends before the hunk does. */
  | ({ readonly ok: false; readonly open: boolean } & Fault);

/**
 * The hunk whose header is line `at`. `fence`: the one round the diff, where there is one. `whole`: the answer
 * is known not to be cut; otherwise a last hunk with fewer lines than its header states is taken for a cut one.
 */
export const readHunk = (
  answer: Answer,
  lineIndex: number,
  fence: Fence | null,
  whole: boolean,
): ReadHunk => {
  const { lines } = answer;
  const header = lines[lineIndex] ?? '';
  const numbers = numbersOf(header);
  const ends = endTest(lines, fence);
  const end =
    (numbers && endByCounts(answer, lineIndex + 1, numbers, ends)) ??
    endByShape(lines, lineIndex + 1, ends);
  const body = toHunkLines(answer, lineIndex + 1, end);
  if ('code' in body) return { ok: false, open: false, ...body };
  const bare = unnumbered({ lines: body, answerLine: lineIndex + 1 });
  const { oldLines, newLines } = bare;
  const { oldCount, newCount } = numbers ?? bare;
  const open = afterBlank(lines, end) >= lines.length;
  if (body.length === 0)
    return {
      ok: false,
      open,
      code: 'cut_hunk',
      message: `The hunk "${header}" has no lines. Send the whole hunk.`,
    };
  if (!whole && open && (oldLines < oldCount || newLines < newCount)) {
    const message = `The hunk "${header}" ends early: its header states ${oldCount} old and ${newCount} new lines, the answer ends after ${oldLines} and ${newLines}. Send the whole hunk, with matching counts.`;
    return { ok: false, open, code: 'cut_hunk', message };
  }
  return { ok: true, hunk: { ...bare, ...numbers }, next: end };
};

type HunkNumbers = Pick<Hunk, 'oldAt' | 'newAt' | 'oldCount' | 'newCount' | 'isNumbered'>;

/** Reads the numbers of a header; null: it has none. */
const numbersOf = (header: string): HunkNumbers | null => {
  const numbers = HEADER.exec(header);
  if (numbers === null) return null;
  const [, oldStart = '', oldN, newStart = '', newN] = numbers;
  const [oldCount, newCount] = [Number(oldN ?? 1), Number(newN ?? 1)];
  // Lines are counted from 1, so a side that has lines and states line 0 states none: -1, where nothing stands.
  const place = (start: string, count: number): number =>
    count === 0 ? Number(start) : Number(start) - 1;
  return {
    oldAt: place(oldStart, oldCount),
    newAt: place(newStart, newCount),
    oldCount,
    newCount,
    isNumbered: true,
  };
};

/** Tells whether a line ends a hunk whatever its counts say. */
const endTest = (lines: readonly string[], fence: Fence | null): ((i: number) => boolean) => {
  return (i) => {
    const line = lines[i];
    if (line === undefined || isHard(line)) return true;
    // A fence with a blank before it is a context line.
    return fence !== null && line.startsWith(fence.mark) && closesFence(line, fence);
  };
};

/** A hunk whose header states nothing. */
export const unnumbered = ({ lines, answerLine }: Pick<Hunk, 'lines' | 'answerLine'>): Hunk => {
  const oldLines = lines.filter(({ sign }) => sign !== '+').length;
  const newLines = lines.filter(({ sign }) => sign !== '-').length;
  return {
    oldAt: -1,
    newAt: -1,
    oldCount: oldLines,
    newCount: newLines,
    lines,
    oldLines,
    newLines,
    answerLine,
    isNumbered: false,
  };
};

/** The first line from `from` on that is not blank. */
export const afterBlank = (lines: readonly string[], from: number): number => {
  let lineIndex = from;
  while (lines[lineIndex]?.trim() === '') lineIndex++;
  return lineIndex;
};

/** Where the hunk ends if its counts are right, or null: they run into something else, or lines of a hunk still follow. */
const endByCounts = (
  answer: Answer,
  from: number,
  counts: Pick<Hunk, 'oldCount' | 'newCount'>,
  ends: (i: number) => boolean,
): number | null => {
  const { lines, isItem } = answer;
  const end = countedEnd(lines, from, counts, ends);
  if (end === null) return null;
  const after = afterBlank(lines, end);
  const isClear = ends(after) || isSoft(lines, after) || isSignature(lines, after);
  if (isClear || !signed(lines[after] ?? '')) return end;
  // Behind a blank line added ones may be items of prose, of which no line of the file tells; others are where no file has them.
  const rest = lines.slice(end, endByShape(lines, end, ends));
  const isProse = (line: string, i: number): boolean => !signed(line) || isItem(end + i);
  const isApart = rest.every(isProse) || rest.every((line) => line === '' || line.startsWith('+'));
  return rest[0] === '' && isApart ? end : null;
};

/** Returns the line behind as many as the counts say; null: something else comes before. */
const countedEnd = (
  lines: readonly string[],
  from: number,
  { oldCount, newCount }: Pick<Hunk, 'oldCount' | 'newCount'>,
  ends: (i: number) => boolean,
): number | null => {
  let i = from;
  let oldRest = oldCount;
  let newRest = newCount;
  while (oldRest > 0 || newRest > 0) {
    if (ends(i)) return null;
    const line = lines[i++] ?? '';
    if (isNoNewline(line)) continue;
    if (!line.startsWith('+')) oldRest--;
    if (!line.startsWith('-')) newRest--;
    if (oldRest < 0 || newRest < 0) return null;
  }
  return isNoNewline(lines[i] ?? '') ? i + 1 : i;
};

/** `git format-patch` ends a mail with `-- ` and git's version. */
export const isSignature = (lines: readonly string[], lineIndex: number): boolean =>
  /^-- ?$/.test(lines[lineIndex] ?? '') && /^\d+\.\d+/.test(lines[lineIndex + 1] ?? '');

/** Where the hunk ends by what its lines look like; blank lines before that point separate, they are no context. */
const endByShape = (
  lines: readonly string[],
  from: number,
  ends: (i: number) => boolean,
): number => {
  let i = from;
  while (!ends(i) && !isSoft(lines, i)) i++;
  while (i > from && lines[i - 1] === '') i--;
  return i;
};

const toHunkLines = (
  { lines, returned: returns }: Answer,
  from: number,
  to: number,
): HunkLine[] | Fault => {
  const result: HunkLine[] = [];
  for (let i = from; i < to; i++) {
    const raw = lines[i] ?? '';
    const returned = returns[i] === 1;
    if (isNoNewline(raw)) {
      const before = result.at(-1);
      if (before === undefined || before.noNewline)
        return fault(
          'stray_line',
          `Line ${i + 1} of the answer, "${raw}", does not follow a hunk line.`,
        );
      before.noNewline = true;
      continue;
    }
    const unsigned = !/^[ +-]/.test(raw);
    const sign = unsigned ? ' ' : (raw[0] as HunkLine['sign']);
    // A CR right before the missing line end is part of the line: only the diff's own LF was taken off.
    const keepsReturn = returned && isNoNewline(lines[i + 1] ?? '') && returns[i + 1] !== 1;
    const text = (unsigned ? raw : raw.slice(1)) + (keepsReturn ? '\r' : '');
    result.push({ sign, text, unsigned, returned: returned && !keepsReturn, noNewline: false });
  }
  return misplacedNewline(result, from) ?? result;
};

/** Refuses lines behind `\ No newline at end of file`: on either side it follows the last one. */
const misplacedNewline = (lines: readonly HunkLine[], from: number): Fault | null => {
  if (!lines.some((line) => line.noNewline)) return null;
  const isMisplaced = ['-', '+'].some((side) =>
    lines
      .filter(({ sign }) => sign === ' ' || sign === side)
      .slice(0, -1)
      .some((line) => line.noNewline),
  );
  if (!isMisplaced) return null;
  return fault(
    'stray_line',
    `In the hunk at line ${from} of the answer, lines follow \`\\ No newline at end of file\`.`,
  );
};
