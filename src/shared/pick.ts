/**
 * Files that a step may be about where its job names none, new files that a model names, and those that a call is told of beside its own.
 */

/** May a model name files to make? Patterns are gitignore-style: those that match. */
export type Create = boolean | readonly string[];

/** A file that a task may be about: why, and what it defines, those that the task names first. */
export interface Candidate {
  readonly path: string;
  readonly reasons: readonly string[];
  readonly symbols: readonly string[];
}
/** A file that may be edited, and why. */
export interface PickedFile {
  readonly path: string;
  readonly why: string;
  /** It is to be made; absent: it is there. */
  readonly isNew?: true;
}
/** New files of an answer: they belong to what it says of `by`. */
export interface MadeFiles {
  readonly by: string;
  readonly paths: readonly string[];
}
export type Picked =
  /** `tooMany`: a person is to be asked, and why. */
  | { readonly outcome: 'picked'; readonly files: readonly PickedFile[]; readonly tooMany?: string }
  | { readonly outcome: 'look_for'; readonly words: readonly string[] }
  /** `files`: those that the task's words lead to first. */
  | {
      readonly outcome: 'nothing_found';
      readonly message: string;
      readonly files: readonly PickedFile[];
    };

/** Of a file that is not to be edited the lines that a call is told, by their 0-based numbers. `rank`: the lowest come first. */
export interface KnownFile extends Omit<PickedFile, 'isNew'> {
  readonly rank: number;
  readonly lines: readonly (readonly [at: number, text: string])[];
}
/** A file that a request shows beside those to edit; `tokens`: as estimated. */
export interface ContextFile extends Omit<PickedFile, 'isNew'> {
  readonly tokens: number;
}
