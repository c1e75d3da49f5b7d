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
import { partOf } from './part-text.js';
import { partHeading, unexpectedMarker } from './headings.js';
import { noteText } from './near-misses.js';
import { settingsOf } from './plan-front.js';
import {
  documentText,
  fault,
  note,
  readDocument,
  sectionNamed,
  type DocumentReading,
  type Reading,
} from './plan-document.js';
import { isIn, within } from './text-spans.js';
import type { Part, PartHeading, PlanDocument, Span } from './types.js';

const PLAN_PHASES = 1_000; // bound: Phases of a plan. A plan with more is refused.

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
