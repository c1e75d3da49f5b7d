/** What a plan document is made of. Offsets count UTF-16 units of the document's text, lines start at 1. */
import { firstBehind } from '../../shared/search.js';

import type { RunSettings } from '../job/index.js';

/** A heading's end may carry several, in any order. */
export const MARKERS = ['EXPANDED', 'COMPLETED', 'SKIPPED', 'INCOMPLETE'] as const;
export type Marker = (typeof MARKERS)[number];

/** The half-open range [from, to). */
export interface Span {
  readonly from: number;
  readonly to: number;
}
export interface TextSplice extends Span {
  readonly text: string;
}
/** Something to tell a person about a place of the plan. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  /** What was expected and what was found. */
  readonly message: string;
}

export interface Heading extends Span {
  readonly level: number;
  readonly line: number;
  /** Where the words are, without `#` signs and underline. */
  readonly words: Span;
  readonly text: string;
}
/** `### Phase 2: Core Logic [EXPANDED]`, or the same of a stage. */
export interface PartHeading extends Heading {
  readonly kind: 'phase' | 'stage';
  readonly number: number;
  /** Without markers. */
  readonly name: string;
  readonly markers: readonly Marker[];
}

/** `**Name**: value`, alone on its line or a list item; the value goes on to the end of its paragraph. */
export interface Field extends Span {
  readonly name: string;
  readonly value: string;
  readonly line: number;
}
export interface Task {
  /** Its first line, as written. */
  readonly text: string;
  readonly done: boolean;
  /** 0 for a task that is in no other list item. */
  readonly depth: number;
  readonly line: number;
  /** Offset of the character between the brackets. */
  readonly mark: number;
}
export interface Link extends Span {
  /** As written, without the angle brackets that it may stand in. */
  readonly target: string;
}

export interface Dependencies {
  readonly line: number;
  readonly on: readonly number[];
}
/** What is read of a phase's or stage's text, wherever the text is. */
export interface PartText {
  readonly objective: string | null;
  /** Null: there is no such line. */
  readonly dependencies: Dependencies | null;
  readonly complexity: string | null;
  readonly estimatedTime: string | null;
  readonly prerequisites: readonly string[];
  /** Of its stages too. */
  readonly tasks: readonly Task[];
  readonly stages: readonly Part[];
}
/** A phase or a stage in the document that holds its heading. */
export interface Part extends PartText {
  readonly heading: PartHeading;
  /** Everything between its heading's line and the next heading that is not deeper. */
  readonly body: Span;
}

/** What the front matter sets, for the jobs of all phases and the plan's own calls and commands. */
export type PlanFront = Partial<RunSettings & Record<'repository' | 'base', string>>;

/** A document as it was read: its text, what stands where in it, and what is wrong. */
export interface DocumentText {
  readonly source: string;
  readonly fields: readonly Field[];
  readonly links: readonly Link[];
  /** Code and comments: no structure in them. */
  readonly opaque: readonly Span[];
  readonly faults: readonly Fault[];
  readonly notes: readonly Fault[];
}
export interface PlanDocument extends DocumentText {
  /** As told to a person. */
  readonly file: string;
  readonly eol: '\n' | '\r\n';
  readonly settings: PlanFront;
  readonly title: string | null;
  /** The lines of the section `## Metadata`. */
  readonly metadata: readonly Field[];
  /** The `expanded_phases` counter, where the document has one. */
  readonly counter: (Span & { readonly value: number; readonly line: number }) | null;
  readonly phases: readonly Part[];
  readonly progress: Span | null;
  readonly revisions: Span | null;
}

// Places in a text: lines, sorted spans, splices.

/** Index of the first of the sorted `items` that starts at or after `from`. */
export const firstAt = (items: readonly { readonly from: number }[], from: number): number =>
  firstBehind(items.length, (at) => (items[at]?.from ?? Infinity) < from);

/** Those of the sorted `items` that start within the span. */
export const within = <T extends { readonly from: number }>(
  items: readonly T[],
  { from, to }: Span,
): readonly T[] => items.slice(firstAt(items, from), firstAt(items, to));

/** Does one of the sorted, disjoint `spans` hold the offset? */
export function isIn(spans: readonly Span[], offset: number): boolean {
  const before = spans[firstAt(spans, offset + 1) - 1];
  return before !== undefined && offset < before.to;
}

/** Line starts of a text; `lineOf(offset)` counts from 1. Lines end at LF, CRLF or CR. */
export function lineIndex(source: string): {
  readonly starts: readonly number[];
  readonly lineOf: (offset: number) => number;
} {
  const starts = [0];
  for (const match of source.matchAll(/\r\n|\n|\r/g)) starts.push(match.index + match[0].length);
  const items = starts.map((from) => ({ from }));
  return { starts, lineOf: (offset) => firstAt(items, offset + 1) };
}

/** The text with every splice made. They must not overlap; order does not matter, but for those at one place. */
export function splice(source: string, splices: readonly TextSplice[]): string {
  const sorted = splices
    .map((each, index) => ({ ...each, index }))
    .sort((a, b) => a.from - b.from || a.index - b.index);
  let result = '';
  let at = 0;
  for (const { from, to, text } of sorted) {
    if (from < at) throw new Error(`Splices overlap at ${from}.`);
    result += source.slice(at, from) + text;
    at = to;
  }
  return result + source.slice(at);
}
