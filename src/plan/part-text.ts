/** What the text of a phase or stage says: objective, dependencies, tasks, stages. */
import { bodyOf, fault, onlyField, type Reading } from './reading.js';
import { within } from './spans.js';
import type { Dependencies, Field, Heading, Part, PartHeading, PartText, Span } from './types.js';
import { fieldOf, numbersOf, partHeading } from './words.js';

const EXPECTED_NUMBERS = 'expected numbers like `[1, 3]`, or `[]` for none';

/** The part under a heading, which ends at `end` at the latest. */
export function partOf(reading: Reading, heading: Heading, end: number): Omit<Part, 'heading'> {
  const body = bodyOf(reading.outline, reading.source, heading, end);
  return { body, ...readPartText(reading, body, heading.level) };
}

/** `level`: of the heading above; stages are deeper. 0 for a document of its own. */
export function readPartText(reading: Reading, body: Span, level: number): PartText {
  const { outline, source } = reading;
  const stages = stagesOf(reading, body, level);
  const own = (item: { readonly from: number }): boolean =>
    !stages.some(({ heading, body: { to } }) => item.from >= heading.from && item.from < to);
  const fields = within(reading.fields, body).filter(own);
  const section = (name: string): string | null => {
    const heading = within(outline.headings, body).find(
      (each) => own(each) && each.text.trim().toLowerCase() === name.toLowerCase(),
    );
    if (heading === undefined) return null;
    const { from, to } = bodyOf(outline, source, heading, body.to);
    return source.slice(from, to);
  };
  const said = (name: string): string | null => nonEmpty(fieldOf(fields, name)?.value ?? '');
  return {
    objective: said('Objective') ?? firstParagraph(section('Objective') ?? ''),
    dependencies: dependenciesOf(reading, onlyField(reading, fields, 'Dependencies')),
    complexity: said('Complexity'),
    estimatedTime: said('Estimated Time'),
    prerequisites: listed(said('Prerequisites') ?? section('Prerequisites') ?? ''),
    tasks: within(outline.tasks, body),
    stages,
  };
}

function stagesOf(reading: Reading, body: Span, level: number): readonly Part[] {
  const headings = within(reading.outline.headings, body)
    .map(partHeading)
    .filter((heading): heading is PartHeading => heading?.kind === 'stage' && heading.level > level);
  const first = headings[0]?.level;
  const stages = headings.filter((heading) => heading.level === first);
  for (const heading of headings)
    if (heading.level !== first)
      fault(
        reading,
        heading.from,
        `expected ${'#'.repeat(first ?? 4)}, the level of this phase's first stage, received ${'#'.repeat(heading.level)} before Stage ${heading.number}`,
      );
  stages.forEach((heading, index) => {
    const earlier = stages.findIndex(({ number }) => number === heading.number);
    if (earlier < index)
      fault(
        reading,
        heading.from,
        `expected each stage number once in a phase, and line ${stages[earlier]?.line ?? 0} is Stage ${heading.number} already`,
      );
  });
  // A stage of a stage is none: its text is read without looking for more.
  return stages.map((heading) => ({ heading, ...partOf(reading, heading, body.to) }));
}

function dependenciesOf(reading: Reading, field: Field | undefined): Dependencies | null {
  if (field === undefined) return null;
  const on = numbersOf(field.value);
  if (on !== null) return { line: field.line, on: [...new Set(on)] };
  fault(
    reading,
    field.from,
    `**Dependencies**: ${EXPECTED_NUMBERS}, received ${JSON.stringify(field.value.slice(0, 80))}`,
  );
  return { line: field.line, on: [] };
}

const nonEmpty = (text: string): string | null => (text.trim() === '' ? null : text.trim());

function firstParagraph(text: string): string | null {
  const lines = text.trim().split(/\r\n|\n|\r/);
  const end = lines.findIndex((line) => line.trim() === '' || /^[ \t]*(?:[-*+][ \t]|#{1,6}[ \t]|```|~~~)/.test(line));
  return nonEmpty((end < 0 ? lines : lines.slice(0, end)).map((line) => line.trim()).join(' '));
}

/** The items of a list, else the text as one. */
function listed(text: string): readonly string[] {
  const items = [...text.matchAll(/^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(.*?)[ \t\r]*$/gm)].map(([, item]) => item ?? '');
  const whole = nonEmpty(text);
  return items.length > 0 ? items : whole === null ? [] : [whole];
}
