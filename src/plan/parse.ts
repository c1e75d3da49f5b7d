/**
 * Reads a plan document. Grammar, at the top level of the Markdown and outside code and comments:
 *
 *     plan   := [front matter] [# title] [## Metadata] phase+ [## Implementation Progress] [## Revision History]
 *     phase  := "### Phase" N ":" Name marker* body       every phase heading of a plan has the same level
 *     stage  := heading "Stage" M ":" Name marker* body    within a phase, deeper than it
 *     marker := "[EXPANDED]" | "[COMPLETED]" | "[SKIPPED]" | "[INCOMPLETE]"
 *     body   := everything up to the next heading that is not deeper
 *
 * Everything else is a person's text. Nothing is thrown: what is wrong is a fault, what is only missing a note.
 */
import { BOUNDS } from '../shared/limits.js';
import type { Outline } from './markdown.js';
import { partOf } from './part-text.js';
import { bodyOf, fault, note, readDocument, type Reading } from './reading.js';
import { isIn, within } from './spans.js';
import type { Part, PartHeading, PlanDocument, Span } from './types.js';
import { isNearlyPart, partHeading, strangeMarker } from './words.js';

/** `file` is how faults name the document. */
export function parsePlan(source: string, file: string): PlanDocument {
  const reading = readDocument(source, file);
  const { outline, fields, frontMatter, faults, notes } = reading;
  const phases = phasesOf(reading);
  const section = (name: string): Span | null => sectionNamed(outline, source, name);
  const metadata = section('Metadata');
  return {
    file,
    source,
    eol: /\r\n|\n|\r/.exec(source)?.[0] === '\r\n' ? '\r\n' : '\n',
    frontMatter,
    title: outline.headings.find((heading) => heading.level === 1)?.text ?? null,
    metadata: metadata === null ? [] : within(fields, metadata),
    counter: counterOf(reading, frontMatter, phases[0]?.heading.from ?? source.length),
    phases,
    progress: section('Implementation Progress'),
    revisions: section('Revision History'),
    headings: outline.headings,
    fields,
    links: outline.links,
    opaque: outline.opaque,
    faults,
    notes,
  };
}

const EXPECTED_PHASE = 'expected a heading `### Phase N: Name`';

function phasesOf(reading: Reading): readonly Part[] {
  const { outline, source } = reading;
  const all = outline.headings.map(partHeading);
  const level = all.find((heading) => heading?.kind === 'phase')?.level;
  const phases = all.filter((heading): heading is PartHeading => heading?.kind === 'phase' && heading.level === level);
  for (const heading of outline.headings) {
    const part = partHeading(heading);
    if (isNearlyPart(heading) && heading.text.startsWith('Phase'))
      note(
        reading,
        heading.from,
        `${EXPECTED_PHASE}, received ${JSON.stringify(heading.text)}, which is taken as text`,
      );
    else if (part?.kind === 'phase' && part.level !== level)
      fault(
        reading,
        heading.from,
        `expected ${'#'.repeat(level ?? 3)}, the level of this plan's first phase, received ${'#'.repeat(part.level)} before Phase ${part.number}`,
      );
    else if (part?.kind === 'phase' && strangeMarker(part) !== null)
      note(reading, heading.from, `[${strangeMarker(part) ?? ''}] is no marker, and taken as part of the name`);
  }
  if (phases.length === 0) fault(reading, 0, `${EXPECTED_PHASE}, and found none`);
  if (phases.length > BOUNDS.planPhases) {
    fault(
      reading,
      phases[BOUNDS.planPhases]?.from ?? 0,
      `expected at most ${BOUNDS.planPhases} phases, received ${phases.length}`,
    );
    return [];
  }
  return phases.map((heading) => ({ heading, ...partOf(reading, heading, source.length) }));
}

function sectionNamed(outline: Outline, source: string, name: string): Span | null {
  const heading = outline.headings.find(({ text }) => text.trim().toLowerCase() === name.toLowerCase());
  return heading === undefined ? null : { from: heading.from, to: bodyOf(outline, source, heading, source.length).to };
}

const COUNTER =
  /^([ \t]*(?:[-*+][ \t]+)?(?:\*\*)?expanded[_ ]phases(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*)(\d{1,4})[ \t]*\r?$/gim;

/** `expanded_phases: 2` in the front matter, or `- **Expanded Phases**: 2` above the first phase. */
function counterOf(reading: Reading, frontMatter: Span | null, end: number): PlanDocument['counter'] {
  const { outline, source } = reading;
  for (const match of source.slice(0, end).matchAll(COUNTER)) {
    const inFront = frontMatter !== null && match.index < frontMatter.to;
    if (!inFront && isIn(outline.opaque, match.index)) continue;
    const from = match.index + (match[1] ?? '').length;
    const digits = match[2] ?? '';
    return { from, to: from + digits.length, value: Number(digits), line: outline.lines.lineOf(from) };
  }
  return null;
}
