/**
 * Guards on a result: what a reviewer must see even where approval is automatic (`ask`), what is worth a word (`note`) and what
 * no answer may do (`refuse`). They look at base and result alone, so they hold for every format and for edits by hand.
 */
import { type Text, indexOf, type LineIndex, NO_LINES } from '../text/lines.js';
import type { Finding } from '../../shared/formats.js';
import { linesOf } from '../listing.js';
import type { Change } from '../text/changes.js';
import {
  characterFindings,
  exampleFindings,
  nameFindings,
  unicodeFindings,
  unicodeNames,
} from './lines.js';
import { diffFindings } from './diff-text.js';
import { listingFindings } from './listing-numbers.js';
import { toolFindings } from './tool-tags.js';
import { doubledBlocks } from './doubled.js';
import { escapeFindings } from './escapes.js';
import { gluedFindings } from './glued.js';
import { dataErrors } from './data.js';
import { elisionFindings } from './elision.js';
import { doubledSymbols, lostSymbols, syntaxErrors, treesOf, type TreeView } from './syntax.js';
import { type GuardView, eachNewLine, viewOf } from './view.js';
import type { Syntax } from '../syntax-port.js';
import type { ApplyOptions, ChangedFile, FileContent } from '../types.js';
import { decodeFile } from '../text/codec.js';

const DISTANT_LINES = 3; // bound: A removal with more kept lines than this before the next added line is distant.
const DISTANT_TOLD = 5; // bound: Distant removals told of one file.
export const SHRINK_FROM_LINES = 20; // bound: A file counts as shrunk where more than half of it goes, from this many lines.

/** A file as guards look at it. */
export interface GuardedFile extends ChangedFile {
  /** How the result was made, where known: then only what changed is looked at. */
  readonly made?: { readonly base: Text | null; readonly changes: readonly Change[] };
  /** The answer held the file whole. */
  readonly rewritten?: boolean;
  /** Git's hash of the result, which the response states, is right: no line of it stands for others. */
  readonly isProven?: boolean;
}

/** `asked`: the instructions; a line that they hold may come, too. `beside`: paths that are there beforehand beside those of the files. */
export interface GuardOptions extends Pick<
  ApplyOptions,
  'syntax' | 'guards' | 'asked' | 'beside' | 'linked' | 'elsewhere'
> {
  /** Paths that files are moved to: new names, as those of files that are made. */
  readonly movedTo?: readonly string[];
  /** Paths that files are moved away from. */
  readonly movedAway?: readonly string[];
}

/** Of all files of one result, as guards look across them. In the order of the files; lost definitions come last. */
export const guardFindings = (
  files: readonly GuardedFile[],
  options: GuardOptions = {},
): Finding[] => {
  const trees: TreeView[] = [];
  const isKnown = lineTest(files, options);
  const findings = files.flatMap((file) => findingsFor(file, options, trees, isKnown));
  const settings: Readonly<Record<string, Finding['severity'] | undefined>> = options.guards ?? {};
  return [
    ...findings,
    ...namesOf(files, options),
    ...(trees.length === 0 ? [] : lostSymbols(trees, options.asked ?? '')),
  ].map((finding) => ({
    ...finding,
    // What was not checked is a note, whatever is set for what was found.
    severity:
      finding.lines === undefined && finding.guard === 'syntax'
        ? finding.severity
        : (settings[finding.guard] ?? finding.severity),
  }));
};

/** Tells whether a file held the line before, white space around it aside. The lines are collected for the first question. */
const lineTest = (
  files: readonly GuardedFile[],
  { elsewhere = [] }: GuardOptions,
): ((line: string) => boolean) => {
  let lines: ReadonlySet<string> | null = null;
  return (line) => {
    lines ??= new Set(
      [...elsewhere, ...files.map(baseOf)].flatMap(({ bytes, encoding }) =>
        (linesIn(bytes, encoding)?.all ?? []).map((text) => text.trim()),
      ),
    );
    return lines.has(line);
  };
};

const baseOf = ({ base, encoding }: GuardedFile): FileContent => ({
  bytes: base,
  ...(encoding === undefined ? {} : { encoding }),
});

const namesOf = (files: readonly GuardedFile[], options: GuardOptions): Finding[] => {
  const { movedTo = [], movedAway = [], beside = [] } = options;
  const moved = new Set(movedTo);
  const left = files.filter(({ result }) => result !== null);
  const isMade = ({ path, base }: GuardedFile): boolean => base === null || moved.has(path);
  const made = left.filter(isMade).map(({ path }) => path);
  if (made.length === 0) return [];
  const gone = new Set([
    ...movedAway,
    ...files.flatMap(({ path, result }) => (result === null ? [path] : [])),
  ]);
  const kept = left.filter((file) => !isMade(file)).map(({ path }) => path);
  const there = [...beside.filter((path) => !gone.has(path)), ...kept];
  return [...nameFindings(made, there), ...unicodeNames(made)];
};

const findingsFor = (
  file: GuardedFile,
  { syntax, asked = '', linked = [] }: GuardOptions,
  trees: TreeView[],
  isKnown: (line: string) => boolean,
): Finding[] => {
  const { path, base, result } = file;
  if (result === null)
    return base === null
      ? []
      : [{ guard: 'deletion', severity: 'ask', path, message: `${path} is deleted.` }];
  const view = viewFor(file, result);
  const ofFile = [...modes(file), ...linkFindings(file, linked)];
  if (view === null) return ofFile;
  return [
    ...ofFile,
    ...exampleFindings(view, asked),
    ...shrinkage(view),
    ...(file.rewritten === true ? distantRemovals(view) : []),
    ...conflictMarkers(view),
    ...escapeFindings(view),
    ...toolFindings(view),
    ...listingFindings(view),
    ...diffFindings(view),
    ...gluedFindings(view),
    ...(file.isProven === true ? [] : elisionFindings(view, isKnown)),
    ...characterFindings(view),
    ...unicodeFindings(view),
    ...shebang(view),
    ...(syntax === undefined ? doubledBlocks(view) : withTrees(view, syntax, trees)),
  ];
};

const withTrees = (view: GuardView, syntax: Syntax, all: TreeView[]): Finding[] => {
  const { trees, findings: unread } = treesOf(view, syntax);
  const findings = [...unread, ...dataErrors(view, syntax)];
  const blocks = doubledBlocks(view);
  if (trees === null) return [...findings, ...blocks];
  all.push(trees);
  // The same repeat is told once.
  const isTold = ({ lines: [from, to] = [0, -1] }: Finding): boolean =>
    blocks.some(({ lines: [first, last] = [0, -1] }) => first <= to && from <= last);
  const doubled = doubledSymbols(trees).filter((finding) => !isTold(finding));
  return [...syntaxErrors(trees, view), ...blocks, ...doubled];
};

const modes = ({ path, base, baseMode, resultMode }: GuardedFile): Finding[] => {
  const ask = (message: string): Finding[] => [{ guard: 'mode', severity: 'ask', path, message }];
  if (baseMode !== undefined && resultMode !== undefined && baseMode !== resultMode)
    return ask(
      `The mode of ${path} changes from ${baseMode.toString(8)} to ${resultMode.toString(8)}.`,
    );
  return base === null && ((resultMode ?? 0) & 0o111) !== 0
    ? ask(`${path} is new and executable.`)
    : [];
};

/** The result is written as a new file, so the other names keep the old one. */
const linkFindings = ({ path, base }: GuardedFile, linked: readonly string[]): Finding[] => {
  if (base === null || !linked.includes(path)) return [];
  const message = `${path} is a hard link: the file has other names, and these keep the old content. Make it a file of its own first (\`cp -p\` to another name, \`mv\` back), or set \`guards: { hard_link: note }\`.`;
  return [{ guard: 'hard_link', severity: 'ask', path, message }];
};

/** Null: one of both is no text. */
const viewFor = (
  { path, base, encoding, made }: GuardedFile,
  result: Uint8Array,
): GuardView | null => {
  if (made !== undefined)
    return viewOf(path, made.base === null ? NO_LINES : indexOf(made.base), null, made.changes);
  const [before, after] = [linesIn(base, encoding), linesIn(result, encoding)];
  return before === null || after === null ? null : viewOf(path, before, after, null);
};

const linesIn = (bytes: Uint8Array | null, encoding: string | undefined): LineIndex | null => {
  if (bytes === null) return NO_LINES;
  const decoded = decodeFile(bytes, encoding);
  return decoded.ok ? indexOf(decoded.text) : null;
};

const shrinkage = ({ path, base, result, changes }: GuardView): Finding[] => {
  const gone = changes.reduce((sum, { from, to }) => sum + to - from, 0);
  const emptied = base.length > 0 && result.length === 0;
  if (!emptied && (base.length < SHRINK_FROM_LINES || result.length * 2 >= base.length)) return [];
  const message = `${path} shrinks from ${base.length} to ${result.length} lines; ${gone} of its lines were removed.`;
  return [{ guard: 'shrinkage', severity: 'ask', path, message }];
};

/**
 * Of a file that the model wrote anew: lines that went far from everything that came, and that it put nowhere else. A file that only
 * loses lines in one place was asked to.
 */
const distantRemovals = ({ path, base, changes }: GuardView): Finding[] => {
  if (changes.length < 2) return [];
  const there = new Set(changes.flatMap(({ lines }) => lines.map((line) => line.trim())));
  const distant = changes.filter(
    ({ from, to, lines }, at) =>
      lines.length === 0 &&
      base.range(from, to).some((line) => line.trim() !== '' && !there.has(line.trim())) &&
      // A kept line stands between any two changes, so no others are near.
      !changes
        .slice(Math.max(0, at - DISTANT_LINES), at + DISTANT_LINES + 1)
        .some(
          (near) =>
            near.lines.length > 0 &&
            from - near.to <= DISTANT_LINES &&
            near.from - to <= DISTANT_LINES,
        ),
  );
  const [first] = distant;
  if (first === undefined) return [];
  const ranges = distant.map(({ from, to }) => linesOf(from, to));
  const more = ranges.length - DISTANT_TOLD;
  const gone = [
    ...ranges.slice(0, DISTANT_TOLD),
    ...(more > 0 ? [`${more} more places`] : []),
  ].join(', ');
  const message = `The new ${path} lacks ${gone} of the old one, far from any line it adds.`;
  return [
    { guard: 'distant_removal', severity: 'ask', path, lines: [first.from + 1, first.to], message },
  ];
};

const CONFLICT = /^(<{7}|>{7}|\|{7})( |$)/;

const conflictMarkers = (view: GuardView): Finding[] => {
  const findings: Finding[] = [];
  eachNewLine(view, (line, at) => {
    if (findings.length > 0 || !CONFLICT.test(line)) return;
    const message = `Line ${at + 1} of ${view.path} is a conflict marker: ${JSON.stringify(line.slice(0, 60))}.`;
    findings.push({
      guard: 'conflict_markers',
      severity: 'ask',
      path: view.path,
      lines: [at + 1, at + 1],
      message,
    });
  });
  return findings;
};

/** A `#!` line works as the first line only. */
const shebang = ({ path, base, result, changes }: GuardView): Finding[] => {
  const begins = (line: string | undefined): boolean => line?.startsWith('#!') === true;
  if (!begins(base.line(0)) || (result.length > 0 && begins(result.line(0)))) return [];
  const [first] = changes;
  // Lines were put before it, or it went.
  const at = first?.to === 0 ? first.lines.length : -1;
  const message =
    at > 0
      ? `The #! line of ${path} is no longer the first: ${at === 1 ? 'a line precedes' : `${at} lines precede`} it.`
      : `The #! line of ${path} was removed.`;
  return [{ guard: 'shebang', severity: 'ask', path, lines: [1, Math.max(1, at)], message }];
};
