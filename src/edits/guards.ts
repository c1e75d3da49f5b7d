/**
 * Guards on a sealed result: what a reviewer must see even where approval is automatic (`ask`), what is worth a word (`note`) and what
 * no answer may do (`refuse`). They look at base and result alone, so they hold for every format and for edits by hand.
 */
import type { Finding, GuardSettings } from '../shared/formats.js';
import { lineOrigins } from './diff-lines.js';
import { elisionFindings } from './guards-elision.js';
import { characterFindings } from './guards-characters.js';
import { doubledBlocks } from './guards-doubled.js';
import { doubledSymbols, lostSymbols, syntaxErrors, treesOf } from './guards-syntax.js';
import type { TreeView } from './guards-syntax.js';
import type { Syntax } from './syntax.js';
import { decodeFile } from './text.js';

export interface GuardedFile {
  readonly path: string;
  /** Null: the file is made. */
  readonly base: Uint8Array | null;
  /** Null: the file is deleted. */
  readonly result: Uint8Array | null;
  readonly baseMode?: number;
  readonly resultMode?: number;
  readonly encoding?: string;
}

/** What each text guard sees: base lines ([] for a new file), result lines, and the base line (0-based) each keeps, or -1. */
export interface GuardView {
  readonly path: string;
  readonly base: readonly string[];
  readonly result: readonly string[];
  readonly origins: readonly number[];
}

/** A file counts as shrunk where more than half of it goes, from this many lines. */
const SHRINK_FROM_LINES = 20;

export interface GuardOptions {
  /** Loaded grammars; absent: nothing is said about syntax and definitions. */
  readonly syntax?: Syntax;
  /** The severity of everything that a guard finds; absent: its default. */
  readonly guards?: GuardSettings;
  /** The instructions: a definition that they name may go. */
  readonly asked?: string;
}

/** Of all files of one result, as guards look across them. In the order of the files; lost definitions come last. */
export const guardFindings = (files: readonly GuardedFile[], options: GuardOptions = {}): Finding[] => {
  const trees: TreeView[] = [];
  const findings = files.flatMap((file) => findingsFor(file, options.syntax, trees));
  const { guards = {} } = options;
  const settings: Readonly<Record<string, Finding['severity'] | undefined>> = guards;
  return [...findings, ...lostSymbols(trees, options.asked ?? '')].map((finding) => ({
    ...finding,
    // What was not checked is a note, whatever is set for what was found.
    severity:
      finding.lines === undefined && finding.guard === 'syntax'
        ? finding.severity
        : (settings[finding.guard] ?? finding.severity),
  }));
};

const findingsFor = (file: GuardedFile, syntax: Syntax | undefined, trees: TreeView[]): Finding[] => {
  const { path, base, result } = file;
  if (result === null)
    return base === null ? [] : [{ guard: 'deletion', severity: 'ask', path, message: `${path} is deleted.` }];
  const baseLines = linesOf(base, file.encoding);
  const resultLines = linesOf(result, file.encoding);
  if (baseLines === null || resultLines === null) return modes(file);
  const view: GuardView = { path, base: baseLines, result: resultLines, origins: lineOrigins(baseLines, resultLines) };
  return [
    ...modes(file),
    ...elisionFindings(view),
    ...shrinkage(view),
    ...conflictMarkers(view),
    ...characterFindings(view),
    ...shebang(view),
    ...(syntax === undefined ? doubledBlocks(view) : withTrees(view, syntax, trees)),
  ];
};

const withTrees = (view: GuardView, syntax: Syntax, all: TreeView[]): Finding[] => {
  const { trees, findings } = treesOf(view, syntax);
  const blocks = doubledBlocks(view);
  if (trees === null) return [...findings, ...blocks];
  all.push(trees);
  // The same repeat is told once.
  const doubled = doubledSymbols(trees).filter(
    ({ lines }) =>
      !blocks.some(
        (block) =>
          lines !== undefined && block.lines !== undefined && block.lines[0] <= lines[1] && lines[0] <= block.lines[1],
      ),
  );
  return [...syntaxErrors(trees, view), ...blocks, ...doubled];
};

const modes = ({ path, base, baseMode, resultMode }: GuardedFile): Finding[] => {
  const ask = (message: string): Finding[] => [{ guard: 'mode', severity: 'ask', path, message }];
  if (baseMode !== undefined && resultMode !== undefined && baseMode !== resultMode)
    return ask(`The mode of ${path} changes from ${baseMode.toString(8)} to ${resultMode.toString(8)}.`);
  return base === null && ((resultMode ?? 0) & 0o111) !== 0 ? ask(`${path} is new and executable.`) : [];
};

const linesOf = (bytes: Uint8Array | null, encoding: string | undefined): readonly string[] | null => {
  if (bytes === null) return [];
  const decoded = decodeFile(bytes, encoding);
  return decoded.ok ? decoded.text.lines : null;
};

const shrinkage = ({ path, base, result, origins }: GuardView): Finding[] => {
  const kept = origins.filter((o) => o >= 0).length;
  const emptied = base.length > 0 && result.length === 0;
  if (!emptied && (base.length < SHRINK_FROM_LINES || result.length * 2 >= base.length)) return [];
  const message = `${path} shrinks from ${base.length} to ${result.length} lines; ${base.length - kept} lines of it are gone.`;
  return [{ guard: 'shrinkage', severity: 'ask', path, message }];
};

const CONFLICT = /^(<{7}|>{7}|\|{7})( |$)/;

const conflictMarkers = ({ path, result, origins }: GuardView): Finding[] => {
  const at = result.findIndex((line, i) => (origins[i] ?? -1) < 0 && CONFLICT.test(line));
  if (at < 0) return [];
  const message = `Line ${at + 1} of ${path} is a conflict marker: ${JSON.stringify((result[at] ?? '').slice(0, 60))}.`;
  return [{ guard: 'conflict_markers', severity: 'ask', path, lines: [at + 1, at + 1], message }];
};

/** A `#!` line works as the first line only. */
const shebang = ({ path, base, result, origins }: GuardView): Finding[] => {
  if (base[0]?.startsWith('#!') !== true || result[0]?.startsWith('#!') === true) return [];
  const at = origins.indexOf(0);
  const message =
    at > 0
      ? `The #! line of ${path} is no longer the first: ${at} lines stand before it.`
      : `The #! line of ${path} is gone.`;
  return [{ guard: 'shebang', severity: 'ask', path, lines: [1, Math.max(1, at)], message }];
};
