/** A document as its readers share it: text, outline, fields, and what is wrong so far. */
import { readMarkdown, type Outline } from './markdown.js';
import { firstAt } from './spans.js';
import type { Fault, Field, Heading, Span } from './types.js';
import { fieldOf, fieldsOf } from './words.js';

export interface Reading {
  readonly file: string;
  readonly source: string;
  readonly outline: Outline;
  readonly fields: readonly Field[];
  readonly faults: Fault[];
  readonly notes: Fault[];
}

/** A document's Markdown with its fields; `file` is how faults name it. */
export function readDocument(source: string, file: string): Reading & { readonly frontMatter: Span | null } {
  const frontMatter = frontMatterOf(source);
  const begin = markdownStart(source);
  const outline = readMarkdown(source, begin);
  const fields = fieldsOf(source, outline, begin);
  const reading = { file, source, outline, fields, faults: [], notes: [] as Fault[] };
  if (outline.openFence !== null)
    note(reading, outline.openFence, 'this code fence is not closed, so everything below it is code');
  return { ...reading, frontMatter };
}

export function fault({ file, outline, faults }: Reading, offset: number, message: string): void {
  faults.push({ file, line: outline.lines.lineOf(offset), message });
}
export function note({ file, outline, notes }: Reading, offset: number, message: string): void {
  notes.push({ file, line: outline.lines.lineOf(offset), message });
}

/** From the line after the heading to the next heading that is not deeper. */
export function bodyOf({ headings, lines }: Outline, source: string, heading: Heading, end: number): Span {
  const from = Math.min(lines.starts[lines.lineOf(Math.max(heading.from, heading.to - 1))] ?? source.length, end);
  const next = headings.slice(firstAt(headings, heading.from + 1)).find(({ level }) => level <= heading.level);
  return { from, to: Math.max(from, Math.min(next?.from ?? end, end)) };
}

/** YAML between two lines `---` at the very beginning. */
function frontMatterOf(source: string): Span | null {
  const match = /^\uFEFF?---[ \t]*(?:\r\n|\n|\r)(?:[^]*?(?:\r\n|\n|\r))?(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|$)/.exec(
    source,
  );
  return match === null ? null : { from: 0, to: match[0].length };
}

/** A field as told: the value of the last, with a fault for each further one of the same name. */
export function onlyField(reading: Reading, fields: readonly Field[], name: string): Field | undefined {
  const found = fieldOf(fields, name);
  for (const other of fields)
    if (other !== found && other.name.toLowerCase() === name.toLowerCase())
      fault(reading, other.from, `expected one **${name}** line, and line ${found?.line ?? 0} is one already`);
  return found;
}

/** Offset behind a byte order mark and front matter. */
export const markdownStart = (source: string): number =>
  frontMatterOf(source)?.to ?? (source.startsWith('\uFEFF') ? 1 : 0);
