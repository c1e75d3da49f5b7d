/** How a model expresses an edit. */
export const FORMATS = ['whole-file', 'unified-diff', 'structured-edit', 'search-replace'] as const;
export type Format = (typeof FORMATS)[number];

/** Forms that other tools taught models; read, never asked for. */
export const DIALECTS = ['search-blocks', 'begin-patch', 'string-replace', 'xml-call'] as const;
/** Whatever an answer may be written in. */
export type AnswerFormat = Format | (typeof DIALECTS)[number];

/** Size class of a file: A whole-file, B unified-diff, C structured-edit. */
export type Bucket = 'A' | 'B' | 'C';

/** Tolerances, each used only where it fits in exactly one place and always shown to the reviewer. */
export const TOLERANCES = {
  line_drift: { default: true, what: 'right text, wrong line number' },
  counts: { default: true, what: 'hunk header with wrong counts' },
  line_endings: { default: true, what: 'answer and file differ in line endings' },
  trailing_space: { default: true, what: 'answer and file differ in trailing white space' },
  lost_blank: { default: true, what: 'a context line that lost its leading space' },
  fenced_body: {
    default: true,
    what: 'a code fence around the content of a file, or left at its end',
  },
  earlier_block: { default: true, what: 'FIND needs text that an earlier block wrote' },
  unchecked_lines: {
    default: true,
    what: 'only a line number identifies the lines; a step never approves these automatically',
  },
  part_of_line: {
    default: true,
    what: 'FIND is part of one line that occurs once in the file; a step never approves it automatically',
  },
  tabs: {
    default: true,
    what: 'each tab of an indentation quoted as the same number of blanks, or the other way around',
  },
  listing_numbers: { default: true, what: 'line numbers of a listing before each quoted line' },
  indent: { default: false, what: 'uniform shift of indentation' },
  lookalikes: { default: false, what: 'typographic look-alike characters' },
  elision: { default: false, what: 'elided lines in the middle of FIND' },
} as const;
export type Tolerance = keyof typeof TOLERANCES;
export type ToleranceSettings = Partial<Record<Tolerance, boolean>>;

/** Findings that the model is asked about before a person is. */
export const REPAIRED: readonly string[] = (
  'syntax lost_symbol doubled_block distant_removal dangling_reference shrinkage conflict_markers ' +
  'escaped_text tool_remnant listing_numbers diff_as_text glued_lines lookalikes elision'
).split(' ');

/** What guards look for in a result, and what each raises unless `guards:` of emend.yaml says otherwise for all that it finds. */
export const GUARDS = {
  syntax: {
    default: 'ask',
    what: 'syntax errors that the file did not have, in code and in data; `note` if one may only have moved',
  },
  lost_symbol: {
    default: 'ask',
    what: 'a removed definition; `note` if the instructions name it or another file now has it',
  },
  doubled_block: {
    default: 'ask',
    what: 'a block of new lines repeated in a row, or a definition that occurs twice',
  },
  example: {
    default: 'refuse',
    what: "a line of the prompt's example that neither the file nor the instructions have",
  },
  distant_removal: {
    default: 'ask',
    what: 'lines removed from a file that was written whole, more than 3 lines from any added line',
  },
  dangling_reference: {
    default: 'ask',
    what: 'a removed definition whose name is still used, in the proposal or elsewhere in the workspace',
  },
  escaped_text: {
    default: 'ask',
    what: 'new text that is escaped (`&lt;`, `\\"`, `\\n` in letters); `refuse` if the code of the file has the plain characters',
  },
  tool_remnant: {
    default: 'ask',
    what: 'tags of a tool call (`</content>`, `<invoke …>`) that the file did not have',
  },
  listing_numbers: {
    default: 'refuse',
    what: "new lines that all begin with consecutive numbers, as a tool's listing shows them",
  },
  diff_as_text: { default: 'refuse', what: 'a diff of the file as its new text' },
  glued_lines: {
    default: 'ask',
    what: 'a new line that runs into the next one because its line end is missing',
  },
  hard_link: {
    default: 'ask',
    what: 'a file with several names (hard links): the others keep the old content; `emend patch` refuses it',
  },
  elision: {
    default: 'refuse',
    what: 'a new line that stands for text (`// ... rest of the code`) and that no target, context file or deleted file has; a step asks the reviewer if the model repeats it',
  },
  secret: { default: 'ask', what: 'a secret in a new place: from another file, or new' },
  shrinkage: { default: 'ask', what: 'more than half of a file removed' },
  conflict_markers: { default: 'ask', what: 'new conflict markers' },
  lookalikes: {
    default: 'note',
    what: 'new typographic characters that look like plain ones; `ask` if they are in code, outside of strings and comments',
  },
  unicode: {
    default: 'ask',
    what: 'new characters that are not shown or change the order in which text reads, and new words of mixed scripts',
  },
  shebang: { default: 'ask', what: 'a `#!` line that is removed or no longer the first' },
  mode: { default: 'ask', what: 'a changed mode, a new executable file' },
  file_name: {
    default: 'ask',
    what: 'a new name that differs from another only in letter case or accents, or is invalid on Windows',
  },
  deletion: {
    default: 'ask',
    what: 'a deleted file; a step always asks, regardless of this setting',
  },
} as const;
export type Guard = keyof typeof GUARDS;
export const SEVERITIES = ['note', 'ask', 'refuse'] as const;
export type Severity = (typeof SEVERITIES)[number];
export type GuardSettings = Partial<Record<Guard, Severity>>;

/** What a guard found in a result. `ask`: a person must look even under `approval: auto`. */
export interface Finding {
  readonly guard: string;
  readonly severity: Severity;
  readonly path: string;
  /** 1-based lines of the result (or of the base, where lines went away), first and last, where known. */
  readonly lines?: readonly [number, number];
  readonly message: string;
  /** The definition that is gone, where its name is defined nowhere else; a method's begins with a dot. */
  readonly gone?: string;
}
