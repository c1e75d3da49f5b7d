/** What each format's module tells the model: the form of an answer, a tiny example, and the literal lines with the nonce at the end. */

/** What every format says of files that were not offered. */
export const NO_OTHER_FILES = 'Do not create files that are not listed as files to edit.';

export interface Allowed {
  /** Definitions may be named: the language of a file is known. */
  readonly symbols: boolean;
  /** Lines `NOT DONE` may stand before the answer: the job of a phase asks for them. */
  readonly notDone: boolean;
}

export interface Form {
  /** How the files to edit are shown: as they are, or with numbers and checks that operations quote. */
  readonly shows: 'plain' | 'checked';
  /** Does every answer repeat the whole file? Then windows make no sense. */
  readonly needsWholeFile: boolean;
  /** The system prompt's part: grammar and example, with the word NONCE for the nonce. */
  readonly grammar: (allowed: Allowed) => string;
  /** The end of the last message. The nonce stands here and nowhere else; the last word of 20 hex digits is the nonce. */
  readonly tail: (nonce: string, paths: readonly string[]) => string;
}

/** How files are shown to be read, not edited. */
export const wholeOrWindows: Pick<Form, 'shows' | 'needsWholeFile'> = { shows: 'plain', needsWholeFile: false };

/** Lines to write literally, one per path, as many as help. */
export function sampleLines(paths: readonly string[], line: (path: string) => string): string {
  const SHOWN = 20;
  const shown = paths.slice(0, SHOWN).map(line);
  return [...shown, ...(paths.length > SHOWN ? [`(and so on for the other ${paths.length - SHOWN} files)`] : [])].join(
    '\n',
  );
}
