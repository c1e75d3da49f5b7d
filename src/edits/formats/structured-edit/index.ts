/**
 * structured-edit: line operations as JSON.
 *
 *   { "summary": "…", "operations": [ OPERATION, … ], "complete": true, "nonce": "…" }      (`"reason": "…"` where the list is empty)
 *   insert  {line, content}                 replace {start_line, end_line, content}     delete {start_line, end_line}     (one line: {line})
 *   append  {content}                       prepend {content}
 *
 * Several such objects, or a JSON list of them or of operations, are one list in their order; the last object has the marker.
 *
 * each with `type`, `file_path` (none where one file is offered) and optional `context_before`, `context_after` (the adjacent lines); or by symbol, without contexts:
 *   insert  {at: {symbol, position: "before" | "after" | "end", line?}, content}
 *   replace {at: {symbol, line?}, content}              delete  {at: {symbol, line?}}
 * `symbol` is a definition's qualified name (`Class.method`; structured-edit/symbol.ts says which one is meant), `line` a line inside
 * the one that is meant where several have the name. Lines are 1-based, ranges inclusive; all numbers mean the file as it was offered. Order at one place: prepends, then inserts in the order given, then the
 * replace or delete that starts there; appends last.
 */
import { indexOf, indexOfLines, NO_LINES } from '../../text/lines.js';
import { withoutFence } from '../../text/fence.js';
import { withoutBom } from '../../text/to-splices.js';
import { type Change, ChangeList, type FilePlan } from '../../text/changes.js';
import { linesOf, marksTabs, mergeRanges, withoutTabMarks } from '../../listing.js';
import { readNeedsLines } from './regions.js';
import { lookUp } from '../../paths.js';
import { fault, invalid, readJsonAnswer } from '../../dialects/reader.js';
import { type Placed, OperationLocator } from './locate.js';
import { type Operation, readOperations } from './operations.js';
import { symbolPlacer } from './symbol.js';
import type {
  ContextFile,
  Fault,
  FormatContext,
  FormatModule,
  Reason,
  Reading,
  UsedTolerance,
} from '../../types.js';

const OPERATION_REASONS_REPORTED = 20; // bound: Refusals told of one structured edit.

export const structuredEdit: FormatModule = {
  read: (body, context) => {
    const answer = readJsonAnswer(body, context);
    if ('kind' in answer) return { reading: answer, files: 0, edits: 0 };
    const needs = readNeedsLines(answer.value, context);
    if (needs !== null) return { reading: needs, files: 0, edits: 0 };
    const only = context.files.size === 1 ? ([...context.files.keys()][0] ?? null) : null;
    const { items, fault: wrong, operations, summary } = readOperations(answer.parts, only);
    const reading = wrong ?? planAll(operations, summary, context);
    const files = new Set(operations.map(({ path }) => path)).size;
    return { reading: answer.withLines(reading, 'Operation', items), files, edits: items.length };
  },
};

const planAll = (
  operations: readonly Operation[],
  summary: string | null,
  context: FormatContext,
): Reading => {
  const plans: FilePlan[] = [];
  const tolerances: UsedTolerance[] = [];
  const notes: Reason[] = [];
  const reasons: Reason[] = [];
  const byPath = new Map<string, { file: ContextFile; operations: Operation[] }>();
  for (const operation of operations) {
    const found = lookUp(operation.path, context, operation.index);
    if (found.ok) {
      const entry = byPath.get(found.path) ?? { file: found.file, operations: [] };
      entry.operations.push(operation);
      byPath.set(found.path, entry);
    } else reasons.push(found.reason);
  }
  for (const [path, { file, operations: own }] of byPath) {
    const lines = file.text === null ? NO_LINES : indexOf(file.text);
    const marked = marksTabs(lines) && own.some(quotesTabMark);
    if (marked)
      notes.push({
        code: 'tab_marks',
        path,
        message: 'Tab marks from the listing were removed from the answer.',
      });
    const plain = marked ? own.map((operation) => withLines(operation, withoutTabMarks)) : own;
    const placed: Placed[] = [];
    const said = file.hasBom ? plain.map((op) => withLines(op, withoutBom)) : plain;
    const byLines = said.filter(({ symbol }) => symbol === null);
    const locator = new OperationLocator(lines, byLines, path, context.options);
    const bySymbol = symbolPlacer(file, path, context.options.syntax);
    for (const operation of said) {
      if (reasons.length >= OPERATION_REASONS_REPORTED) break;
      const { symbol, index } = operation;
      const found = symbol === null ? locator.locate(operation) : bySymbol(operation, symbol);
      const body = indexOfLines(operation.content);
      const plain = withoutFence(path, body, lines, true);
      const wrong =
        'code' in found
          ? found
          : (outside(found, file, lines.length, path) ?? unseen(found, file, path));
      if (wrong !== null) reasons.push({ ...wrong, path, index });
      else if ('code' in plain) reasons.push({ ...plain, path, index });
      else if (!('code' in found)) {
        placed.push({ ...found, operation: { ...operation, content: plain.all } });
        for (const tolerance of [
          ...found.tolerances,
          ...(plain === body ? [] : ['fenced_body' as const]),
        ])
          tolerances.push({ tolerance, path, index, line: found.from + 1 });
      }
    }
    reasons.push(...findOverlaps(placed, path));
    if (reasons.length === 0) plans.push({ kind: 'lines', path, changes: compose(placed) });
  }
  if (reasons.length > 0) return { kind: 'refused', reasons };
  if (operations.length === 0)
    return invalid('no_edits', 'The answer contains no operation and no `reason`.');
  return { kind: 'plans', plans, tolerances, notes, ...(summary === null ? {} : { summary }) };
};

const quotesTabMark = ({ before, after, content }: Operation): boolean =>
  [before, after, content].some((lines) => lines.some((line) => withoutTabMarks(line) !== line));
const withLines = (operation: Operation, plain: (line: string) => string): Operation => ({
  ...operation,
  before: operation.before.map(plain),
  after: operation.after.map(plain),
  content: operation.content.map(plain),
});

/** An operation outside of the call's region belongs to another call. An insert at a border belongs to the region behind it. */
const outside = (placed: Placed, file: ContextFile, count: number, path: string): Fault | null => {
  const { region } = file;
  const { operation, from, to } = placed;
  if (region === undefined) return null;
  const [first, last] = region;
  const atEnd = from === count && last === count && operation.type !== 'prepend';
  const ok =
    from === to
      ? (first <= from + 1 && from + 1 <= last) || atEnd
      : first <= from + 1 && to <= last;
  const why = `is outside lines ${first} to ${last}, the part of this call. Leave it to the call for that part.`;
  return ok ? null : unseenLines(placed, path, why);
};

const unseenLines = ({ operation: { type }, from, to }: Placed, path: string, why: string): Fault =>
  fault('unseen_lines', `The ${type} touches ${linesOf(from, to)} of ${path}, which ${why}`);

/** An operation on lines that the model was not shown is a guess. An insert needs a seen line on one of its sides. */
const unseen = (placed: Placed, { seen }: ContextFile, path: string): Fault | null => {
  const { operation, from, to } = placed;
  if (seen === undefined || operation.type === 'append' || operation.type === 'prepend')
    return null;
  const ranges = mergeRanges(seen, Infinity);
  const areSeen = (first: number, last: number): boolean =>
    ranges.some(([a, b]) => a <= first && last <= b);
  if (from === to ? areSeen(from, from) || areSeen(to + 1, to + 1) : areSeen(from + 1, to))
    return null;
  const shown = seen.map(([a, b]) => (a === b ? `${a}` : `${a}-${b}`)).slice(0, 30);
  const why = `the listing did not show. Shown are the lines ${shown.join(', ')}. Edit only those.`;
  return unseenLines(placed, path, why);
};

/** Prepends come before inserts at line 1, appends after inserts behind the last line; then the order of the answer. */
const RANK = { prepend: 0, insert: 1, append: 2, replace: 3, delete: 3 };
const rank = ({ operation }: Placed): number => RANK[operation.type];
const inOrder = (placed: readonly Placed[]): Placed[] =>
  [...placed].sort(
    (a, b) => a.from - b.from || rank(a) - rank(b) || a.operation.index - b.operation.index,
  );

const findOverlaps = (placed: readonly Placed[], path: string): Reason[] => {
  const reasons: Reason[] = [];
  let held: Placed | null = null;
  for (const next of inOrder(placed)) {
    if (held !== null && next.from < held.to) {
      const [first = 0, second = 0] = [held.operation.index, next.operation.index].sort(
        (a, b) => a - b,
      );
      const message = `The ${next.operation.type} at line ${next.from + 1} overlaps operation ${first + 1} (lines ${held.from + 1} to ${held.to}) in ${path}. Combine both changes in one operation.`;
      reasons.push({ code: 'overlap', path, index: second, message });
    }
    if (held === null || next.to > held.to) held = next;
  }
  return reasons;
};

const compose = (placed: readonly Placed[]): readonly Change[] => {
  const list = new ChangeList();
  for (const { operation, from, to } of inOrder(placed)) list.put(from, to, operation.content);
  return list.done();
};
