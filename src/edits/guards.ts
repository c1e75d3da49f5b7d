/**
 * Guards on a sealed result: what a reviewer must see even where approval is automatic (`ask`), what is worth a word (`note`) and what
 * no answer may do (`refuse`). They look at base and result alone, so they hold for every format and for edits by hand.
 */
import type { Finding } from '../shared/formats.js';
import { lineOrigins } from './diff-lines.js';
import { elisionFindings } from './guards-elision.js';
import { characterFindings } from './guards-characters.js';
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

export const guardFindings = (files: readonly GuardedFile[]): Finding[] => files.flatMap(findingsFor);

const findingsFor = (file: GuardedFile): Finding[] => {
  const { path, base, result, baseMode, resultMode } = file;
  if (result === null)
    return base === null ? [] : [{ guard: 'deletion', severity: 'ask', path, message: `${path} is deleted.` }];
  const findings: Finding[] = [];
  if (baseMode !== undefined && resultMode !== undefined && baseMode !== resultMode)
    findings.push({
      guard: 'mode',
      severity: 'ask',
      path,
      message: `The mode of ${path} changes from ${baseMode.toString(8)} to ${resultMode.toString(8)}.`,
    });
  if (base === null && ((resultMode ?? 0) & 0o111) !== 0)
    findings.push({ guard: 'mode', severity: 'ask', path, message: `${path} is new and executable.` });
  const baseLines = linesOf(base, file.encoding);
  const resultLines = linesOf(result, file.encoding);
  if (baseLines === null || resultLines === null) return findings;
  const view: GuardView = { path, base: baseLines, result: resultLines, origins: lineOrigins(baseLines, resultLines) };
  return [
    ...findings,
    ...elisionFindings(view),
    ...shrinkage(view),
    ...conflictMarkers(view),
    ...characterFindings(view),
    ...shebang(view),
  ];
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
