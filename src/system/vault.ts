/** Replaces secrets in a text by placeholders, for a reader who must not see them, and puts the secrets back. */
import { createHmac } from 'node:crypto';
import { escaped, literally } from '../shared/text.js';
import type { Secret } from './secrets.js';

const HASH_DIGITS = 8; // bound: Hexadecimal digits of the hash in a placeholder: two secrets of a run hardly ever share it.

/** Matches text that looks like a placeholder. In a file of yours it is hidden like a secret, so that each one in a response is one of Emend's. */
export const LIKE_PLACEHOLDER = /EMEND_SECRET_\w+/g;

/** Returns whether a text has a placeholder. */
export const hidesSecret = (text: string): boolean => text.search(LIKE_PLACEHOLDER) !== -1;

const anyOf = (texts: Iterable<string>): string =>
  [...texts]
    .sort((a, b) => b.length - a.length)
    .map(literally)
    .join('|');

/** Knows secrets and their placeholders, one for each line of a secret. The same key gives the same placeholders. */
export class Vault {
  /** Placeholder of each line of a secret, and of the line as JSON quotes it. */
  private readonly shown = new Map<string, string>();
  private readonly hidden = new Map<string, string>();
  private readonly lines: RegExp;
  private readonly placeholders: RegExp;

  constructor(key: string, secrets: readonly Secret[]) {
    for (const secret of secrets) {
      const hash = createHmac('sha256', key)
        .update(secret.join('\n'))
        .digest('hex')
        .slice(0, HASH_DIGITS);
      secret.forEach((line, index) => {
        if (this.shown.has(line)) return;
        const placeholder = `EMEND_SECRET_${hash}_${index + 1}`;
        this.shown.set(line, placeholder);
        this.hidden.set(placeholder, line);
      });
    }
    // Messages quote the content of files as JSON does.
    for (const [line, placeholder] of [...this.shown])
      if (!this.shown.has(escaped(line))) this.shown.set(escaped(line), placeholder);
    this.lines = new RegExp(anyOf(this.shown.keys()), 'g');
    const known = this.hidden.size === 0 ? '' : `${anyOf(this.hidden.keys())}|`;
    this.placeholders = new RegExp(known + LIKE_PLACEHOLDER.source, 'g');
  }

  /** Returns the text with a placeholder for each line of a secret. */
  mask(text: string): string {
    return this.shown.size === 0
      ? text
      : text.replace(this.lines, (line) => this.shown.get(line) ?? line);
  }

  /**
   * Returns the answer with the secrets in place of their placeholders. `isJson`: the placeholders are in strings of JSON. `unknown` lists text
   * that looks like a placeholder and is none of this vault.
   */
  restore(
    answer: string,
    isJson: boolean,
  ): { readonly text: string; readonly unknown: readonly string[] } {
    const unknown = new Set<string>();
    const text = answer.replace(this.placeholders, (placeholder) => {
      const line = this.hidden.get(placeholder);
      if (line === undefined) {
        unknown.add(placeholder);
        return placeholder;
      }
      return isJson ? escaped(line) : line;
    });
    return { text, unknown: [...unknown] };
  }
}
