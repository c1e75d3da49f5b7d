/**
 * unified-diff: the edit as a diff against the files as they were shown.
 *
 *   answer   = *( prose / fence / file )
 *   file     = [ "diff --git " name " " name NL *extended / prelude ] [ "--- " name NL "+++ " name NL 1*hunk ]
 *   prelude  = ( "diff -" / "Index: " ) … NL [ 20*"=" NL ]                  (of diff, hg diff and svn diff; it says nothing of its own)
 *   extended = ( "old mode " / "new mode " / "new file mode " / "deleted file mode " ) mode NL
 *            / ( "rename from " / "rename to " ) name NL / ( "similarity index " / "index " … ) NL
 *   hunk     = ( "@@ -" start [ "," count ] " +" start [ "," count ] " @@" [ " " heading ] / "@@" [ " " words ] ) NL 1*line
 *   line     = ( " " / "-" / "+" ) text NL [ "\ No newline at end of file" NL ]
 *   name     = path with a prefix ("a/", "b/") or without / "/dev/null" / C string in double quotes, then perhaps a time or revision
 *
 * Hunks without a header are of the file that the line before names (`fileBefore`), else of the only offered one. A hunk without numbers belongs to the one place where it fits.
 * `--- old/x` and `+++ new/x`, or `x.orig` and `x`, are the file x; a side without lines whose time is 1970 or that is "(nonexistent)"
 * is no file. All names of a header agree. Renames may swap, go round, or go where another rename leaves a path.
 *
 * Where a hunk of the answer holds a carriage return, the diff's bytes are exact: lines end at LF alone, context and removed lines are matched
 * with their carriage returns, added lines keep theirs. A file whose hunks do not stand so is read as by a diff without any, and ends that
 * differ are the tolerance `line_endings`. In a file of mixed ends so is a diff without carriage returns whose lines all end in LF there.
 *
 * A diff that does not fit, and whose reverse fits as a whole with right counts and line numbers, has been applied: its hunks are skipped
 * with the note `already_present`. Where counts are wrong or absent, a signed line that stands in the file as it is may be context: refused.
 *
 * Refused by name: copies, binary patches, submodules, symbolic links, combined diffs; additions without context (except into an
 * empty or new file). Tolerances: counts, line_drift, unchecked_lines, lost_blank, line_endings, trailing_space, lookalikes, indent.
 * Edits, for the marker: hunks. Without any: `NO-CHANGE: reason` (marker.ts).
 */
import { type Text, indexOf, type LineIndex } from '../../text/lines.js';
import type { SpliceBase } from '../../text/codec.js';
import { exactBase } from '../../text/to-splices.js';
import { carryLines, isKnownBase, toleranceOn } from '../../locate/likeness.js';
import {
  type Change,
  ChangeList,
  changesFrom,
  type FilePlan,
  grownBy,
} from '../../text/changes.js';
import { type Located, HunkLocator } from './locate.js';
import { DiffReader, type FileDiff, reversed } from './parse.js';
import { diffPaths, type Target, targetOf } from './target.js';
import { haveNothingInCommon, lineOrigins } from '../../text/line-diff.js';
import type { ToleranceSettings } from '../../../shared/formats.js';
import type {
  ContextFile,
  FormatContext,
  FormatModule,
  Reading,
  Reason,
  UsedTolerance,
} from '../../types.js';
import { type Hunk, type HunkLine, holdsReturn, withoutBoms, withReturns } from './hunk.js';

const DIFF_REASONS_REPORTED = 10; // bound: Refusals told of one file of a diff; each costs a look for the nearest place.

export const unifiedDiff: FormatModule = {
  read(body, context) {
    const reader = new DiffReader(body, context);
    const reading = reader.parse() ?? readFiles(reader, context);
    return { reading, files: reader.files.length, edits: reader.edits };
  },
};

const readFiles = ({ files, notes }: DiffReader, context: FormatContext): Reading => {
  const plans: FilePlan[] = [];
  const tolerances: UsedTolerance[] = [];
  const reasons: Reason[] = [];
  const paths = diffPaths(files);
  let index = 0;
  const exact = files.some(({ hunks }) => hunks.some(({ lines }) => lines.some(holdsReturn)));
  for (const file of files) {
    const target = targetOf(file, context, index, paths);
    if ('code' in target) reasons.push(target);
    else {
      const made = planFile({ ...file, first: index }, target, { context, exact }, tolerances);
      if (Array.isArray(made)) reasons.push(...made);
      else plans.push(...made.plans);
    }
    index += file.hunks.length;
  }
  if (reasons.length === 0) return { kind: 'plans', plans, tolerances, notes };
  const mayFit = reasons.some(({ code }) =>
    /^(?:ambiguous_sign|context_repeated|no_context)$/.test(code),
  );
  if (mayFit || !areApplied(files, context, exact)) return { kind: 'refused', reasons };
  const messages = Array.from({ length: index }, (_, i) => `Hunk ${i + 1} is already in the file.`);
  const present = messages.map((message, i) => ({ code: 'already_present', index: i, message }));
  return { kind: 'plans', plans: [], tolerances: [], notes: [...notes, ...present] };
};

/** Would the whole diff, turned round, apply as it is written? Then it has been applied. */
const areApplied = (
  files: readonly FileDiff[],
  context: FormatContext,
  exact: boolean,
): boolean => {
  const tolerances = { ...context.options.tolerances, ...AS_WRITTEN };
  const back = { context: { ...context, options: { ...context.options, tolerances } }, exact };
  const turnedFiles = files.map((file) => ({ ...reversed(file), first: 0 }));
  const paths = diffPaths(turnedFiles);
  return turnedFiles.every((turned) => {
    const target = targetOf(turned, back.context, 0, paths);
    // Nothing proves that a file is gone.
    return (
      turned.hunks.length > 0 &&
      !('code' in target) &&
      target.kind !== 'create' &&
      !Array.isArray(planFile(turned, target, back, []))
    );
  });
};

const NO_TEXT: Text = { lines: [], ends: [] };

/** Where the hunks of one file stand, or why not. `exact`: what `at` counts in where that is not the file's own lines. */
interface Found {
  readonly index: LineIndex;
  readonly located: readonly Located[];
  readonly reasons: readonly Omit<Reason, 'path'>[];
  readonly exact?: SpliceBase;
}
interface Wanted {
  readonly text: Text;
  readonly hunks: readonly Hunk[];
  /** The number of the first of them in the answer. */
  readonly first: number;
  readonly tolerances: ToleranceSettings | undefined;
  readonly known: boolean;
}

const find = ({ text, hunks, first, tolerances, known }: Wanted): Found => {
  const locator = new HunkLocator(text, hunks, tolerances, known);
  const located: Located[] = [];
  const reasons: Omit<Reason, 'path'>[] = [];
  for (const [i, hunk] of hunks.entries()) {
    if (reasons.length >= DIFF_REASONS_REPORTED) break;
    const location = locator.locate(hunk);
    if ('code' in location) reasons.push({ ...location, index: first + i });
    else located.push(location);
  }
  return { index: indexOf(text), located, reasons };
};

const NO_LIKENESS = {
  line_endings: false,
  trailing_space: false,
  lookalikes: false,
  indent: false,
};
const AS_WRITTEN = { ...NO_LIKENESS, lost_blank: false, counts: false, line_drift: false };

/** Null: not every hunk stands in the file with its carriage returns. */
const findExactly = (file: ContextFile, wanted: Wanted): Found | null => {
  const exact = exactBase(file.bytes, file.encoding);
  const tolerances = { ...wanted.tolerances, ...NO_LIKENESS };
  const found = find({
    ...wanted,
    text: exact.text,
    hunks: wanted.hunks.map(withReturns),
    tolerances,
  });
  return found.reasons.length > 0 ? null : { ...found, exact };
};

/** In the file's own lines. What the answer says of line ends is a tolerance where it differs. */
const findByText = (file: ContextFile, wanted: Wanted, exact: boolean): Found => {
  const found = find(
    file.hasBom === true ? { ...wanted, hunks: wanted.hunks.map(withoutBoms) } : wanted,
  );
  const { index } = found;
  if (found.reasons.length > 0) return found;
  if (!exact) return index.eol === 'mixed' ? (inExactLines(file, wanted, found) ?? found) : found;
  const reasons: Omit<Reason, 'path'>[] = [];
  const located = found.located.map((each, i): Located => {
    const at = differingEnd(index, each);
    if (at === undefined) return each;
    const message = `Line ${at + 1} of the file has another line ending than the answer's: one of them has a carriage return. Send the lines with the line endings of the file.`;
    if (!toleranceOn('line_endings', wanted.tolerances))
      reasons.push({ code: 'line_endings', index: wanted.first + i, message });
    return { ...each, tolerances: [...new Set([...each.tolerances, 'line_endings' as const])] };
  });
  return { index, located, reasons };
};

/** The same places, where all that is quoted stands there exactly; null: it does not. */
const inExactLines = (file: ContextFile, { hunks }: Wanted, { located }: Found): Found | null => {
  const exact = exactBase(file.bytes, file.encoding);
  const index = indexOf(exact.text);
  const quoted = located.map((each, i) => ({ ...each, hunk: hunks[i] ?? each.hunk }));
  const stands = quoted.every(({ hunk, at }) =>
    hunk.lines.filter(({ sign }) => sign !== '+').every(({ text }, i) => index.is(at + i, text)),
  );
  return stands ? { index, located: quoted, reasons: [], exact } : null;
};

/** The first base line that the hunk quotes with another end. */
const differingEnd = (index: LineIndex, { hunk, at }: Located): number | undefined => {
  let line = at;
  for (const { sign, returned, noNewline } of hunk.lines) {
    if (sign === '+') continue;
    if (!noNewline && (returned === true ? '\r\n' : '\n') !== (index.end(line) || '\n'))
      return line;
    line += 1;
  }
  return undefined;
};

/** The plans of one file, or why it is refused. `first`: the number of its first hunk in the answer. */
const planFile = (
  { first, ...file }: FileDiff & { readonly first: number },
  target: Target,
  { context, exact }: { readonly context: FormatContext; readonly exact: boolean },
  tolerances: UsedTolerance[],
): { readonly plans: readonly FilePlan[] } | Reason[] => {
  const { path } = target;
  const text = target.file.text ?? NO_TEXT;
  const known = isKnownBase(target.from ?? path, context.options);
  const wanted = { text, hunks: file.hunks, first, tolerances: context.options.tolerances, known };
  const found =
    (exact ? findExactly(target.file, wanted) : null) ?? findByText(target.file, wanted, exact);
  if (found.reasons.length > 0)
    return found.reasons.map((reason) => ({
      ...reason,
      path,
      message: `Hunk ${(reason.index ?? 0) + 1} (${path}, line ${file.hunks[(reason.index ?? 0) - first]?.answerLine ?? 0} of the answer): ${reason.message}`,
    }));
  for (const [i, { at, tolerances: used }] of found.located.entries())
    for (const tolerance of used)
      tolerances.push({ tolerance, path: target.from ?? path, index: first + i, line: at + 1 });
  const result = composeHunks(found.index, found.located);
  if (target.kind === 'delete') {
    if (found.index.length + grownBy(result.changes) === 0)
      return { plans: [{ kind: 'delete', path }] };
    const message = `The diff deletes ${path} but does not remove all of its lines. Remove every line, or keep the file.`;
    return [{ code: 'delete_leaves_text', path, index: first, message }];
  }
  const plans: FilePlan[] =
    target.from === undefined ? [] : [{ kind: 'move', from: target.from, path }];
  if (found.located.length > 0 || target.kind === 'create' || target.mode !== undefined)
    plans.push({
      kind: 'lines',
      path,
      ...result,
      mode: target.mode,
      exact: found.exact,
      blob: file.blob,
    });
  return { plans };
};

type Composed = Readonly<{ changes: readonly Change[]; finalNewline: boolean | undefined }>;

/** What the hunks change. Context, and lines that a hunk removes and adds again, keep their base lines. */
export const composeHunks = (
  index: LineIndex,
  located: readonly { readonly hunk: Pick<Hunk, 'lines'>; readonly at: number }[],
): Composed => {
  const list = new ChangeList();
  let ending: boolean | undefined;
  for (const { hunk, at } of located) {
    let next = at;
    let removed: string[] = [];
    let added: string[] = [];
    const flush = (): void => {
      if (removed.length + added.length === 0) return;
      replaceLines(list, { index, from: next }, removed, added);
      next += removed.length;
      [removed, added] = [[], []];
    };
    for (const line of hunk.lines) {
      if (line.sign === '-') removed.push(line.text);
      else if (line.sign === '+') added.push(line.text);
      else {
        flush();
        next += 1;
      }
    }
    flush();
    ending = newEnding(hunk.lines) ?? ending;
  }
  return { changes: list.done(), finalNewline: ending };
};

/** The base lines from `from` on, quoted as `old`, become `now`; what both have in common stays. */
const replaceLines = (
  list: ChangeList,
  { index, from }: { readonly index: LineIndex; readonly from: number },
  old: readonly string[],
  now: readonly string[],
): void => {
  // Most hunks quote lines as they are and put others there, with nothing to keep.
  const quoted = old.every((line, i) => index.is(from + i, line));
  if (old.length === 0 || now.length === 0 || (quoted && haveNothingInCommon(old, now))) {
    list.put(from, from + old.length, now);
    return;
  }
  const kept = lineOrigins(old, now);
  const carried = carryLines(old, index.range(from, from + old.length), now, kept);
  const made = now.map((line, j) => carried[j] ?? line);
  for (const change of changesFrom(old.length, made, kept))
    list.put(from + change.from, from + change.to, change.lines);
};

/** What `\ No newline at end of file` on one side only says about the result's end. */
const newEnding = (lines: readonly HunkLine[]): boolean | undefined => {
  const old = lines.some((line) => line.noNewline && line.sign !== '+');
  const now = lines.some((line) => line.noNewline && line.sign !== '-');
  return old === now ? undefined : !now;
};
