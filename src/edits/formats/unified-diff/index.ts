/**
 * unified-diff: the edit as a diff against the files as they were shown.
 *
 *   answer   = *( prose / fence / file )
 *   file     = [ "diff --git " name " " name NL *extended ] [ "--- " name NL "+++ " name NL 1*hunk ]
 *   extended = ( "old mode " / "new mode " / "new file mode " / "deleted file mode " ) mode NL
 *            / ( "rename from " / "rename to " ) name NL / ( "similarity index " / "index " … ) NL
 *   hunk     = "@@ -" start [ "," count ] " +" start [ "," count ] " @@" [ " " heading ] NL 1*line
 *   line     = ( " " / "-" / "+" ) text NL [ "\ No newline at end of file" NL ]
 *   name     = path with a prefix ("a/", "b/") or without / "/dev/null" / C string in double quotes
 *
 * Refused by name: copies, binary patches, submodules, symbolic links, combined diffs; additions without context (except into an
 * empty or new file). FallbackState: counts, line_drift, unchecked_lines, lost_blank, line_endings, trailing_space, lookalikes, indent.
 * Edits, for the marker: hunks.
 */
import { type Text, indexOf, type LineIndex } from '../../text/lines.js';
import { withoutBom } from '../../text/to-splices.js';
import { carryLines, isKnownBase } from '../../locate/likeness.js';
import { type Change, ChangeList, changesFrom, changesPlan, type FilePlan } from '../../text/changes.js';
import { type Located, HunkLocator } from './locate.js';
import { type FileDiff, parseDiff } from './parse.js';
import { type Target, targetOf } from './target.js';
import { haveNothingInCommon, lineOrigins } from '../../text/line-diff.js';
import type { FormatContext, FormatModule, Reading, Reason, UsedTolerance } from '../../types.js';
import type { Hunk, HunkLine } from './hunk.js';

const DIFF_REASONS_REPORTED = 10; // bound: Refusals told of one file of a diff; each costs a look for the nearest place.

export const unifiedDiff: FormatModule = {
  format: 'unified-diff',
  read(body, context) {
    const parsed = parseDiff(body, context.whole ?? false);
    const edits = parsed.files.reduce((sum, file) => sum + file.hunks.length, 0);
    const reading: Reading = parsed.ok
      ? readFiles(parsed.files, parsed.notes, context)
      : { kind: 'invalid', open: parsed.open, reasons: [parsed.reason] };
    return { reading, files: parsed.files.length, edits };
  },
};

const readFiles = (files: readonly FileDiff[], notes: readonly Reason[], context: FormatContext): Reading => {
  const plans: FilePlan[] = [];
  const tolerances: UsedTolerance[] = [];
  const reasons: Reason[] = [];
  const taken = new Set<string>();
  let index = 0;
  for (const file of files) {
    const target = targetOf(file, context, index, taken);
    if (target.ok) {
      const made = planFile({ ...file, first: index }, target.target, context, tolerances);
      if (Array.isArray(made)) reasons.push(...made);
      else plans.push(...made.plans);
    } else reasons.push(target.reason);
    index += file.hunks.length;
  }
  return reasons.length > 0 ? { kind: 'refused', reasons } : { kind: 'plans', plans, tolerances, notes };
};

const NO_TEXT: Text = { lines: [], ends: [] };

/** The plans of one file, or why it is refused. `first`: the number of its first hunk in the answer. */
const planFile = (
  { first, ...file }: FileDiff & { readonly first: number },
  target: Target,
  context: FormatContext,
  tolerances: UsedTolerance[],
): { readonly plans: readonly FilePlan[] } | Reason[] => {
  const text = target.text ?? NO_TEXT;
  const { path } = target;
  const hunks = target.hasBom ? file.hunks.map(withoutBoms) : file.hunks;
  const known = isKnownBase(target.from ?? path, context.options);
  const locator = new HunkLocator(text, hunks, context.options.tolerances, known);
  const located: Located[] = [];
  const reasons: Reason[] = [];
  for (const [i, hunk] of hunks.entries()) {
    if (reasons.length >= DIFF_REASONS_REPORTED) break;
    const location = locator.locate(hunk);
    if (location.ok) {
      located.push(location.located);
      for (const tolerance of location.located.tolerances)
        tolerances.push({ tolerance, path: target.from ?? path, index: first + i, line: location.located.at + 1 });
    } else
      reasons.push({
        code: location.code,
        path,
        index: first + i,
        message: `Hunk ${first + i + 1} (${path}, line ${hunk.answerLine} of the answer): ${location.message}`,
      });
  }
  if (reasons.length > 0) return reasons;
  const result = composeHunks(indexOf(text), located);
  if (target.kind === 'delete') {
    const left = result.changes.reduce(
      (sum, { from, to, lines }) => sum + lines.length - (to - from),
      indexOf(text).length,
    );
    if (left === 0) return { plans: [{ kind: 'delete', path }] };
    return [
      {
        code: 'delete_leaves_text',
        path,
        index: first,
        message: `The diff deletes ${path} but does not remove all of its lines. Remove every line, or keep the file.`,
      },
    ];
  }
  const plans: FilePlan[] = target.from === undefined ? [] : [{ kind: 'move', from: target.from, path }];
  const mode = target.mode === undefined ? {} : { mode: target.mode };
  if (located.length > 0 || target.kind === 'create' || target.mode !== undefined)
    plans.push(changesPlan(path, text, result.changes, { ...result, ...mode }));
  return { plans };
};

const withoutBoms = (hunk: Hunk): Hunk => ({
  ...hunk,
  lines: hunk.lines.map((line) => ({
    ...line,
    text: withoutBom(line.text),
    raw: line.unsigned ? withoutBom(line.raw) : line.raw,
  })),
});

interface Composed {
  readonly changes: readonly Change[];
  readonly finalNewline?: boolean;
}

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
  return { changes: list.done(), ...(ending === undefined ? {} : { finalNewline: ending }) };
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
