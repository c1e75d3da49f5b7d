/** Reads the text of a phase or stage: its objective, dependencies, tasks and stages. */
import { fieldOf, numbersOf } from './fields.js';
import { partHeading } from './headings.js';
import { bodyOf, fault, onlyField, sectionNamed, type Reading } from './plan-document.js';
import { within } from './text-spans.js';
import type { Dependencies, Field, Heading, Part, PartHeading, PartText, Span } from './types.js';

const EXPECTED_NUMBERS = 'expected numbers like `[1, 3]`, or `[]` for none';

/** Reads the part under a heading. It ends at `end` at the latest. */
export function partOf(reading: Reading, heading: Heading, end: number): Omit<Part, 'heading'> {
  const body = bodyOf(reading.outline, reading.source, heading, end);
  return { body, ...readPartText(reading, body, heading.level) };
}

/** Reads the text of a part. `level` is the level of its heading, and the headings of its stages are deeper. */
export function readPartText(reading: Reading, body: Span, level: number): PartText {
  const { outline, source } = reading;
  const stages = stagesOf(reading, body, level);
  const isOwn = (item: { readonly from: number }): boolean =>
    !stages.some(({ heading, body: { to } }) => item.from >= heading.from && item.from < to);
  const fields = within(reading.fields, body).filter(isOwn);
  const sectionText = (name: string): string | null => {
    const section = sectionNamed(
      { source, outline: { ...outline, headings: within(outline.headings, body) } },
      name,
      isOwn,
    );
    return section && source.slice(section.body.from, Math.min(section.body.to, body.to));
  };
  const fieldText = (name: string): string | null => nonEmpty(fieldOf(fields, name)?.value ?? '');
  return {
    objective: fieldText('Objective') ?? firstParagraph(sectionText('Objective') ?? ''),
    dependencies: dependenciesOf(reading, onlyField(reading, fields, 'Dependencies')),
    complexity: fieldText('Complexity'),
    estimatedTime: fieldText('Estimated Time'),
    prerequisites: listItems(fieldText('Prerequisites') ?? sectionText('Prerequisites') ?? ''),
    tasks: within(outline.tasks, body),
    stages,
  };
}

function stagesOf(reading: Reading, body: Span, level: number): readonly Part[] {
  const headings = within(reading.outline.headings, body)
    .map(partHeading)
    .filter(
      (heading): heading is PartHeading => heading?.kind === 'stage' && heading.level > level,
    );
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
        `expected each stage number once in a phase, but line ${stages[earlier]?.line ?? 0} is already Stage ${heading.number}`,
      );
  });
  // Stages have no stages of their own, so deeper headings are part of their text.
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
  const end = lines.findIndex(
    (line) => line.trim() === '' || /^[ \t]*(?:[-*+][ \t]|#{1,6}[ \t]|```|~~~)/.test(line),
  );
  return nonEmpty((end < 0 ? lines : lines.slice(0, end)).map((line) => line.trim()).join(' '));
}

function listItems(text: string): readonly string[] {
  const items = [...text.matchAll(/^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(.*)$/gm)].map(([, item = '']) =>
    item.trimEnd(),
  );
  return items.length > 0 ? items : [text.trim()].filter((whole) => whole !== '');
}
