/** Notes text that its author probably meant as a field or a task. */
import { numbersOf } from './fields.js';
import { note, type Reading } from './plan-document.js';
import { isIn, within } from './text-spans.js';
import type { Field, Span } from './types.js';
import { nearestWord } from '../../shared/text.js';

export const NEARLY = 9; // bound: Letters of a marker or a field's name for which one may differ. With fewer, `Objects` would count as `Objective`.

const FIELD_NAMES = ['Objective', 'Dependencies', 'Complexity', 'Estimated Time', 'Prerequisites'];

const LIKE_TASK = /^[ \t]*(?:[-*+]|\d+[.)])[ \t]*\[[ \t]*(?:[xX][ \t]*)?\](?![[(:])/;

const LIKE_DEPENDENCIES =
  /^[ \t]*(?:[-*+][ \t]+)?[*_]*depend(?:s|[ea]nc(?:y|ies))(?: on)?[*_]*[ \t]*:[*_]*(.*)$/i;

/** Notes each line that looks like a field or a task of a phase or its stages, but is read as text. */
export function noteText(reading: Reading, body: Span): void {
  const tasks = within(reading.outline.tasks, body);
  const fields = within(reading.fields, body);
  noteFieldNames(reading, fields);
  noteLines(reading, body, new Set([...tasks, ...fields].map(({ line }) => line)));
}

/** Notes each field whose name is similar to the name of a known field. */
function noteFieldNames(reading: Reading, fields: readonly Field[]): void {
  for (const { name, from } of fields) {
    const near = /^depend(?:ency|s on)$/i.test(name)
      ? 'Dependencies'
      : nearestWord(name, FIELD_NAMES, NEARLY);
    if (near !== null && near.toLowerCase() !== name.toLowerCase())
      note(reading, from, `**${name}** is treated as text; did you mean **${near}**?`);
  }
}

/** Notes each other line that looks like a task or like dependencies. `structuredLines` are the lines of tasks and fields. */
function noteLines(reading: Reading, body: Span, structuredLines: ReadonlySet<number>): void {
  const { source, outline } = reading;
  const { starts, lineOf } = outline.lines;
  for (let line = lineOf(body.from); (starts[line - 1] ?? body.to) < body.to; line += 1) {
    const from = starts[line - 1] ?? 0;
    const text = source.slice(from, starts[line] ?? source.length).trimEnd();
    if (structuredLines.has(line) || isIn(outline.opaque, from + text.search(/\S|$/))) continue;
    if (LIKE_TASK.test(text))
      note(reading, from, 'expected a task as `- [ ] …` or `- [x] …`, treated as text');
    const numbers = numbersOf(LIKE_DEPENDENCIES.exec(text)?.[1] ?? '') ?? [];
    if (numbers.length > 0)
      note(reading, from, 'expected `**Dependencies**: [1, 3]`, treated as text');
  }
}
