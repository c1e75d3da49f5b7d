/** What edits before say about an edit of the same file that quotes the same: it is sent again, or it contradicts them. */
import type { Fault } from '../types.js';
import type { EditOutcome } from './outcome.js';

/** An edit's two sides as one text each, and the line that it states, if it does. */
export interface Sides {
  readonly before: string;
  readonly after: string;
  readonly line: number | null;
}

/** The edits of one file that changed something, by what they quote. */
export class Repeats {
  readonly #byQuote = new Map<string, { readonly after: string; readonly index: number }>();

  /** Notes an edit that changed the file; `index`: its number in the response. */
  add({ before, after, line }: Sides, index: number): void {
    const key = keyOf(before, line);
    if (!this.#byQuote.has(key)) this.#byQuote.set(key, { after, index });
  }

  /** Returns the number of the edit before that says the same word for word; null: none does. */
  sameAs({ before, after, line }: Sides): number | null {
    const earlier = this.#byQuote.get(keyOf(before, line));
    return earlier?.after === after ? earlier.index : null;
  }

  /** Returns the number of an edit before that replaces the same text by another one; null: none does. */
  contradicted({ before, after, line }: Sides): number | null {
    const earlier = this.#byQuote.get(keyOf(before, line));
    return earlier === undefined || earlier.after === after ? null : earlier.index;
  }
}

const keyOf = (before: string, line: number | null): string => `${line ?? ''}:${before}`;

/** An edit that says the same as edit `index` counts once. `name`: what edits are called. */
export const skippedTwice = (name: string, index: number): EditOutcome => ({
  kind: 'skipped',
  code: 'already_present',
  message: `It is the same as ${name} ${index + 1}, which is done.`,
  absence: null,
});

/** Two edits that replace the same text by different ones cannot both be meant. */
export const contradiction = (name: string, quote: string, index: number): Fault => ({
  code: 'contradiction',
  message: `${name} ${index + 1} replaces the same text by another one. Send one of the two, or both changes with one ${quote}.`,
});

/** What an edit adds is there already, at its place. */
export const skippedAddition = (): EditOutcome => ({
  kind: 'skipped',
  code: 'already_present',
  message: 'What it adds is already there, at this place.',
  absence:
    'What it adds is already there, at this place, but other edits are not applied yet, so the file may have it twice in a row. Omit this edit if it is done, else quote more of the text around it.',
});

/** Blank lines and brackets stand in a row in many places: they are no sign that an addition is made. */
export const isTelling = (added: string): boolean => /[\p{L}\p{N}]/u.test(added);
