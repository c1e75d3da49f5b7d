/** Reads headings, fields and the front matter of a plan. */
import { isRecord, nearestWord } from '../../shared/text.js';
import { LIMITS } from '../../shared/limits.js';
import { CONFIG_KEYS, JOB_KEYS } from '../job/index.js';
import { checkKeys, described } from '../source/check.js';
import { base, repository, SHARED } from '../source/schemas.js';
import { type FrontMatter, readYaml, splitFrontMatter } from '../source/yaml.js';
import { readMarkdown, type Outline } from './markdown.js';
import {
  firstAt,
  within,
  type Fault,
  type Field,
  type Heading,
  type Span,
  isIn,
  MARKERS,
  type Marker,
  type PartHeading,
  type PlanFront,
  type TextSplice,
} from './types.js';

const MARKER = new RegExp(`(?<![ \\t])[ \\t]*\\[(${MARKERS.join('|')})\\]$`);
const PART = /^(Phase|Stage)[ \t]+(\d{1,4})[ \t]*:[ \t]*(\S.*)$/s;

/** Parses the heading of a phase or a stage. Returns null for any other heading. */
export function partHeading(heading: Heading): PartHeading | null {
  const [, kind, number, rest] = PART.exec(heading.text) ?? [];
  if (kind === undefined || number === undefined || rest === undefined) return null;
  let name = rest;
  const markers: Marker[] = [];
  for (let match = MARKER.exec(name); match !== null; match = MARKER.exec(name)) {
    markers.unshift(match[1] as Marker);
    name = name.slice(0, match.index);
  }
  const part = kind === 'Phase' ? 'phase' : 'stage';
  // A heading that is underlined may have several lines.
  name = name.trim().replace(/(?<![ \t])[ \t]*[\r\n]+[ \t]*/g, ' ');
  return name === '' ? null : { ...heading, kind: part, number: Number(number), name, markers };
}

const NEARLY = 9; // bound: Letters of a marker or a field's name for which one may differ. With fewer, `Objects` would count as `Objective`.
/** Returns a word in brackets at the end of a heading that its author probably took for a marker: in capitals, or similar to a marker. */
export function unexpectedMarker({ name }: PartHeading): string | null {
  const word = /\[ *([A-Za-z][A-Za-z_-]*) *\]$/.exec(name)?.[1] ?? '';
  return /^(?:[A-Z_-]{2,}|[Dd]one)$/.test(word) || nearestWord(word, MARKERS, NEARLY) !== null
    ? word
    : null;
}

/** Returns the splice that adds a marker at the end of the heading. The list is empty if the heading already has it. */
export const addMarker = (heading: PartHeading, marker: Marker): readonly TextSplice[] =>
  heading.markers.includes(marker)
    ? []
    : [{ from: heading.words.to, to: heading.words.to, text: ` [${marker}]` }];

/** Returns the splice that removes a marker and the blank before it. The list is empty if the heading does not have it. */
export function removeMarker(heading: PartHeading, marker: Marker): readonly TextSplice[] {
  const index = heading.text.lastIndexOf(`[${marker}]`);
  if (!heading.markers.includes(marker) || index < 0) return [];
  const from = heading.words.from + index;
  const blank = /[ \t]/.test(heading.text.charAt(index - 1)) ? 1 : 0;
  return [{ from: from - blank, to: from + marker.length + 2, text: '' }];
}

const FIELD = /^[ \t]*(?:[-*+][ \t]+)?\*\*([^*\r\n]{1,60}?)[ \t]*(?::\*\*|\*\*[ \t]*:)(.*)$/;
/** Beginning of a line that ends the value of the field above it. */
const NEXT_BLOCK =
  /^[ \t]*(?:$|[-*+][ \t]|\d+[.)][ \t]|#{1,6}[ \t]|```|~~~|>|<!--|\*\*[^*]+(?::\*\*|\*\*[ \t]*:))/;

/** Returns every `**Name**: value` outside code and comments, in order. */
function fieldsOf(source: string, outline: Outline, from: number): readonly Field[] {
  const { starts, lineOf } = outline.lines;
  const fields: Field[] = [];
  const textOf = (index: number): string =>
    source
      .slice(starts[index] ?? source.length, starts[index + 1] ?? source.length)
      .replace(/[\r\n]+$/, '');
  for (let index = lineOf(from) - 1; index < starts.length; index += 1) {
    const start = starts[index] ?? 0;
    const [, name, first] = FIELD.exec(textOf(index)) ?? [];
    if (name === undefined || first === undefined || isIn(outline.opaque, start)) continue;
    const values = [first.trim()];
    let last = index;
    while (last + 1 < starts.length && !NEXT_BLOCK.test(textOf(last + 1)))
      values.push(textOf((last += 1)).trim());
    const value = values.filter((line) => line !== '').join(' ');
    fields.push({
      name: name.trim(),
      value,
      line: index + 1,
      from: start,
      to: (starts[last] ?? 0) + textOf(last).length,
    });
  }
  return fields;
}

export const fieldOf = (fields: readonly Field[], name: string): Field | undefined =>
  fields.find((field) => field.name.toLowerCase() === name.toLowerCase());

/** Parses a list of numbers: `[1, 3]`, `[]`, `1, 3`, `none`, `Phase 1, Phase 3` or `Phases 1 and 3`. Returns null for other text. */
export function numbersOf(value: string): readonly number[] | null {
  const bare = /^\[(.*)\]$/.exec(value.trim())?.[1] ?? value.trim();
  if (/^(none|-)?$/i.test(bare.trim())) return [];
  const words = bare
    .split(/,|\band\b/)
    .map((word) => /^(?:(?:phases?|stages?)\s+)?(\d{1,4})$/i.exec(word.trim())?.[1]);
  return words.some((word) => word === undefined) ? null : words.map(Number);
}

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

/** Common keys of front matter that are similar to the name of a setting. They are no typing mistakes. */
const METADATA: ReadonlySet<string> = new Set([
  'approved',
  'approver',
  'comment',
  'contact',
  'created',
  'plan',
]);

/** Returns the settings in the front matter of a document, without its faults. */
export const readPlanFront = (source: string, file: string): PlanFront =>
  settingsOf({ file, front: splitFrontMatter(source), faults: [], notes: [] });

/**
 * Checks the settings in the front matter. Other keys belong to the author, so they are ignored. A key that is similar to the name of a setting
 * gets a note.
 */
export function settingsOf({
  file,
  front,
  faults,
  notes,
}: Pick<DocumentReading, 'file' | 'front' | 'faults' | 'notes'>): PlanFront {
  if (!front.ok) faults.push({ file, line: front.line, message: front.message });
  const yaml = readYaml((front.ok ? front.yaml : null) ?? '', 1);
  if (!yaml.ok) {
    faults.push(
      ...yaml.faults.map(({ line, message }) => ({ file, line, message: `bad YAML: ${message}` })),
    );
    return {};
  }
  const known = { ...SHARED, repository, base };
  const entries = Object.entries(isRecord(yaml.value) ? yaml.value : {});
  const settings = entries.filter(([key]) => Object.hasOwn(known, key));
  const isProjectKey = (name: string): boolean =>
    Object.hasOwn(LIMITS, name) || CONFIG_KEYS.includes(name);
  const names = [...Object.keys(known), ...JOB_KEYS, ...Object.keys(LIMITS)];
  for (const [key] of entries) {
    if (Object.hasOwn(known, key) || METADATA.has(key)) continue;
    const near = isProjectKey(key) ? key : nearestWord(key, names);
    if (near === null) continue;
    const place = isProjectKey(near) ? 'for a plan it belongs in emend.yaml' : 'only jobs have it';
    const instead =
      near === key
        ? place
        : `did you mean \`${near}\`?${Object.hasOwn(known, near) ? '' : ` ${place}`}`;
    const message = `\`${key}\` in the front matter is ignored; ${instead}`;
    notes.push({ file, line: yaml.lineOf([key]), message });
  }
  const say = (path: readonly PropertyKey[], sentence: string): void => {
    faults.push({
      file,
      line: yaml.lineOf(path),
      message: `${path.map(String).join('.')}: ${sentence}`,
    });
  };
  return checkKeys(Object.fromEntries(settings), known, {
    problems: [],
    say,
    add: (path, expected, received) =>
      say(path, `expected ${expected}, received ${described(received)}`),
  });
}

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
