/** The file of edits that name lines of it as it was shown: where those are, whether the model saw them, and what becomes of them. */
import type { RangeEdit } from '../edit.js';
import { linesOf, marksTabs, mergeRanges, withoutTabMarks } from '../listing.js';
import { locate, type RangePlace } from '../locate.js';
import { ClaimText } from '../locate/claim-text.js';
import { type Change, ChangeList, type FilePlan } from '../text/changes.js';
import { withoutFence } from '../text/fence.js';
import { indexOf, indexOfLines, type LineIndex, NO_LINES } from '../text/lines.js';
import { withoutBom } from '../text/to-splices.js';
import type { ApplyOptions, ContextFile, Fault, Reason, UsedTolerance } from '../types.js';

type Located = RangePlace & { readonly edit: RangeEdit };

export interface RangesSettled {
  readonly plans: readonly FilePlan[];
  readonly tolerances: readonly UsedTolerance[];
  readonly notes: readonly Reason[];
  readonly refusals: readonly { readonly edit: RangeEdit; readonly fault: Fault }[];
}

export const settleRanges = (
  path: string,
  file: ContextFile,
  stated: readonly RangeEdit[],
  options: ApplyOptions,
): RangesSettled => {
  const lines = file.text === null ? NO_LINES : indexOf(file.text);
  const isMarked = marksTabs(lines) && stated.some(quotesTabMark);
  const plain = isMarked ? stated.map((edit) => withLines(edit, withoutTabMarks)) : stated;
  const edits = file.hasBom === true ? plain.map((edit) => withLines(edit, withoutBom)) : plain;
  const text = new ClaimText(lines, edits, path, options);
  const located: Located[] = [];
  const tolerances: UsedTolerance[] = [];
  const refusals: { edit: RangeEdit; fault: Fault }[] = [];
  const repeats = new AddedLines();
  for (const edit of edits) {
    const { index, rules } = edit.hint;
    if (refusals.length >= rules.mostRefusals) break;
    const place = repeats.refusal(edit) ?? locate(edit, text) ?? text.absent(edit);
    const settled = 'code' in place ? place : checked(locatedAt(place, edit), file, lines, path);
    if ('code' in settled) {
      refusals.push({ edit, fault: settled });
      continue;
    }
    located.push(settled);
    for (const tolerance of settled.tolerances)
      tolerances.push({ tolerance, path, index, line: settled.from + 1 });
  }
  refusals.push(...overlapsOf(located, path));
  const message = 'Tab marks from the listing were removed from the answer.';
  const notes = isMarked ? [{ code: 'tab_marks', path, message }] : [];
  const plans: FilePlan[] = [{ kind: 'lines', path, changes: changesOf(located) }];
  return { plans, tolerances, notes, refusals };
};

// Named one by one: there may be tens of thousands of them.
const locatedAt = ({ from, to, tolerances }: RangePlace, edit: RangeEdit): Located => ({
  from,
  to,
  tolerances,
  edit,
});

/** Finds edits that add the same lines to the same place. */
class AddedLines {
  readonly #firstOf = new Map<string, number>();

  /** Refuses an edit that repeats an earlier one, and otherwise remembers it. */
  refusal(edit: RangeEdit): Fault | null {
    if (!addsLines(edit)) return null;
    const key = keyOf(edit);
    const first = this.#firstOf.get(key);
    if (first !== undefined) return saysTwice(edit, first);
    this.#firstOf.set(key, edit.hint.index);
    return null;
  }
}

/** Edits that only add lines do not overlap, so two of them may be at one place. */
const addsLines = ({ hint: { type } }: RangeEdit): boolean =>
  type === 'insert' || type === 'append' || type === 'prepend';

/** Equal for edits that say the same, word for word. */
const keyOf = ({ after, hint }: RangeEdit): string => {
  const { type, contextBefore, contextAfter, lines, symbol } = hint;
  return JSON.stringify([type, lines, symbol, contextBefore, contextAfter, after]);
};

const saysTwice = ({ hint }: RangeEdit, first: number): Fault => ({
  code: 'edit_twice',
  message: `The ${hint.type} is the same as operation ${first + 1}. Send it once, or both as one operation.`,
});

/** Refuses lines that the model may not or cannot have meant; takes a fence around the new lines off. */
const checked = (
  located: Located,
  file: ContextFile,
  lines: LineIndex,
  path: string,
): Located | Fault => {
  const fault = outside(located, file, lines.length, path) ?? unseen(located, file, path);
  if (fault !== null) return fault;
  const { edit, tolerances } = located;
  const body = indexOfLines(edit.after);
  const inner = withoutFence(path, body, lines, true);
  if ('code' in inner) return inner;
  if (inner === body) return located;
  return {
    ...located,
    edit: { ...edit, after: inner.all },
    tolerances: [...tolerances, 'fenced_body'],
  };
};

const quotesTabMark = ({ after, hint }: RangeEdit): boolean =>
  [hint.contextBefore, hint.contextAfter, after].some((lines) =>
    lines.some((line) => withoutTabMarks(line) !== line),
  );
const withLines = (edit: RangeEdit, plain: (line: string) => string): RangeEdit => ({
  ...edit,
  after: edit.after.map(plain),
  hint: {
    ...edit.hint,
    contextBefore: edit.hint.contextBefore.map(plain),
    contextAfter: edit.hint.contextAfter.map(plain),
  },
});

/** An operation outside of the call's region belongs to another call. An insert at a border belongs to the region behind it. */
const outside = (
  located: Located,
  file: ContextFile,
  count: number,
  path: string,
): Fault | null => {
  const { region } = file;
  const { edit, from, to } = located;
  if (region === undefined) return null;
  const [first, last] = region;
  const atEnd = from === count && last === count && edit.hint.type !== 'prepend';
  const ok =
    from === to
      ? (first <= from + 1 && from + 1 <= last) || atEnd
      : first <= from + 1 && to <= last;
  const reason = `is outside lines ${first} to ${last}, the part of this call. Leave it to the call for that part.`;
  return ok ? null : unseenLines(located, path, reason);
};

const unseenLines = ({ edit, from, to }: Located, path: string, reason: string): Fault => ({
  code: 'unseen_lines',
  message: `The ${edit.hint.type} touches ${linesOf(from, to)} of ${path}, which ${reason}`,
});

/** An operation on lines that the model was not shown is a guess. An insert needs a seen line on one of its sides. */
const unseen = (located: Located, { seen }: ContextFile, path: string): Fault | null => {
  const { edit, from, to } = located;
  if (seen === undefined || edit.hint.type === 'append' || edit.hint.type === 'prepend')
    return null;
  const ranges = mergeRanges(seen, Infinity);
  const areSeen = (first: number, last: number): boolean =>
    ranges.some(([a, b]) => a <= first && last <= b);
  if (from === to ? areSeen(from, from) || areSeen(to + 1, to + 1) : areSeen(from + 1, to))
    return null;
  const shown = seen.map(([a, b]) => (a === b ? `${a}` : `${a}-${b}`)).slice(0, 30);
  const reason = `the listing did not show. Shown are the lines ${shown.join(', ')}. Edit only those.`;
  return unseenLines(located, path, reason);
};

/** Prepends come before inserts at line 1, appends after inserts behind the last line; then the order of the answer. */
const RANK = { prepend: 0, insert: 1, append: 2, replace: 3, delete: 3 };
const rank = ({ edit }: Located): number => RANK[edit.hint.type];
const inOrder = (located: readonly Located[]): Located[] =>
  [...located].sort(
    (a, b) => a.from - b.from || rank(a) - rank(b) || a.edit.hint.index - b.edit.hint.index,
  );

/** The later of two overlapping edits is refused. */
const overlapsOf = (
  located: readonly Located[],
  path: string,
): { readonly edit: RangeEdit; readonly fault: Fault }[] => {
  const refusals: { edit: RangeEdit; fault: Fault }[] = [];
  let widest: Located | null = null;
  for (const next of inOrder(located)) {
    if (widest !== null && next.from < widest.to) {
      const [first, second] =
        widest.edit.hint.index < next.edit.hint.index
          ? [widest.edit, next.edit]
          : [next.edit, widest.edit];
      const message = `The ${next.edit.hint.type} at line ${next.from + 1} overlaps operation ${first.hint.index + 1} (lines ${widest.from + 1} to ${widest.to}) in ${path}. Combine both changes in one operation.`;
      refusals.push({ edit: second, fault: { code: 'overlap', message } });
    }
    if (widest === null || next.to > widest.to) widest = next;
  }
  return refusals;
};

const changesOf = (located: readonly Located[]): readonly Change[] => {
  const list = new ChangeList();
  for (const { edit, from, to } of inOrder(located)) list.put(from, to, edit.after);
  return list.done();
};
