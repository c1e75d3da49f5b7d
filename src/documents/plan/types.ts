/** Types of the parts of a plan document. Offsets count UTF-16 units of the document's text, and lines start at 1. */
import type { RunSettings } from '../job/index.js';

/** Markers at the end of a heading. A heading may have several, in any order. */
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

/** A message for the reader about a line of the plan. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  /** The sentence, with what was expected and what was received. */
  readonly message: string;
}

export interface Heading extends Span {
  readonly level: number;
  readonly line: number;
  /** Span of the heading's text, without `#` signs and underline. */
  readonly words: Span;
  readonly text: string;
}

/** Heading of a phase (`### Phase 2: Core Logic [EXPANDED]`) or of a stage. */
export interface PartHeading extends Heading {
  readonly kind: 'phase' | 'stage';
  readonly number: number;
  /** Name of the part, without markers. */
  readonly name: string;
  readonly markers: readonly Marker[];
}

/** A field `**Name**: value`, which has a line or a list item of its own. The value continues to the end of its paragraph. */
export interface Field extends Span {
  readonly name: string;
  readonly value: string;
  readonly line: number;
}

export interface Task {
  /** First line of the task, without its checkbox. */
  readonly text: string;
  readonly done: boolean;
  /** Number of list items around the task. */
  readonly depth: number;
  readonly line: number;
  /** Offset of the character between the brackets. */
  readonly mark: number;
}

export interface Link extends Span {
  /** Address of the link as the document has it, without angle brackets around it. */
  readonly target: string;
}

export interface Dependencies {
  readonly line: number;
  readonly on: readonly number[];
}

/** Content of the text of a phase or stage. The text is in the document with the heading, or in a file of its own. */
export interface PartText {
  readonly objective: string | null;
  /** Null if the text has no such line. */
  readonly dependencies: Dependencies | null;
  readonly complexity: string | null;
  readonly estimatedTime: string | null;
  readonly prerequisites: readonly string[];
  /** Tasks of the text, including those of its stages. */
  readonly tasks: readonly Task[];
  readonly stages: readonly Part[];
}

/** A phase or a stage in the document that has its heading. */
export interface Part extends PartText {
  readonly heading: PartHeading;
  /** Everything between its heading's line and the next heading that is not deeper. */
  readonly body: Span;
}

/** Settings in the front matter of a plan. They apply to the jobs of all phases, and to the calls and commands of the plan itself. */
export type PlanFront = Partial<RunSettings & Record<'repository' | 'base', string>>;

/** A document that was read: its text, the position of its elements, and its faults. */
export interface DocumentText {
  readonly source: string;
  readonly fields: readonly Field[];
  readonly links: readonly Link[];
  /** Code and comments, whose text has no structure. */
  readonly opaque: readonly Span[];
  readonly faults: readonly Fault[];
  readonly notes: readonly Fault[];
}

export interface PlanDocument extends DocumentText {
  /** Name of the document in messages. */
  readonly file: string;
  readonly eol: '\n' | '\r\n';
  readonly settings: PlanFront;
  readonly title: string | null;
  /** Fields of the section `## Metadata`. */
  readonly metadata: readonly Field[];
  /** The `expanded_phases` counter, or null if the document has none. */
  readonly counter: (Span & { readonly value: number; readonly line: number }) | null;
  readonly phases: readonly Part[];
  readonly progress: Span | null;
  readonly revisions: Span | null;
}
