/**
 * Reads a plan document. Grammar, at the top level of the Markdown and outside code and comments:
 *
 *     plan   := [front matter] [# title] [## Metadata] phase+ [## Implementation Progress] [## Revision History]
 *     phase  := "### Phase" N ":" Name marker* body       every phase heading of a plan has the same level
 *     stage  := heading "Stage" M ":" Name marker* body    within a phase, deeper than it
 *     marker := "[EXPANDED]" | "[COMPLETED]" | "[SKIPPED]" | "[INCOMPLETE]"
 *     body   := everything up to the next heading that is not deeper
 *
 * All other text belongs to the author and is not read. The reader throws no errors: a mistake is a fault, and a missing detail is a note.
 */

import {
  bodyOf,
  fault,
  note,
  readDocument,
  type DocumentReading,
  type Reading,
  partHeading,
  unexpectedMarker,
  fieldOf,
  onlyField,
  sectionNamed,
  noteText,
  settingsOf,
  numbersOf,
} from './reading.js';
import {
  isIn,
  within,
  type Part,
  type PartHeading,
  type PlanDocument,
  type Span,
  type Field,
  type PartText,
  type Dependencies,
  type DocumentText,
  type Heading,
} from './types.js';

const PLAN_PHASES = 1_000; // bound: Phases of a plan. A plan with more is refused.

// Reads the text of a phase or stage: objective, dependencies, tasks, stages.

const EXPECTED_NUMBERS = 'expected numbers like `[1, 3]`, or `[]` for none';

/** Reads the part under a heading. It ends at `end` at the latest. */
function partOf(reading: Reading, heading: Heading, end: number): Omit<Part, 'heading'> {
  const body = bodyOf(reading.outline, reading.source, heading, end);
  return { body, ...readPartText(reading, body, heading.level) };
}

/** Reads the text of a part. `level` is the level of its heading, and the headings of its stages are deeper. */
function readPartText(reading: Reading, body: Span, level: number): PartText {
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

/** Reads a plan document. `file` is its name in faults. */
export function parsePlan(source: string, file: string): PlanDocument {
  const reading = readDocument(source, file);
  const { outline, fields } = reading;
  const phases = phasesOf(reading);
  const bodies = phases.map(({ body }) => body);
  // A section inside a phase is part of the phase's text, and not a section of the plan.
  const sectionSpan = (name: string): Span | null => {
    const section = sectionNamed(reading, name, ({ from }) => !isIn(bodies, from));
    return section && { from: section.from, to: section.body.to };
  };
  const metadata = sectionSpan('Metadata');
  return {
    ...documentText(reading),
    file,
    eol: /\r\n|\n|\r/.exec(source)?.[0] === '\r\n' ? '\r\n' : '\n',
    settings: settingsOf(reading),
    title: outline.headings.find((heading) => heading.level === 1)?.text ?? null,
    metadata: metadata === null ? [] : within(fields, metadata),
    counter: counterOf(reading, phases[0]?.heading.from ?? source.length),
    phases,
    progress: sectionSpan('Implementation Progress'),
    revisions: sectionSpan('Revision History'),
  };
}

const EXPECTED_PHASE = 'expected a heading `### Phase N: Name`';

function phasesOf(reading: Reading): readonly Part[] {
  const { outline, source } = reading;
  const all = outline.headings.map(partHeading);
  const level = all.find((heading) => heading?.kind === 'phase')?.level;
  const phases = all.filter(
    (heading): heading is PartHeading => heading?.kind === 'phase' && heading.level === level,
  );
  checkPhaseHeadings(reading, level);
  if (phases.length === 0) {
    // A heading that was read as text or as code may be the cause, so the notes become faults.
    reading.faults.push(...reading.notes);
    fault(reading, 0, `${EXPECTED_PHASE}, found none`);
  }
  if (phases.length > PLAN_PHASES) {
    fault(
      reading,
      phases[PLAN_PHASES]?.from ?? 0,
      `expected at most ${PLAN_PHASES} phases, received ${phases.length}`,
    );
    return [];
  }
  const parts = phases.map((heading) => ({ heading, ...partOf(reading, heading, source.length) }));
  for (const { body } of parts) noteText(reading, body);
  return parts;
}

/** Reports headings that look like a phase but are none, phases at another level, and unknown markers. `level` is that of the first phase. */
function checkPhaseHeadings(reading: Reading, level: number | undefined): void {
  for (const heading of reading.outline.headings) {
    const part = partHeading(heading);
    // The author probably meant a phase.
    if (part === null && /^phase[ \t]*\d/i.test(heading.text))
      note(
        reading,
        heading.from,
        `${EXPECTED_PHASE}, received ${JSON.stringify(heading.text)}, treated as text`,
      );
    else if (part?.kind === 'phase' && part.level !== level)
      fault(
        reading,
        heading.from,
        `expected ${'#'.repeat(level ?? 3)}, the level of this plan's first phase, received ${'#'.repeat(part.level)} before Phase ${part.number}`,
      );
    else if (part?.kind === 'phase' && unexpectedMarker(part) !== null)
      note(
        reading,
        heading.from,
        `[${unexpectedMarker(part) ?? ''}] is not a marker; treated as part of the name`,
      );
  }
}

const COUNTER =
  /^([ \t]*(?:[-*+][ \t]+)?(?:\*\*)?expanded[_ ]phases(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*)(\d{1,4})[ \t]*\r?$/gim;

/** Finds the counter: `expanded_phases: 2` in the front matter, or `- **Expanded Phases**: 2` above the first phase. */
function counterOf(
  { outline, source, begin }: DocumentReading,
  end: number,
): PlanDocument['counter'] {
  for (const match of source.slice(0, end).matchAll(COUNTER)) {
    if (match.index >= begin && isIn(outline.opaque, match.index)) continue;
    const from = match.index + (match[1] ?? '').length;
    const digits = match[2] ?? '';
    return {
      from,
      to: from + digits.length,
      value: Number(digits),
      line: outline.lines.lineOf(from),
    };
  }
  return null;
}

// The file of an expanded phase or stage:
//
//     # Phase 2: Core Logic
//     **Part of**: [025_feature.md](025_feature.md)
//     **Complexity**: 9.5 (High)
//     <!-- emend:body -->
//     the part's own bytes
//
// An author may write such a file without the body line. Then the body is everything below the title and the header's fields.

export const BODY_LINE = '<!-- emend:body -->';

export interface PartFile extends PartText, DocumentText {
  readonly path: string;
  /** The title and the header's fields. The body line is in neither the header nor the body. */
  readonly header: Span;
  readonly body: Span;
  readonly hasBodyLine: boolean;
}

const documentText = ({ source, fields, outline, faults, notes }: Reading): DocumentText => ({
  source,
  fields,
  links: outline.links,
  opaque: outline.opaque,
  faults,
  notes,
});

/** Reads the file of a part. `displayName` is its name in faults, and `expected` is the heading of the part in the document that refers to it. */
export function readPartFile(
  source: string,
  path: string,
  displayName: string,
  expected: PartHeading,
): PartFile {
  const reading = readDocument(source, displayName);
  const { outline, fields } = reading;
  const title = outline.headings[0];
  checkTitle(reading, title, expected);
  const line = /^<!-- emend:body -->[ \t]*(?:\r\n|\n|\r|$)/m.exec(source);
  if (line === null) note(reading, 0, `expected a line ${BODY_LINE} above the text to move back`);
  const headerEnd = line?.index ?? endOfFields(source, title?.to ?? 0, fields);
  const body = { from: line === null ? headerEnd : line.index + line[0].length, to: source.length };
  const header = { from: 0, to: headerEnd };
  const text = readPartText(reading, body, 1);
  noteText(reading, body);
  const headerField = (name: string): string | null =>
    fieldOf(
      fields.filter(({ from }) => from < headerEnd),
      name,
    )?.value ?? null;
  return {
    ...text,
    complexity: text.complexity ?? headerField('Complexity'),
    estimatedTime: text.estimatedTime ?? headerField('Estimated Time'),
    ...documentText(reading),
    path,
    header,
    body,
    hasBodyLine: line !== null,
  };
}

/** Reports a title that does not belong to the expected part. */
function checkTitle(reading: Reading, title: Heading | undefined, expected: PartHeading): void {
  const part = title === undefined ? null : partHeading(title);
  if (part?.kind === expected.kind && part.number === expected.number && part.level === 1) return;
  const expectedTitle = `${expected.kind === 'phase' ? 'Phase' : 'Stage'} ${expected.number}`;
  const received =
    title === undefined
      ? 'no heading'
      : JSON.stringify(reading.source.slice(title.from, title.to).slice(0, 80));
  fault(
    reading,
    title?.from ?? 0,
    `expected the title \`# ${expectedTitle}: ${expected.name}\`, received ${received}`,
  );
}

/** Returns the offset after the fields below the title. Only blank lines may be between the fields. */
function endOfFields(source: string, title: number, fields: readonly Field[]): number {
  let end = title;
  for (const { from, to } of fields) {
    if (from < end) continue;
    if (source.slice(end, from).trim() !== '') break;
    end = to;
  }
  return end + (/^[ \t]*(?:\r\n|\n|\r)?/.exec(source.slice(end)) ?? [''])[0].length;
}
