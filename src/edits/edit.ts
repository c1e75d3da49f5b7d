/**
 * The one representation of what a response asks for. A dialect (dialects/) turns a response into edits and looks at no file's text; the
 * locator (locate.ts) finds where each belongs; settle.ts makes the files of them.
 */
import type { Tolerance } from '../shared/formats.js';
import type { LineIndex } from './text/lines.js';
import type { Fault, ParseContext, Reading, Reason } from './types.js';

export type Edit =
  | LinesEdit
  | RangeEdit
  | TextEdit
  | WriteEdit
  | DeleteEdit
  | FileEdit
  | UnusableEdit;

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
  /** The reason why this reading cannot be used at any place, or null if it can. */
  readonly refusal: Fault | null;
  /** All readings, if the response can be read in several ways; null: there is one. */
  readonly readings: readonly LinesReading[] | null;
  /** What a diff or a patch says of the lines besides; null: another dialect. */
  readonly hunk: HunkHint | null;
}
export interface HunkHint {
  /**
   * Sign of each line in the order of the response: a space for a line that stays, `_` for one that stays and came without its space, `-` for
   * one of `before` that goes, `+` for a new one of `after`.
   */
  readonly signs: string;
  /** The same lines: `r` for one that ends in CRLF in the response, else a space; null: none does. */
  readonly returns: string | null;
  /** Each side: `\ No newline at end of file` follows its last line. */
  readonly lacksNewline: { readonly before: boolean; readonly after: boolean };
  /** Numbers of the header; null: it has none. */
  readonly header: HunkHeader | null;
  /** Lines that stand above the hunk, in order, and whether it reaches to the end of the file; null: a diff, which says neither. */
  readonly bounds: { readonly anchors: readonly string[]; readonly atEnd: boolean } | null;
}
export interface HunkHeader {
  /** 1-based line of the new side; 0: none. */
  readonly newLine: number;
  readonly oldCount: number;
  readonly newCount: number;
}
/** One way to read the two sides of an edit. */
export interface LinesReading {
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly refusal: Fault | null;
}

/** Lines that the edit names by number or by symbol become `after`. It does not quote them: what it quotes of their place is in `hint`. */
export interface RangeEdit {
  readonly kind: 'range';
  readonly path: string;
  readonly before: null;
  /** None for a deletion. */
  readonly after: readonly string[];
  readonly hint: RangeHint;
}
export interface RangeHint extends Hint {
  readonly type: 'insert' | 'replace' | 'delete' | 'append' | 'prepend';
  /** Adjacent lines as the response quotes them; none if it does not. */
  readonly contextBefore: readonly string[];
  readonly contextAfter: readonly string[];
  /** The first and the last line that it names, which for an insert are one; null: it names an end of the file, or a definition. */
  readonly lines: readonly [start: QuotedLine, end: QuotedLine] | null;
  readonly symbol: SymbolPoint | null;
}
/** A line as a response names it: its 1-based number and the check of the listing, if it quotes that. */
export interface QuotedLine {
  readonly line: number;
  readonly check: string | null;
}
/** A definition as a response names it (locate/symbol.ts). */
export interface SymbolPoint {
  readonly name: string;
  /** Where an insert goes; null for the other types. */
  readonly position: 'before' | 'after' | 'end' | null;
  /** A line inside the definition that is meant, if several have the name. */
  readonly line: QuotedLine | null;
}

/** A part of a text becomes another. `before` empty: the file is created, or filled if it is empty. */
export interface TextEdit {
  readonly kind: 'text';
  readonly path: string;
  readonly before: string;
  readonly after: string;
  readonly hint: Hint & {
    /** True if the edit means every place where `before` occurs. */
    readonly everywhere: boolean;
    /** So many places are meant, as the response says; null: it does not say. */
    readonly count: number | null;
    /** `after` comes behind so many lines, or behind the last; `before` is empty. Null: the edit quotes text, or creates the file. */
    readonly behind: number | 'end' | null;
    /** Why a file that is there refuses an edit that creates it, in a sentence; null: `old_string` is empty. */
    readonly creates: string | null;
  };
}

/** `after` is all that the file holds. */
export interface WriteEdit {
  readonly kind: 'write';
  readonly path: string;
  readonly before: null;
  readonly after: LineIndex;
  readonly hint: Hint & {
    /** A closing fence at the end of `after` closed the one that the entry is in, and was left out. */
    readonly unfenced: boolean;
    /** Nothing says that `after` is the whole file, so most of the file's lines must be in it. */
    readonly mayBePart: boolean;
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

/** What becomes of a file as a whole. `before` null: it is created. `after` null: it is deleted. Two paths: it is moved. */
export interface FileEdit {
  readonly kind: 'file';
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly hint: Hint & {
    /** POSIX mode bits that the file gets; null: those that it has. */
    readonly mode: number | null;
    /** The beginning of the hash that git gives the new content; null: not stated. */
    readonly blob: string | null;
    /** A deletion must take away every line by the other edits of its section, as a diff does. */
    readonly removesLines: boolean;
    /** Why the rest of the section cannot be used, although its paths are good; null: it can. */
    readonly refusal: Fault | null;
  };
}

/** An edit that can be read, but not made. */
export interface UnusableEdit {
  readonly kind: 'unusable';
  /** Null: it names no file, or several. */
  readonly path: string | null;
  /** The path that the file would have been moved away from; null: none. */
  readonly before: string | null;
  readonly after: null;
  readonly hint: Hint & { readonly refusal: Fault };
}

/** What holds for all edits of a dialect. */
export interface DialectRules {
  /** `response`: each edit sees the text as the edits before it left it. `base`: all edits mean the file as it was shown. */
  readonly order: 'response' | 'base';
  /** Tolerances by which an edit of this dialect may be located, if they are on. */
  readonly tolerances: ReadonlySet<Tolerance>;
  /** Maximum number of refused edits of one file that are reported: each costs a search for the nearest place. */
  readonly mostRefusals: number;
  /** Returns the beginning of a message about one edit: which one it is, and where it is in the response. */
  readonly lead: (edit: Edit, path: string) => string;
  /** Does the same beginning go before messages about an edit's path? */
  readonly leadsPaths: boolean;
  /** Only of dialects that name a file once, with its whole content; null: another one. */
  readonly whole: WholeWords | null;
  /** Only of dialects that name a file once, with all that becomes of it; null: another one. */
  readonly sections: SectionRules | null;
  /** Only of dialects that quote lines in blocks; null: another one. */
  readonly block: BlockWords | null;
}

/** Messages of dialects that write a file whole. */
export interface WholeWords {
  readonly twice: (path: string) => string;
  readonly deletesAbsent: (path: string) => string;
  readonly deletesProtected: (path: string) => string;
}

/** Rules and messages of diffs and patches. */
export interface SectionRules {
  /** A response that holds a carriage return means bytes: lines are compared with theirs. */
  readonly keepsReturns: boolean;
  /** May the new path of a moved file be the old path of another? */
  readonly movesChain: boolean;
  /** A response that does not fit, and whose reverse does, has been applied already. */
  readonly isReversible: boolean;
  readonly twice: (path: string) => string;
  /** A file that is not there is changed; null: then it is created. */
  readonly absent: ((path: string) => string) | null;
  /** A file that is not there is deleted or moved. */
  readonly gone: (path: string, action: 'renamed' | 'deleted') => string;
  /** A file that is there is created. */
  readonly exists: (path: string) => string;
  /** A file is moved to where one is; null: that is refused elsewhere (settle/files.ts). */
  readonly occupied: ((from: string, to: string) => string) | null;
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
  /** What the response asks to be shown instead of editing; null: it edits. */
  readonly request: LinesRequest | null;
}

/** Lines of a file that the model asks to be shown. */
export interface LinesRequest {
  readonly path: string;
  /** 1-based ranges, both ends included. */
  readonly ranges: readonly (readonly [number, number])[];
  /** Definitions, by name. */
  readonly symbols: readonly string[];
}

/** One dialect: a grammar and its rules. A contract suite runs against all of them. */
export interface Dialect {
  readonly rules: DialectRules;
  /** Reads a response. Looks at paths and options, and at no file's text. */
  parse(body: string, context: ParseContext): ParsedResponse;
}
