/** Reads a Markdown document of a plan with its outline and fields, and collects its faults. */
import type { DocumentText, Fault, Field, Heading, Span } from './types.js';
import { fieldOf, fieldsOf } from './fields.js';
import { readMarkdown, type Outline } from './markdown.js';
import { firstAt } from './text-spans.js';
import { splitFrontMatter, type FrontMatter } from '../source/front-matter.js';

/** A document while it is read: its text, outline and fields, and the faults so far. */
export interface Reading {
  readonly file: string;
  readonly source: string;
  readonly outline: Outline;
  readonly fields: readonly Field[];
  readonly faults: Fault[];
  readonly notes: Fault[];
}

/** A document with its front matter. `begin` is the offset after a byte order mark and the front matter. */
export type DocumentReading = Reading & { readonly front: FrontMatter; readonly begin: number };

/** Reads the Markdown of a document with its fields. `file` is the name of the document in faults. */
export function readDocument(source: string, file: string): DocumentReading {
  const front = splitFrontMatter(source);
  const begin = beginOf(source, front);
  const outline = readMarkdown(source, begin);
  const fields = fieldsOf(source, outline, begin);
  const reading = { file, source, outline, fields, faults: [], notes: [] as Fault[] };
  if (outline.excess !== null) fault(reading, outline.excess.from, outline.excess.message);
  if (outline.openFence !== null)
    note(
      reading,
      outline.openFence,
      'this code fence is not closed, so everything below it is treated as code',
    );
  return { ...reading, front, begin };
}

export function fault({ file, outline, faults }: Reading, offset: number, message: string): void {
  faults.push({ file, line: outline.lines.lineOf(offset), message });
}

export function note({ file, outline, notes }: Reading, offset: number, message: string): void {
  notes.push({ file, line: outline.lines.lineOf(offset), message });
}

/** Returns the span from the line after the heading to the next heading that is not deeper. */
export function bodyOf(
  { headings, lines }: Outline,
  source: string,
  heading: Heading,
  end: number,
): Span {
  const from = Math.min(
    lines.starts[lines.lineOf(Math.max(heading.from, heading.to - 1))] ?? source.length,
    end,
  );
  const next = headings
    .slice(firstAt(headings, heading.from + 1))
    .find(({ level }) => level <= heading.level);
  return { from, to: Math.max(from, Math.min(next?.from ?? end, end)) };
}

/** Returns the offset of the first heading with that name, in any letter case, and the text below it. `isOwn` can exclude headings. */
export function sectionNamed(
  { outline, source }: Pick<Reading, 'outline' | 'source'>,
  name: string,
  isOwn: (heading: Heading) => boolean = () => true,
): { readonly from: number; readonly body: Span } | null {
  const hasName = (candidate: Heading): boolean =>
    candidate.text.trim().toLowerCase() === name.toLowerCase() && isOwn(candidate);
  const heading = outline.headings.find(hasName);
  return heading === undefined
    ? null
    : { from: heading.from, body: bodyOf(outline, source, heading, source.length) };
}

/** Returns the first field of that name, and reports a fault for each further one. */
export function onlyField(
  reading: Reading,
  fields: readonly Field[],
  name: string,
): Field | undefined {
  const found = fieldOf(fields, name);
  for (const other of fields)
    if (other !== found && other.name.toLowerCase() === name.toLowerCase())
      fault(
        reading,
        other.from,
        `expected one **${name}** line, but line ${found?.line ?? 0} is already one`,
      );
  return found;
}

const beginOf = (source: string, front: FrontMatter): number =>
  front.ok ? source.length - front.body.length : Number(source.startsWith('\uFEFF'));

export const outlineOf = (source: string): Outline =>
  readMarkdown(source, beginOf(source, splitFrontMatter(source)));

/** Returns the parts of a document that its readers keep. */
export const documentText = ({
  source,
  fields,
  outline,
  faults,
  notes,
}: Reading): DocumentText => ({
  source,
  fields,
  links: outline.links,
  opaque: outline.opaque,
  faults,
  notes,
});
