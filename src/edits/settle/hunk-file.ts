/** The file of hunks that all mean it as it was shown: where they stand, and what they change. */
import type { ToleranceSettings } from '../../shared/formats.js';
import type { HunkHint, LinesEdit } from '../edit.js';
import { type LinePlace, mayUse } from '../locate.js';
import { HunkText, type DoneHunk, maybeDone } from '../locate/hunk-text.js';
import { carryLines } from '../locate/likeness.js';
import { type Change, ChangeList, changesFrom } from '../text/changes.js';
import type { SpliceBase } from '../text/codec.js';
import { haveNothingInCommon, lineOrigins } from '../text/line-diff.js';
import { indexOf, type LineIndex, type Text } from '../text/lines.js';
import { exactBase, withoutBom } from '../text/to-splices.js';
import type { ContextFile, Fault } from '../types.js';

const NO_TEXT: Text = { lines: [], ends: [] };

/** Where the hunks of one file stand, or why not. */
export interface HunksFound {
  readonly index: LineIndex;
  readonly located: readonly { readonly edit: LinesEdit; readonly place: LinePlace }[];
  readonly refusals: readonly { readonly edit: LinesEdit; readonly fault: Fault }[];
  /** Edits that have been made already. */
  readonly done: readonly LinesEdit[];
  /** What the places count in if that is not the file's own lines. */
  readonly exact?: SpliceBase;
}

export interface HunkSearch {
  readonly file: ContextFile;
  readonly edits: readonly LinesEdit[];
  readonly settings: ToleranceSettings | undefined;
  /** The file is the one that the response was written for. */
  readonly isKnown: boolean;
  /** A hunk of the response holds a carriage return, so its bytes are exact. */
  readonly isExact: boolean;
}

export const findHunks = (search: HunkSearch): HunksFound =>
  (meansBytes(search) ? findExactly(search) : null) ?? findByText(search);

/** Do the hunks of the file mean bytes? Those of a new file do if one of them holds a carriage return. */
const meansBytes = ({ isExact, file, edits }: HunkSearch): boolean =>
  isExact && (file.bytes !== null || edits.some(isByBytes));

interface Located {
  readonly edit: LinesEdit;
  readonly place: LinePlace;
}

interface Refused {
  readonly edit: LinesEdit;
  readonly fault: Fault;
}

const find = (text: Text, { edits, settings, isKnown }: HunkSearch): HunksFound => {
  const hunks = new HunkText(text, edits, settings, isKnown);
  const located: Located[] = [];
  const refusals: Refused[] = [];
  const doneHunks: { readonly edit: LinesEdit; readonly hunk: DoneHunk }[] = [];
  let added = 0;
  for (const stated of byStatedLine(edits)) {
    if (refusals.length >= stated.hint.rules.mostRefusals) break;
    const edit = movedBy(stated, added);
    const place = hunks.place(edit);
    const hunk = 'code' in place && place.code === 'context_mismatch' ? hunks.findDone(edit) : null;
    if (hunk !== null) {
      doneHunks.push({ edit, hunk });
      hunks.pass(edit);
      added += edit.after.length - edit.before.length;
    } else if ('code' in place) refusals.push({ edit, fault: place });
    else located.push({ edit, place });
  }
  located.sort((a, b) => a.place.first - b.place.first);
  refusals.push(...overlapsIn([...located, ...doneHunks.map(asLocated)]));
  // A patch states no lines, so without proof its chunks are done if nothing of the file is left to do.
  const isLeft = located.length + refusals.length > 0;
  const unsure = doneHunks.filter(
    ({ edit, hunk }) => !hunk.isSure && (isLeft || edit.hint.hunk?.bounds === null),
  );
  refusals.push(...unsure.map(({ edit, hunk }) => ({ edit, fault: maybeDone(edit, hunk) })));
  return { index: indexOf(text), located, refusals, done: doneHunks.map(({ edit }) => edit) };
};

/** Returns a hunk that states its line in a text with so many lines more before it. */
const movedBy = (edit: LinesEdit, lines: number): LinesEdit => {
  const { line } = edit.hint;
  return lines === 0 || line === null
    ? edit
    : { ...edit, hint: { ...edit.hint, line: line + lines } };
};

/** Returns a hunk that has been made as the one that would undo it. */
const asLocated = ({
  edit,
  hunk: { first },
}: {
  readonly edit: LinesEdit;
  readonly hunk: DoneHunk;
}): Located => {
  const undoing = reversedHunk(edit);
  const { before, after } = undoing;
  return { edit: undoing, place: { first, before, after, tolerances: [], kept: null } };
};

const overlapsIn = (hunks: readonly Located[]): readonly Refused[] => {
  const sorted = hunks.toSorted((a, b) => a.place.first - b.place.first);
  return sorted.slice(1).flatMap((next, i) => {
    const last = sorted[i];
    const fault = last === undefined ? null : overlap(last, next);
    return fault === null ? [] : [{ edit: next.edit, fault }];
  });
};

/** The hunks of a diff in the order of the lines that they state, if all state one; those of a patch state none. */
const byStatedLine = (edits: readonly LinesEdit[]): readonly LinesEdit[] => {
  const isStated = edits.every(({ hint }) => hint.line !== null && hint.hunk?.bounds === null);
  return isStated ? [...edits].sort((a, b) => (a.hint.line ?? 0) - (b.hint.line ?? 0)) : edits;
};

/** Refuses a hunk that changes what the one before it in the file changes. They may share context. */
const overlap = (last: Located, next: Located): Fault | null => {
  const end = last.place.first + last.place.before.length;
  if (next.place.first >= end) return null;
  const [earlier, later] = [changedBy(last), changedBy(next)];
  const isApart = earlier === null || later === null || earlier.to < later.from;
  // One inserts where the other one replaces the next line, or behind the line that it replaced.
  const touch =
    earlier?.to === later?.from &&
    !(earlier?.endsInserting === true && later?.beginsInserting === true);
  if (isApart || touch) return null;
  return {
    code: 'overlap',
    message: `It belongs at line ${next.place.first + 1}, but the hunk before it reaches to line ${end}. Send hunks in the order of the file, joined where they touch the same lines.`,
  };
};

interface ChangedLines {
  /** Base lines [from, to) from the first change to the last; an insertion changes none. */
  readonly from: number;
  readonly to: number;
  readonly beginsInserting: boolean;
  readonly endsInserting: boolean;
}

/** Returns what a hunk changes; null: nothing. */
const changedBy = ({ edit, place }: Located): ChangedLines | null => {
  const signs = edit.hint.hunk?.signs ?? '';
  const runs = [...signs.matchAll(/[-+]+/g)];
  const [first, last] = [runs[0], runs.at(-1)];
  if (first === undefined || last === undefined) return null;
  const oldBefore = (offset: number): number =>
    place.first + signs.slice(0, offset).replaceAll('+', '').length;
  return {
    from: oldBefore(first.index),
    to: oldBefore(last.index + last[0].length),
    beginsInserting: !first[0].includes('-'),
    endsInserting: !last[0].includes('-'),
  };
};

const NO_LIKENESS = {
  line_endings: false,
  trailing_space: false,
  lookalikes: false,
  tabs: false,
  indent: false,
};
/** No tolerance at all: the numbers and the text are right. */
export const AS_WRITTEN = { ...NO_LIKENESS, lost_blank: false, counts: false, line_drift: false };

/** Null: not every hunk is in the file with its carriage returns. */
const findExactly = (search: HunkSearch): HunksFound | null => {
  const { file, edits } = search;
  const exact = exactBase(file.bytes, file.encoding);
  const settings = { ...search.settings, ...NO_LIKENESS };
  const result = find(exact.text, { ...search, edits: edits.map(withReturns), settings });
  return result.refusals.length > 0 ? null : { ...result, exact };
};

/** Finds hunks in the file's own lines. What the response says of line ends is a tolerance if it differs. */
const findByText = (search: HunkSearch): HunksFound => {
  const { file, edits, isExact, settings } = search;
  const own = file.hasBom === true ? edits.map(withoutBoms) : edits;
  const result = find(file.text ?? NO_TEXT, { ...search, edits: own });
  const { index, located, done } = result;
  if (result.refusals.length > 0) return result;
  if (!isExact) {
    const isByBytes = index.eol === 'mixed' && edits.some(keepsReturns);
    return isByBytes ? (inExactLines(search, result) ?? result) : result;
  }
  const refusals: { edit: LinesEdit; fault: Fault }[] = [];
  const withEnds = located.map(({ edit, place }) => {
    const lineIndex = differingEnd(index, edit, place.first);
    if (lineIndex === undefined) return { edit, place };
    const message = `Line ${lineIndex + 1} of the file has another line ending than the answer's: one of them has a carriage return. Send the lines with the line endings of the file.`;
    if (!mayUse(edit, 'line_endings', settings))
      refusals.push({ edit, fault: { code: 'line_endings', message } });
    const tolerances = [...new Set([...place.tolerances, 'line_endings' as const])];
    return { edit, place: { ...place, tolerances } };
  });
  return { index, located: withEnds, refusals, done };
};

/** The same places, if all that is quoted occurs there exactly; null: it does not. */
const inExactLines = ({ file, edits }: HunkSearch, result: HunksFound): HunksFound | null => {
  const exact = exactBase(file.bytes, file.encoding);
  const index = indexOf(exact.text);
  const quotedBy = new Map(edits.map((edit) => [edit.hint.index, edit]));
  const located = result.located.map(({ edit, place }) => {
    const quoted = quotedBy.get(edit.hint.index) ?? edit;
    const { before, after } = quoted;
    return { edit: quoted, place: { ...place, before, after } };
  });
  const isExact = located.every(({ place: { before, first } }) =>
    before.every((text, i) => index.is(first + i, text)),
  );
  return isExact ? { index, located, refusals: [], done: result.done, exact } : null;
};

/** Returns the first base line that the hunk quotes with another end. */
const differingEnd = (index: LineIndex, edit: LinesEdit, first: number): number | undefined => {
  const { before, hint } = edit;
  const returns = sidesOf(hint.hunk?.returns ?? null, hint.hunk).before;
  const lacksLast = hint.hunk?.lacksNewline.before === true;
  for (let i = 0; i < before.length; i += 1) {
    if (lacksLast && i === before.length - 1) continue;
    const end = returns.charAt(i) === 'r' ? '\r\n' : '\n';
    if (end !== (index.end(first + i) || '\n')) return first + i;
  }
  return undefined;
};

/** Splits what is said of each line of a hunk by the sides that have the line. */
const sidesOf = (
  letters: string | null,
  hunk: HunkHint | null,
): { readonly before: string; readonly after: string } => {
  let [before, after] = ['', ''];
  const signs = hunk?.signs ?? '';
  for (let i = 0; i < (letters ?? '').length; i += 1) {
    const letter = letters?.charAt(i) ?? '';
    if (signs[i] !== '+') before += letter;
    if (signs[i] !== '-') after += letter;
  }
  return { before, after };
};

const keepsReturns = ({ hint }: LinesEdit): boolean => hint.rules.sections?.keepsReturns === true;

/** The bytes of a diff are exact if one of its lines holds a carriage return. */
export const isByBytes = (edit: LinesEdit): boolean => {
  const { before, after, hint } = edit;
  if (!keepsReturns(edit)) return false;
  return (
    hint.hunk?.returns?.includes('r') === true ||
    [before, after].some((lines) => lines.some((line) => line.includes('\r')))
  );
};

const withReturns = (edit: LinesEdit): LinesEdit => {
  const { hunk } = edit.hint;
  if (hunk?.returns == null) return edit;
  const returns = sidesOf(hunk.returns, hunk);
  const ended = (lines: readonly string[], letters: string): string[] =>
    lines.map((line, i) => (letters.charAt(i) === 'r' ? `${line}\r` : line));
  return {
    ...edit,
    before: ended(edit.before, returns.before),
    after: ended(edit.after, returns.after),
  };
};

const withoutBoms = (edit: LinesEdit): LinesEdit => ({
  ...edit,
  before: edit.before.map(withoutBom),
  after: edit.after.map(withoutBom),
});

const TURNED_SIGNS: Readonly<Record<string, string>> = { '+': '-', '-': '+' };

/** Returns the hunk that undoes this one. */
export const reversedHunk = (edit: LinesEdit): LinesEdit => {
  const { before, after, hint } = edit;
  const { hunk, line } = hint;
  if (hunk === null) return edit;
  const { header, lacksNewline } = hunk;
  return {
    ...edit,
    before: after,
    after: before,
    hint: {
      ...hint,
      line: header === null || header.newLine === 0 ? null : header.newLine,
      hunk: {
        ...hunk,
        signs: hunk.signs.replace(/[+-]/g, (sign) => TURNED_SIGNS[sign] ?? sign),
        lacksNewline: { before: lacksNewline.after, after: lacksNewline.before },
        header: header && {
          newLine: line ?? 0,
          oldCount: header.newCount,
          newCount: header.oldCount,
        },
      },
    },
  };
};

/** What the hunks change. Context, and lines that a hunk removes and adds again, keep their base lines. */
export const changesOf = ({ index, located }: HunksFound): readonly Change[] => {
  const list = new ChangeList();
  for (const { edit, place } of located) addHunk(list, index, edit.hint.hunk?.signs ?? '', place);
  return list.done();
};

const addHunk = (
  list: ChangeList,
  index: LineIndex,
  signs: string,
  { first, before, after }: LinePlace,
): void => {
  let [old, fresh] = [0, 0];
  for (let i = 0; i < signs.length;) {
    const start = { old, fresh };
    for (; signs[i] === '-' || signs[i] === '+'; i += 1) {
      if (signs[i] === '-') old += 1;
      else fresh += 1;
    }
    if (old > start.old || fresh > start.fresh)
      replaceLines(
        list,
        { index, from: first + start.old },
        before.slice(start.old, old),
        after.slice(start.fresh, fresh),
      );
    for (; i < signs.length && signs[i] !== '-' && signs[i] !== '+'; i += 1) {
      old += 1;
      fresh += 1;
    }
  }
};

/** The base lines from `from` on, quoted as `old`, become `fresh`; what both have in common stays. */
const replaceLines = (
  list: ChangeList,
  { index, from }: { readonly index: LineIndex; readonly from: number },
  old: readonly string[],
  fresh: readonly string[],
): void => {
  // Most hunks quote lines as they are and put others there, with nothing to keep.
  const isExact = old.every((line, i) => index.is(from + i, line));
  if (old.length === 0 || fresh.length === 0 || (isExact && haveNothingInCommon(old, fresh))) {
    list.put(from, from + old.length, fresh);
    return;
  }
  const kept = lineOrigins(old, fresh);
  const carried = carryLines(old, index.range(from, from + old.length), fresh, kept);
  const lines = fresh.map((line, j) => carried[j] ?? line);
  for (const change of changesFrom(old.length, lines, kept))
    list.put(from + change.from, from + change.to, change.lines);
};

/** What `\ No newline at end of file` on one side only says about the result's end; undefined: nothing. */
export const finalNewlineOf = ({ located }: HunksFound): boolean | undefined => {
  let final: boolean | undefined;
  for (const { edit } of located) {
    const { before, after } = edit.hint.hunk?.lacksNewline ?? { before: false, after: false };
    if (before !== after) final = !after;
  }
  return final;
};
