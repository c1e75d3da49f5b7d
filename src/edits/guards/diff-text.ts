/** A diff in place of the text that it describes. */
import type { Finding } from '../../shared/formats.js';
import type { GuardView } from './view.js';

const DIFF_FILE = /\.(?:diff|patch|rej|orig|snap|txtar|dpatch)$/i;
const DIFF_BEGINS = /^(?:diff --git |--- |@@ |\*\*\* (?:Begin Patch|Update File|Add File))/;
const DIFF_LINE = /^(?:[ +\-\\]|@@|diff |index |\*\*\* |(?:old|new|deleted|similarity|rename) |$)/;

/** New text that is a diff of the very file: its headers name it, or its old lines are in the file. */
export const diffFindings = (view: GuardView): Finding[] => {
  const { path, changes } = view;
  if (DIFF_FILE.test(path)) return [];
  const diffs = changes.filter(({ lines }) => isDiff(lines));
  const known = new Set(diffs.length === 0 ? [] : view.base.all);
  const change = diffs.find(({ lines }) => names(path, lines) || quotes(known, lines));
  if (change === undefined) return [];
  const line = change.at + 1;
  const message = `The text of the new ${path} from line ${line} on is a diff. Send the text that the file is to have.`;
  return [{ guard: 'diff_as_text', severity: 'refuse', path, lines: [line, line], message }];
};

const isDiff = (lines: readonly string[]): boolean => {
  const first = lines.find((line) => line.trim() !== '') ?? '';
  if (!DIFF_BEGINS.test(first) || !lines.every((line) => DIFF_LINE.test(line))) return false;
  return first.startsWith('*** ') || lines.some((line) => line.startsWith('@@'));
};

/** Returns whether a line above the first hunk names the file. */
const names = (path: string, lines: readonly string[]): boolean => {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const hunk = lines.findIndex((line) => line.startsWith('@@'));
  const headers = hunk < 0 ? lines.slice(0, 2) : lines.slice(0, hunk);
  return headers.some((line) => line.split(/[\s/]+/).includes(name));
};

/** Returns whether more than half of the lines that the diff expects are known. */
const quotes = (known: ReadonlySet<string>, lines: readonly string[]): boolean => {
  const old = lines.filter((line) => /^[ -](?!--)/.test(line) && line.trim().length > 1);
  return old.length > 0 && old.filter((line) => known.has(line.slice(1))).length * 2 > old.length;
};
