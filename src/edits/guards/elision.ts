/** Finds new lines that stand for text (locate/elision.ts says which do), unless a file holds them. */
import type { Finding } from '../../shared/formats.js';
import { isElision } from '../locate/elision.js';
import { type GuardView, eachNewLine } from './view.js';

const QUOTED_CHARS = 100; // bound: Characters of a placeholder in its finding.

/** `isKnown`: whether a file that the response may have copied from holds the line. */
export const elisionFindings = (
  view: GuardView,
  isKnown: (line: string) => boolean,
): readonly Finding[] => {
  const { path, base } = view;
  const findings: Finding[] = [];
  let baseLines: ReadonlySet<string> | null = null;
  eachNewLine(view, (line, index, { from, to, lines }) => {
    const lost = Math.max(0, to - from - lines.length);
    if (!isElision(path, line, lost)) return;
    baseLines ??= new Set(base.all.map((old) => old.trim()));
    const text = line.trim();
    if (baseLines.has(text) || isKnown(text)) return;
    const problem =
      lost > 0
        ? `replaces part of the file (${lost} lines fewer)`
        : 'reads as if text were omitted';
    const message = `Line ${index + 1} of the new ${path} (${JSON.stringify(text.slice(0, QUOTED_CHARS))}) ${problem}. Send the text itself, not a placeholder.`;
    const place = [index + 1, index + 1] as const;
    findings.push({ guard: 'elision', severity: 'refuse', path, lines: place, message });
  });
  return findings;
};
