/**
 * What the engine asks of a syntax tree. It is a port: the engine stays pure and synchronous, and whoever calls it hands in a `Syntax`
 * whose grammars are loaded already (`src/syntax`, exported as `emend/syntax`). Without one, places by symbol are refused by name and
 * the guards that need a tree find nothing.
 */

export type SymbolKind =
  | 'function'
  | 'method'
  | 'class'
  | 'interface'
  | 'type'
  | 'namespace'
  | 'variable'
  | 'field';

/** One definition of a file. Lines are 0-based. */
export interface SymbolPlace {
  /** Its name behind the names of what holds it: `Class.method`, `N.M.Class`. Local definitions inside functions are not listed. */
  readonly qualified: string;
  readonly kind: SymbolKind;
  /** First line, with decorators, attributes, annotations and modifiers such as `export`. */
  readonly from: number;
  /** Behind its last line. */
  readonly to: number;
  /** First line of the comment directly above; `from` where there is none. */
  readonly lead: number;
  /** The line before which its body's last entry would stand (that of the closing bracket); null where no line is free for it. */
  readonly bodyEnd: number | null;
  /** Other code stands on its first or last line: whole lines cannot name it. */
  readonly shares: boolean;
  /** A syntax error lies inside, so its end is a guess. */
  readonly broken: boolean;
  /** Everything before its body, white space folded, behind that of what holds it: two definitions with the same one are doubles. */
  readonly header: string;
  /** Of `header` what is the definition's own, up to its body. */
  readonly signature: string;
}

/** A place that the grammar does not accept. Lines are 0-based, the last included. */
export interface SyntaxFault {
  readonly from: number;
  readonly to: number;
  /** What is missing there (`")"`), or null where something stands that does not belong. */
  readonly missing: string | null;
}

/** Definitions and faults of a text, or why it was not read. */
export type Outline =
  | {
      readonly kind: 'read';
      readonly language: string;
      /** In the order of the file. */
      readonly symbols: readonly SymbolPlace[];
      /** In the order of the file, a bounded number. */
      readonly faults: readonly SyntaxFault[];
    }
  | { readonly kind: 'unread'; readonly code: UnreadCode; readonly why: string };
export type OutlineRead = Extract<Outline, { kind: 'read' }>;
export type OutlineUnread = Extract<Outline, { kind: 'unread' }>;

export const lastName = (qualified: string): string =>
  qualified.slice(qualified.lastIndexOf('.') + 1);

/** `syntax_unavailable`: the grammar could not be loaded; the others mean the file. */
export type UnreadCode =
  | 'language_unknown'
  | 'syntax_too_large'
  | 'syntax_too_slow'
  | 'syntax_unavailable';

/** Lines that are made only if the file is small enough to be parsed. */
export interface LineSource {
  /** The text has at least so many characters. */
  readonly leastChars: number;
  readonly all: readonly string[];
}

/** A file that has a parser instead of a grammar (JSON, YAML, TOML, a notebook, a Makefile), before and after a change. */
export interface DataFile {
  readonly path: string;
  /** Null: the file is new. */
  readonly base: LineSource | null;
  readonly result: LineSource;
}

/** An error that the parser reports. */
export interface DataFault {
  /** 0-based line of the result. */
  readonly line: number;
  /** What is wrong there, in words. */
  readonly what: string;
}

/** New errors of a file, or why it was not parsed. A file that had errors before has no new ones. */
export type DataCheck =
  | { readonly kind: 'read'; readonly language: string; readonly faults: readonly DataFault[] }
  | OutlineUnread;

/** What `loadSyntax` gives. */
export interface Syntax {
  /** The definitions and faults of a text, by the language that the path's ending names. Never throws, and is bounded in size and time. */
  outline(path: string, lines: readonly string[]): Outline;
  /**
   * Why no text of at least `chars` characters would be read under this path; null: it may be. Asked before the lines of a large file are
   * made; absent: they are made.
   */
  unread?(path: string, chars: number): OutlineUnread | null;
  /** Errors that a change brought into a file of data; null: the path names none. Never throws, and is bounded in size. */
  dataFaults?(file: DataFile): DataCheck | null;
}
