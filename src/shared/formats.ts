/** How a model expresses an edit. */
export const FORMATS = ['whole-file', 'unified-diff', 'structured-edit', 'search-replace'] as const;
export type Format = (typeof FORMATS)[number];

/** Forms that other tools taught models; read, never asked for. */
export const DIALECTS = ['search-blocks', 'begin-patch', 'string-replace'] as const;
/** Whatever an answer may be written in. */
export type AnswerFormat = Format | (typeof DIALECTS)[number];

/** Size class of a file: A whole-file, B unified-diff, C structured-edit. */
export type Bucket = 'A' | 'B' | 'C';

/** Tolerances, each used only where it fits in exactly one place and always shown to the reviewer. */
export const TOLERANCES = {
  line_drift: { default: true, what: 'right text, wrong line number' },
  counts: { default: true, what: 'hunk header with wrong counts' },
  line_endings: { default: true, what: 'answer and file differ in line endings' },
  trailing_space: { default: true, what: 'answer and file differ in white space at line ends' },
  lost_blank: { default: true, what: 'a context line whose leading blank was lost' },
  fenced_body: { default: true, what: 'a code fence round the content of a file, or left at its end' },
  earlier_block: { default: true, what: 'FIND needs the text that an earlier block made' },
  unchecked_lines: {
    default: true,
    what: 'only a line number tells which lines are meant; a step never approves these by itself',
  },
  part_of_line: {
    default: true,
    what: 'FIND is a part of one line, which stands once in the file; a step never approves it by itself',
  },
  indent: { default: false, what: 'uniform shift of indentation' },
  lookalikes: { default: false, what: 'typographic look-alike characters' },
  elision: { default: false, what: 'an elided stretch in the middle of FIND' },
} as const;
export type Tolerance = keyof typeof TOLERANCES;
export type ToleranceSettings = Partial<Record<Tolerance, boolean>>;

/** Findings that the model is asked about before a person is. */
export const REPAIRED: readonly string[] =
  'syntax lost_symbol doubled_block distant_removal dangling_reference shrinkage conflict_markers'.split(' ');

/** What guards look for in a result, and what each raises unless `guards:` of emend.yaml says otherwise for all that it finds. */
export const GUARDS = {
  syntax: { default: 'ask', what: 'syntax errors that the file did not have; `note` where one may only have moved' },
  lost_symbol: {
    default: 'ask',
    what: 'a definition that is gone; `note` where the instructions name it or another file has it now',
  },
  doubled_block: {
    default: 'ask',
    what: 'a block of new lines that stands twice in a row, or a definition that stands twice',
  },
  example: {
    default: 'refuse',
    what: "a line of the prompt's example that neither the file nor the instructions have",
  },
  distant_removal: {
    default: 'ask',
    what: 'lines gone from a file that was written whole, more than 3 lines from any that came',
  },
  dangling_reference: {
    default: 'ask',
    what: 'a definition that is gone while its name is still used, in the proposal or elsewhere in the workspace',
  },
  secret: { default: 'ask', what: 'a secret in a place where it was not: of another file, or new' },
  shrinkage: { default: 'ask', what: 'more than half of a file gone' },
  conflict_markers: { default: 'ask', what: 'new conflict markers' },
  lookalikes: { default: 'note', what: 'new typographic characters that look like plain ones' },
  unicode: {
    default: 'ask',
    what: 'new characters that are not shown or change the order in which text reads, and new words of mixed scripts',
  },
  shebang: { default: 'ask', what: 'a `#!` line that is gone or no longer the first' },
  mode: { default: 'ask', what: 'a changed mode, a new executable file' },
  file_name: {
    default: 'ask',
    what: 'a new name that differs from another only in letter case or accents, or that Windows cannot make',
  },
  deletion: { default: 'ask', what: 'a deleted file; a step always asks, whatever is set here' },
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
