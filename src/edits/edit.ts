/**
 * The one representation of what a response asks for. A dialect (dialects/) turns a response into edits and looks at no file's text; the
 * locator (locate.ts) finds where each belongs; settle.ts makes the files of them.
 */
import type { Tolerance } from '../shared/formats.js';
import type { LineIndex } from './text/lines.js';
import type { Fault, FormatContext, Reading, Reason } from './types.js';

export type Edit = LinesEdit | TextEdit | WriteEdit | DeleteEdit;

/** What every edit's dialect knows about it. */
export interface Hint {
  /** 0-based number of the edit in the response. */
  readonly index: number;
  /** 1-based line of the response where the edit begins; null: the dialect does not say. */
  readonly responseLine: number | null;
  /** Number of the part of the response that is about this file, in dialects that name a file once; null: edits of one path belong together. */
  readonly section: number | null;
  readonly rules: DialectRules;
}

/** The lines `before`, which the edit quotes, become `after`. `before` empty: the file is created, or filled if it is empty. */
export interface LinesEdit {
  readonly kind: 'lines';
  readonly path: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly hint: LinesHint;
}
export interface LinesHint extends Hint {
  /** 1-based line of the file as it was shown where `before` begins; null: the edit states none. */
  readonly line: number | null;
  /** Why this reading cannot be used, wherever it stands; null: it can. */
  readonly refusal: Fault | null;
  /** All readings, if the response can be read in several ways; null: there is one. */
  readonly readings: readonly LinesReading[] | null;
}
/** One way to read the two sides of an edit. */
export interface LinesReading {
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly refusal: Fault | null;
}

/** A part of a text becomes another. `before` empty: the file is created, or filled if it is empty. */
export interface TextEdit {
  readonly kind: 'text';
  readonly path: string;
  readonly before: string;
  readonly after: string;
  readonly hint: Hint & {
    /** Every place where `before` stands is meant, not the only one. */
    readonly everywhere: boolean;
  };
}

/** `after` is all that the file holds. */
export interface WriteEdit {
  readonly kind: 'write';
  readonly path: string;
  readonly before: null;
  readonly after: LineIndex;
  readonly hint: Hint & {
    /** A closing fence at the end of `after` closed the one that the entry stands in, and was left out. */
    readonly unfenced: boolean;
    /** Why nothing may be written, although the path is a good one; null: it may. */
    readonly refusal: Fault | null;
  };
}

export interface DeleteEdit {
  readonly kind: 'delete';
  readonly path: string;
  readonly before: null;
  readonly after: null;
  readonly hint: Hint;
}

/** What holds for all edits of a dialect. */
export interface DialectRules {
  /** `response`: each edit sees the text as the edits before it left it. `base`: all edits mean the file as it was shown. */
  readonly order: 'response' | 'base';
  /** Tolerances by which an edit of this dialect may be located, if they are on. */
  readonly tolerances: ReadonlySet<Tolerance>;
  /** Maximum number of refused edits of one file that are reported: each costs a search for the nearest place. */
  readonly mostRefusals: number;
  readonly words: DialectWords;
}

/** How messages name the parts of an edit in this dialect. */
export interface DialectWords {
  /** The beginning of a message about one edit: which one it is, and where it stands in the response. */
  readonly lead: (edit: Edit, path: string) => string;
  /** Does the same beginning go before messages about an edit's path? */
  readonly leadsPaths: boolean;
  /** A file that the response is about twice. */
  readonly twice: (path: string) => string;
  /** Deletion of a file that is not there, and of one that may not be deleted. */
  readonly deletesAbsent: (path: string) => string;
  readonly deletesProtected: (path: string) => string;
  /** Only of dialects that quote lines in blocks. */
  readonly block?: BlockWords;
}
/** What the parts of a block are called. */
export interface BlockWords {
  /** The part that quotes lines of the file; the other one is always REPLACE. */
  readonly quote: string;
  /** The line between both parts. */
  readonly divider: string;
  /** How a block states a line of the file. */
  readonly byNumber: string;
}

/** What a dialect reads out of a response. */
export interface ParsedResponse {
  readonly edits: readonly Edit[];
  /** Number of edits in the response for the marker, unusable ones included. */
  readonly count: number;
  /** Why the response cannot be read; null: it can. */
  readonly fault: Reading | null;
  readonly notes: readonly Reason[];
  /** The response's own summary in one line; null: it has none. */
  readonly summary: string | null;
}

/** One dialect: a grammar and its rules. A contract suite runs against all of them. */
export interface Dialect {
  readonly rules: DialectRules;
  parse(body: string, context: FormatContext): ParsedResponse;
}

/** A response that cannot be read and of which no edit counts. */
export const unread = (fault: Reading, count = 0): ParsedResponse => ({
  edits: [],
  count,
  fault,
  notes: [],
  summary: null,
});
