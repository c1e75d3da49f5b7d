/**
 * Reads the file of an expanded phase or stage:
 *
 *     # Phase 2: Core Logic
 *     **Part of**: [025_feature.md](025_feature.md)
 *     **Complexity**: 9.5 (High)
 *     <!-- emend:body -->
 *     the part's own bytes
 *
 * An author may write such a file without the body line. Then the body is everything below the title and the header's fields.
 */
import { fieldOf } from './fields.js';
import { partHeading } from './headings.js';
import { noteText } from './near-misses.js';
import { readPartText } from './part-text.js';
import { documentText, fault, note, readDocument, type Reading } from './plan-document.js';
import type { DocumentText, Field, Heading, PartHeading, PartText, Span } from './types.js';

export const BODY_LINE = '<!-- emend:body -->';

export interface PartFile extends PartText, DocumentText {
  readonly path: string;
  /** The title and the header's fields. The body line is in neither the header nor the body. */
  readonly header: Span;
  readonly body: Span;
  readonly hasBodyLine: boolean;
}

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
