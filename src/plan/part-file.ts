/**
 * The file of an expanded phase or stage:
 *
 *     # Phase 2: Core Logic
 *
 *     **Part of**: [025_feature.md](025_feature.md)
 *     **Complexity**: 9.5 (High)
 *
 *     <!-- emend:body -->
 *     the part's own bytes
 *
 * In a file that a person wrote without the body line, everything below the title and the header's fields is the body.
 */
import { readPartText } from './part-text.js';
import { fault, note, readDocument } from './reading.js';
import type { Fault, Field, Link, PartHeading, PartText, Span } from './types.js';
import { fieldOf, partHeading } from './words.js';

export const BODY_LINE = '<!-- emend:body -->';

export interface PartFile extends PartText {
  readonly path: string;
  readonly source: string;
  /** The title and the header's fields; the body line, where there is one, is in neither span. */
  readonly header: Span;
  readonly body: Span;
  readonly hasBodyLine: boolean;
  readonly fields: readonly Field[];
  readonly links: readonly Link[];
  readonly opaque: readonly Span[];
  readonly faults: readonly Fault[];
  readonly notes: readonly Fault[];
}

/** `shown`: how faults name the file. `expected`: the heading that led here. */
export function readPartFile(source: string, path: string, shown: string, expected: PartHeading): PartFile {
  const reading = readDocument(source, shown);
  const { outline, fields } = reading;
  const title = outline.headings[0];
  const part = title === undefined ? null : partHeading(title);
  const wanted = `${expected.kind === 'phase' ? 'Phase' : 'Stage'} ${expected.number}`;
  if (part?.kind !== expected.kind || part.number !== expected.number || part.level !== 1)
    fault(
      reading,
      title?.from ?? 0,
      `expected the title \`# ${wanted}: ${expected.name}\`, received ${title === undefined ? 'no heading' : JSON.stringify(source.slice(title.from, title.to).slice(0, 80))}`,
    );
  const line = /^<!-- emend:body -->[ \t]*(?:\r\n|\n|\r|$)/m.exec(source);
  if (line === null)
    note(reading, 0, `expected a line ${BODY_LINE} above the text that collapsing gives back; there is none`);
  const headerEnd = line?.index ?? endOfFields(source, title?.to ?? 0, fields);
  const body = { from: line === null ? headerEnd : line.index + line[0].length, to: source.length };
  const header = { from: 0, to: headerEnd };
  const text = readPartText(reading, body, 1);
  const told = (name: string): string | null =>
    fieldOf(
      fields.filter(({ from }) => from < headerEnd),
      name,
    )?.value ?? null;
  return {
    ...text,
    complexity: text.complexity ?? told('Complexity'),
    estimatedTime: text.estimatedTime ?? told('Estimated Time'),
    path,
    source,
    header,
    body,
    hasBodyLine: line !== null,
    fields,
    links: outline.links,
    opaque: outline.opaque,
    faults: reading.faults,
    notes: reading.notes,
  };
}

/** Behind the last of the fields that follow the title with nothing but blank lines between. */
function endOfFields(source: string, title: number, fields: readonly Field[]): number {
  let end = title;
  for (const { from, to } of fields) {
    if (from < end) continue;
    if (source.slice(end, from).trim() !== '') break;
    end = to;
  }
  return end + (/^[ \t]*(?:\r\n|\n|\r)?/.exec(source.slice(end)) ?? [''])[0].length;
}
