/**
 * Lines like `// ... existing code ...` that stand for text. In new text they are refused, whatever the format: the text itself is wanted.
 *
 * In the middle of FIND one is the tolerance `elision`. FIND then is two parts, which must stand in exactly one place each way: one head, and
 * one tail below it. What stands between them goes.
 */
import { eachNewLine, viewOf } from '../guards/view.js';
import type { Change } from '../text/changes.js';
import { indexOf, NO_LINES, type Text } from '../text/lines.js';
import type { Reason } from '../types.js';

/** What comments begin and end with, in the languages that models write. */
const COMMENT = /^\s*(\/\/+|\/\*+|\*|#+|--|;+|%+|<!--|\{\/\*|"""|''')\s*/;
const COMMENT_END = /\s*(\*+\/\}?|-->|"""|''')?\s*$/;
/** Not those of code, as in `f(x, ...)`. */
const DOTS = /^(?:\.{3,}|…)|[^,([{\s]\s*(?:\.{3,}|…)$|(?:\.{3,}|…)\s+\w/;
const LEFT_OUT =
  /\b(rest|remainder|remaining|existing|unchanged|same|previous|other|omitted|elided|truncated|snipped?|as before|no changes?|keep)\b/i;
const PHRASE =
  /\b(rest|remainder) of (the |this |your |my )?(existing |original )?(code|file|class|function|method|module|implementation|content|script|component|tests?)\b.{0,40}\b(unchanged|same|remains?|stays?|here|as (is|before)|omitted|continues?|goes here)\b|\b(code|content|lines|methods|functions|imports) (is |are )?(omitted|elided) for brevity\b/i;
/** A note that may only mention what is there. */
const MENTION =
  /\b(existing|unchanged|remaining) (code|content|lines|methods|functions|imports|implementation)( here| goes here| remains?| unchanged)?$/i;
/** `...` alone, or with words that say what is left out; also `[... unchanged ...]` outside comments. */
const BRACKETED = /^\s*[[(<{]\s*(\.{3}|…).{0,80}(\.{3}|…)?\s*[\])>}]\s*$/;
/** A whole comment that says only that text stays: `rest unchanged`, `existing code ...`, `... other methods`. */
const STAYS =
  /^(existing|unchanged|remaining) (code|content|lines|methods|functions|imports|implementation)( here| goes here)?$|^(the )?((rest|remainder|everything else)( of [^,;]{1,40})?|(existing|remaining|other|previous) \w+)( (is|are|stays?|remains?))? (unchanged|the same|same|as (is|before)|omitted|elided)\.?$/i;
const TRAILING =
  /^(the )?(rest|remainder|existing|remaining|other|previous|unchanged|same)\b[^.,;()=]{0,60}(\.{3,}|…)$/i;
const LEADING = /^(\.{3,}|…)\s+[^.,;()=]{0,60}(\.{3,}|…)?$/;
const ENCLOSED = /^(\.{3,}|…)[^.…]{1,60}(\.{3,}|…)$/;

const ALONE = /^(\.{3,}|…)$/;

/** Does a line stand for text wherever it stands? */
const standsForText = (line: string): boolean => {
  const text = line.replace(COMMENT, '').replace(COMMENT_END, '');
  if (text === '…') return true;
  if (BRACKETED.test(line)) return LEFT_OUT.test(line);
  if (!COMMENT.test(line)) return false;
  if (PHRASE.test(text) || STAYS.test(text)) return true;
  return LEFT_OUT.test(text) && [TRAILING, LEADING, ENCLOSED].some((form) => form.test(text));
};

/** Does it where more lines went away than came? There `// ...` and a note that only mentions what is left do, too. */
const standsForLost = (line: string): boolean => {
  const text = line.replace(COMMENT, '').replace(COMMENT_END, '');
  if (COMMENT.test(line)) return ALONE.test(text) || MENTION.test(text) || (DOTS.test(text) && LEFT_OUT.test(text));
  return /^\s*(\.{3}|…)\s+\S.*[^,;]$/.test(line) && LEFT_OUT.test(line) && line.trim().split(/\s+/).length <= 12;
};

const LINE_CHARS = 300; // bound: A longer line stands for nothing.

/** Each form above has one of these; few lines have. */
const CANDIDATE = /\.{3}|…|existing|unchanged|remain|rest|everything else|other|previous|omitted|elided/i;

const isElision = (line: string, lost: number): boolean =>
  line.length <= LINE_CHARS && CANDIDATE.test(line) && (standsForText(line) || (lost > 0 && standsForLost(line)));

/** New lines that stand for text, unless the file has that very line. */
export const elisionReasons = (path: string, text: Text | null, changes: readonly Change[]): Reason[] => {
  // Few results have such a line at all.
  if (!changes.some(({ lines }) => lines.some((line) => isElision(line, 1)))) return [];
  const view = viewOf(path, text === null ? NO_LINES : indexOf(text), null, changes);
  const known = new Set(view.base.all.map((old) => old.trim()));
  const reasons: Reason[] = [];
  eachNewLine(view, (line, at, change) => {
    const lost = Math.max(0, change.to - change.from - change.lines.length);
    if (known.has(line.trim()) || !isElision(line, lost)) return;
    const told = `Line ${at + 1} of the new ${path} (${JSON.stringify(line.trim().slice(0, 100))})`;
    const message =
      lost > 0 ? `${told} replaces part of the file (${lost} lines fewer).` : `${told} reads as if text were omitted.`;
    reasons.push({ code: 'elision', path, message: `${message} Send the text itself, not a placeholder.` });
  });
  return reasons;
};

const ELIDED =
  /^\s*(?:\/\/+|#+|--|;+|%+|\/\*+|<!--|\{\/\*)?\s*(?:\.{3}|\u2026)(?:[^\n]{0,80}(?:\.{3}|\u2026))?\s*(?:\*\/\}?|-->)?\s*$/;

/** Does a line of FIND stand for others? */
export const isElided = (line: string): boolean => line.length <= 200 && ELIDED.test(line);

export interface Elided {
  readonly head: readonly string[];
  readonly tail: readonly string[];
}

/** The two parts, where exactly one line inside stands for others and both parts say something. */
export const splitElided = (lines: readonly string[]): Elided | null => {
  const places = lines.flatMap((line, i) => (isElided(line) ? [i] : []));
  const [at] = places;
  if (at === undefined || places.length > 1) return null;
  const [head, tail] = [lines.slice(0, at), lines.slice(at + 1)];
  const says = (part: readonly string[]): boolean => part.some((line) => line.trim() !== '');
  return says(head) && says(tail) ? { head, tail } : null;
};

export type ElidedPlace = { readonly head: number; readonly tail: number } | 'none' | 'several';

/** 0-based first lines of the only head and the only tail that stand with at least one line between them. */
export const placeElided = (lines: readonly string[], { head, tail }: Elided): ElidedPlace => {
  const [head0, head1] = placesOf(lines, head);
  const tails = placesOf(lines, tail);
  const last = tails.at(-1);
  const goes = (at: number | undefined, below: number | undefined): boolean =>
    at !== undefined && below !== undefined && below > at + head.length;
  if (head0 === undefined || last === undefined || !goes(head0, last)) return 'none';
  // If any pair is in order the first head and the last tail are; it is the only one where neither has a second.
  if (goes(head0, tails.at(-2)) || goes(head1, last)) return 'several';
  return { head: head0, tail: last };
};

const placesOf = (lines: readonly string[], part: readonly string[]): number[] => {
  const places: number[] = [];
  for (let at = 0; at + part.length <= lines.length; at += 1)
    if (part.every((line, i) => lines[at + i] === line)) places.push(at);
  return places;
};

// The tolerance `part_of_line`: a quote of one line that no line of the file is, and that stands once in the file as a part of one. Exactly
// those characters are replaced.

/** The 0-based lines that hold the part, each as often as it does; at most `most`. */
export const placesOfPart = (lines: readonly string[], part: string, most: number): number[] => {
  const places: number[] = [];
  for (const [i, line] of lines.entries()) {
    for (let at = line.indexOf(part); at >= 0 && places.length < most; at = line.indexOf(part, at + 1)) places.push(i);
    if (places.length >= most) break;
  }
  return places;
};

/**
 * The line with `replace` in place of its only `part`. Null: it is there already; only white space at the end is missing, which is another
 * tolerance; or white space alone stands before `part`, and the lines of `replace` are not indented as that needs.
 */
export const withinLine = (text: string, part: string, replace: readonly string[]): readonly string[] | null => {
  const [first = '', ...rest] = replace;
  if (rest.length === 0 && first.includes(part) && text.includes(first)) return null;
  const at = text.indexOf(part);
  const head = text.slice(0, at);
  const tail = text.slice(at + part.length);
  if (head === '' && tail.trim() === '') return null;
  const isIndent = head !== '' && head.trim() === '';
  if (isIndent && (/^\s/.test(first) || rest.some((line) => line.trim() !== '' && !line.startsWith(head)))) return null;
  const lines = [head + first, ...rest];
  return [...lines.slice(0, -1), (lines.at(-1) ?? '') + tail];
};
