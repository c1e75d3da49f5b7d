/** Reads the words of headings, fields and front matter. */
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

/** Null where the heading is of neither a phase nor a stage. */
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
  // One that is underlined may have several lines.
  name = name.trim().replace(/(?<![ \t])[ \t]*[\r\n]+[ \t]*/g, ' ');
  return name === '' ? null : { ...heading, kind: part, number: Number(number), name, markers };
}

const NEARLY = 9; // bound: One of so many letters of a marker or a field's name may differ: with more, `Objects` would be one.
/** In capitals at the end of a heading, or nearly one of ours. */
export function unexpectedMarker({ name }: PartHeading): string | null {
  const word = /\[ *([A-Za-z][A-Za-z_-]*) *\]$/.exec(name)?.[1] ?? '';
  return /^(?:[A-Z_-]{2,}|[Dd]one)$/.test(word) || nearestWord(word, MARKERS, NEARLY) !== null
    ? word
    : null;
}

/** Behind the words and the markers that are there. */
export const addMarker = (heading: PartHeading, marker: Marker): readonly TextSplice[] =>
  heading.markers.includes(marker)
    ? []
    : [{ from: heading.words.to, to: heading.words.to, text: ` [${marker}]` }];

/** With the blank before it. */
export function removeMarker(heading: PartHeading, marker: Marker): readonly TextSplice[] {
  const found = heading.text.lastIndexOf(`[${marker}]`);
  if (!heading.markers.includes(marker) || found < 0) return [];
  const from = heading.words.from + found;
  const blank = /[ \t]/.test(heading.text.charAt(found - 1)) ? 1 : 0;
  return [{ from: from - blank, to: from + marker.length + 2, text: '' }];
}

const FIELD = /^[ \t]*(?:[-*+][ \t]+)?\*\*([^*\r\n]{1,60}?)[ \t]*(?::\*\*|\*\*[ \t]*:)(.*)$/;
/** What ends a value that goes on over lines. */
const NEXT_BLOCK =
  /^[ \t]*(?:$|[-*+][ \t]|\d+[.)][ \t]|#{1,6}[ \t]|```|~~~|>|<!--|\*\*[^*]+(?::\*\*|\*\*[ \t]*:))/;

/** Every `**Name**: value` outside of code and comments, in order. */
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
    const value = values.filter((each) => each !== '').join(' ');
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

/** `[1, 3]`, `[]`, `1, 3`, `none`, `Phase 1, Phase 3`, `Phases 1 and 3`; null where it is none of them. */
export function numbersOf(value: string): readonly number[] | null {
  const bare = /^\[(.*)\]$/.exec(value.trim())?.[1] ?? value.trim();
  if (/^(none|-)?$/i.test(bare.trim())) return [];
  const words = bare
    .split(/,|\band\b/)
    .map((word) => /^(?:(?:phases?|stages?)\s+)?(\d{1,4})$/i.exec(word.trim())?.[1]);
  return words.some((word) => word === undefined) ? null : words.map(Number);
}

// A document as its readers share it: text, outline, fields, and what is wrong so far.

export interface Reading {
  readonly file: string;
  readonly source: string;
  readonly outline: Outline;
  readonly fields: readonly Field[];
  readonly faults: Fault[];
  readonly notes: Fault[];
}

/** `begin`: offset behind a byte order mark and front matter. */
export type DocumentReading = Reading & { readonly front: FrontMatter; readonly begin: number };

/** A document's Markdown with its fields; `file` is how faults name it. */
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

/** From the line after the heading to the next heading that is not deeper. */
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

/** Where the heading of that name stands, in any case, and what is below it. Null: there is none, or none that `isOwn`. */
export function sectionNamed(
  { outline, source }: Pick<Reading, 'outline' | 'source'>,
  name: string,
  isOwn: (heading: Heading) => boolean = () => true,
): { readonly from: number; readonly body: Span } | null {
  const isIt = (each: Heading): boolean =>
    each.text.trim().toLowerCase() === name.toLowerCase() && isOwn(each);
  const heading = outline.headings.find(isIt);
  return heading === undefined
    ? null
    : { from: heading.from, body: bodyOf(outline, source, heading, source.length) };
}

/** Words that people give a document, and that are near a setting's name or are one. */
const METADATA: ReadonlySet<string> = new Set([
  'approved',
  'approver',
  'comment',
  'contact',
  'created',
  'plan',
]);

/** Returns the settings in the front matter of a document, without what is wrong in it. */
export const readPlanFront = (source: string, file: string): PlanFront =>
  settingsOf({ file, front: splitFrontMatter(source), faults: [], notes: [] });

/** All other keys of the front matter are a person's. */
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
  const given = Object.entries(isRecord(yaml.value) ? yaml.value : {});
  const said = given.filter(([key]) => Object.hasOwn(known, key));
  const isProjects = (name: string): boolean =>
    Object.hasOwn(LIMITS, name) || CONFIG_KEYS.includes(name);
  const names = [...Object.keys(known), ...JOB_KEYS, ...Object.keys(LIMITS)];
  for (const [key] of given) {
    if (Object.hasOwn(known, key) || METADATA.has(key)) continue;
    const near = isProjects(key) ? key : nearestWord(key, names);
    if (near === null) continue;
    const where = isProjects(near) ? 'for a plan it belongs in emend.yaml' : 'only jobs have it';
    const instead =
      near === key
        ? where
        : `did you mean \`${near}\`?${Object.hasOwn(known, near) ? '' : ` ${where}`}`;
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
  return checkKeys(Object.fromEntries(said), known, {
    problems: [],
    say,
    add: (path, expected, received) =>
      say(path, `expected ${expected}, received ${described(received)}`),
  });
}

const NAMES = ['Objective', 'Dependencies', 'Complexity', 'Estimated Time', 'Prerequisites'];
const LIKE_TASK = /^[ \t]*(?:[-*+]|\d+[.)])[ \t]*\[[ \t]*(?:[xX][ \t]*)?\](?![[(:])/;
const LIKE_DEPENDENCIES =
  /^[ \t]*(?:[-*+][ \t]+)?[*_]*depend(?:s|[ea]nc(?:y|ies))(?: on)?[*_]*[ \t]*:[*_]*(.*)$/i;

/** What a person would take for a field or a task of a phase or its stages, and is text. */
export function noteText(reading: Reading, body: Span): void {
  const { source, outline } = reading;
  const [tasks, fields] = [within(outline.tasks, body), within(reading.fields, body)];
  const read = new Set([...tasks, ...fields].map(({ line }) => line));
  for (const { name, from } of fields) {
    const near = /^depend(?:ency|s on)$/i.test(name)
      ? 'Dependencies'
      : nearestWord(name, NAMES, NEARLY);
    if (near !== null && near.toLowerCase() !== name.toLowerCase())
      note(reading, from, `**${name}** is treated as text; did you mean **${near}**?`);
  }
  const { starts, lineOf } = outline.lines;
  for (let line = lineOf(body.from); (starts[line - 1] ?? body.to) < body.to; line += 1) {
    const from = starts[line - 1] ?? 0;
    const text = source.slice(from, starts[line] ?? source.length).trimEnd();
    if (read.has(line) || isIn(outline.opaque, from + text.search(/\S|$/))) continue;
    if (LIKE_TASK.test(text))
      note(reading, from, 'expected a task as `- [ ] …` or `- [x] …`, treated as text');
    const on = numbersOf(LIKE_DEPENDENCIES.exec(text)?.[1] ?? '') ?? [];
    if (on.length > 0) note(reading, from, 'expected `**Dependencies**: [1, 3]`, treated as text');
  }
}

/** A field as told: the value of the last, with a fault for each further one of the same name. */
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
