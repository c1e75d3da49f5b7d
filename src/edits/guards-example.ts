/** A small model that loses its way goes on with the example of the prompt: its lines are no part of any task. */
import { EXAMPLE_LINES } from '../shared/example.js';
import type { Finding } from '../shared/formats.js';
import { type GuardView, eachNewLine } from './guards-view.js';

/** New lines that only the prompt's example has: neither the file nor the instructions do. */
export const exampleFindings = (view: GuardView, asked: string): Finding[] => {
  const { path, base } = view;
  const findings: Finding[] = [];
  eachNewLine(view, (line, at) => {
    const text = line.trim();
    if (!EXAMPLE_LINES.has(text) || asked.includes(text) || base.all.some((old) => old.trim() === text)) return;
    const message = `Line ${at + 1} of the new ${path} (${JSON.stringify(text)}) is a line of the example that shows the form of an answer. Send the lines of ${path} itself.`;
    findings.push({ guard: 'example', severity: 'refuse', path, lines: [at + 1, at + 1], message });
  });
  return findings;
};
