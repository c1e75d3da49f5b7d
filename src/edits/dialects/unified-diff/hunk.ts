/** One hunk of a unified diff: how far it reaches, and its lines. */
import { closesFence, type Fence } from '../../text/fence.js';
import type { Hint, HunkHint, LinesEdit } from '../../edit.js';
import { type AnswerReader, fault } from '../reader.js';
import type { Fault } from '../../types.js';

/** Both sides end with a line end, as nearly all do: one object for all of them. */
const BOTH_ENDED: HunkHint['lacksNewline'] = { before: false, after: false };

/** The lines of a hunk on both sides, put together one after another. Tens of thousands of hunks are in memory at once. */
export class HunkLines {
  readonly before: string[] = [];
  readonly after: string[] = [];
  signs = '';
  lacksNewline = BOTH_ENDED;
  /** As in `HunkHint`, up to the last line that ended in CRLF. */
  #returns = '';

  /** `sign`: as in `HunkHint`. `isReturned`: the line ends in CRLF, which is part of it where bytes are exact. */
  add(sign: string, text: string, isReturned = false): void {
    if (sign !== '+') this.before.push(text);
    if (sign !== '-') this.after.push(text);
    if (isReturned) this.#returns = `${this.#returns.padEnd(this.signs.length)}r`;
    this.signs += sign;
  }
  /** As in `HunkHint`. */
  get returns(): string | null {
    return this.#returns === '' ? null : this.#returns.padEnd(this.signs.length);
  }

  /** `\ No newline at end of file` follows the last line. */
  endWithoutNewline(): void {
    const sign = this.signs.at(-1);
    const { before, after } = this.lacksNewline;
    this.lacksNewline = { before: before || sign !== '+', after: after || sign !== '-' };
  }
  /** Has a side with this line ended already? */
  isBehindEnd(sign: string): boolean {
    const { before, after } = this.lacksNewline;
    return (before && sign !== '+') || (after && sign !== '-');
  }
}

export interface Hunk {
  /** 0-based line that the header states for each side: the first of the hunk, or the place between lines where the side has none; -1: it states none. */
  readonly oldAt: number;
  readonly newAt: number;
  /** Numbers of lines that the header states. */
  readonly oldCount: number;
  readonly newCount: number;
  readonly body: HunkLines;
  /** 1-based line of the answer where the header is. */
  readonly answerLine: number;
  /** The header states the numbers above; else they are those of the lines. */
  readonly isNumbered: boolean;
}

export const hasWrongCounts = ({ body, oldCount, newCount }: Hunk): boolean =>
  body.before.length !== oldCount || body.after.length !== newCount;
/** Has it fewer lines than its header states? */
export const isShort = ({ body, oldCount, newCount }: Hunk): boolean =>
  body.before.length < oldCount || body.after.length < newCount;

/** Returns a hunk as edit `index` of the file that `path` names. `hint`: of that file. */
export const editOf = (
  hunk: Hunk,
  path: string,
  {
    hint,
    index,
    bounds,
  }: { readonly hint: Hint; readonly index: number; readonly bounds: HunkHint['bounds'] },
): LinesEdit => {
  const { oldAt, newAt, oldCount, newCount, isNumbered, body, answerLine } = hunk;
  const { before, after, signs, returns, lacksNewline } = body;
  const header = isNumbered ? { newLine: newAt + 1, oldCount, newCount } : null;
  // Named one by one: there may be tens of thousands of them.
  return {
    kind: 'lines',
    path,
    before,
    after,
    hint: {
      index,
      responseLine: answerLine,
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

/** A line of dots between two hunks, which stands for what lies between them in the file. */
export const isGap = (lines: readonly string[], lineIndex: number): boolean =>
  /^[[(]?(?:\.{3,}|\u2026)[\])]?\s*$/.test(lines[lineIndex] ?? '') &&
  isHunkHeader(lines[afterBlank(lines, lineIndex + 1)] ?? '');

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
  const hunk =
    numbers === null ? unnumbered(body, lineIndex + 1) : numbered(body, lineIndex + 1, numbers);
  const open = afterBlank(lines, end) >= lines.length;
  if (body.signs === '')
    return {
      ok: false,
      open,
      code: 'cut_hunk',
      message: `The hunk "${header}" has no lines. Send the whole hunk.`,
    };
  if (!whole && open && isShort(hunk)) {
    const message = `The hunk "${header}" ends early: its header states ${hunk.oldCount} old and ${hunk.newCount} new lines, the answer ends after ${body.before.length} and ${body.after.length}. Send the whole hunk, with matching counts.`;
    return { ok: false, open, code: 'cut_hunk', message };
  }
  return { ok: true, hunk, next: end };
};

type HunkNumbers = Pick<Hunk, 'oldAt' | 'newAt' | 'oldCount' | 'newCount'>;

const numbered = (
  body: HunkLines,
  answerLine: number,
  { oldAt, newAt, oldCount, newCount }: HunkNumbers,
): Hunk => ({ oldAt, newAt, oldCount, newCount, body, answerLine, isNumbered: true });

/** Reads the numbers of a header; null: it has none. */
const numbersOf = (header: string): HunkNumbers | null => {
  const numbers = HEADER.exec(header);
  if (numbers === null) return null;
  const oldCount = Number(numbers[2] ?? 1);
  const newCount = Number(numbers[4] ?? 1);
  const oldAt = placeOf(numbers[1] ?? '', oldCount);
  return { oldAt, newAt: placeOf(numbers[3] ?? '', newCount), oldCount, newCount };
};

/** Lines are counted from 1, so a side that has lines and states line 0 states none: the result is -1, which is no line. */
const placeOf = (start: string, count: number): number =>
  count === 0 ? Number(start) : Number(start) - 1;

/** Tells whether a line ends a hunk whatever its counts say. */
const endTest = (lines: readonly string[], fence: Fence | null): ((i: number) => boolean) => {
  return (i) => {
    const line = lines[i];
    if (line === undefined || isHard(line)) return true;
    // A fence with a blank before it is a context line.
    return fence !== null && line.startsWith(fence.mark) && closesFence(line, fence);
  };
};

/** Returns a hunk whose header states nothing. */
export const unnumbered = (body: HunkLines, answerLine: number): Hunk => ({
  oldAt: -1,
  newAt: -1,
  oldCount: body.before.length,
  newCount: body.after.length,
  body,
  answerLine,
  isNumbered: false,
});

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
  while (!ends(i) && !isSoft(lines, i) && !isGap(lines, i)) i++;
  while (i > from && lines[i - 1] === '') i--;
  return i;
};

const toHunkLines = ({ lines, returned }: Answer, from: number, to: number): HunkLines | Fault => {
  const body = new HunkLines();
  let isMarked = true;
  let isMisplaced = false;
  for (let i = from; i < to; i++) {
    const raw = lines[i] ?? '';
    if (isNoNewline(raw)) {
      const message = `Line ${i + 1} of the answer, "${raw}", does not follow a hunk line.`;
      if (isMarked) return fault('stray_line', message);
      body.endWithoutNewline();
      isMarked = true;
      continue;
    }
    isMarked = false;
    const isUnsigned = !/^[ +-]/.test(raw);
    const sign = isUnsigned ? '_' : raw.charAt(0);
    isMisplaced ||= body.isBehindEnd(sign);
    // A CR right before the missing line end is part of the line: only the diff's own LF was taken off.
    const isReturned = returned[i] === 1;
    const keepsReturn = isReturned && isNoNewline(lines[i + 1] ?? '') && returned[i + 1] !== 1;
    const text = (isUnsigned ? raw : raw.slice(1)) + (keepsReturn ? '\r' : '');
    body.add(sign, text, isReturned && !keepsReturn);
  }
  if (!isMisplaced) return body;
  return fault(
    'stray_line',
    `In the hunk at line ${from} of the answer, lines follow \`\\ No newline at end of file\`.`,
  );
};
