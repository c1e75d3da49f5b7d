/**
 * Lines like `// ... existing code ...` that stand for text. In new text they are a finding, whatever the format (guards/elision.ts).
 *
 * In the middle of FIND one is the tolerance `elision`. FIND then is two parts, which must stand in exactly one place each way: one head, and
 * one tail below it. What stands between them goes.
 */
import { MARKDOWN_LIKE } from '../text/fence.js';

/** What comments begin and end with, in the languages that models write. */
const COMMENT = /^\s*(\/\/+|\/\*+|\*|#+|--|;+|%+|<!--|\{\/\*|"""|''')\s*/;
const COMMENT_END = /(\*+\/\}?|-->|"""|''')\s*$/;
const BRACKETED = /^\s*[[(<{].*[\])>}]\s*$/;
/** What such a note is set in, within its comment or without one: `(rest unchanged)`, `=== existing code ===`. */
const FRAME = /^[[(<{=~*_-]+(?![[(<{=~*_-])(.*?)(?<![\])>}=~*_-])[\])>}=~*_-]+$/;
/** Not those of code, as in `f(x, ...)`. */
const DOTS = /^(?:\.{3,}|…)|[^,([{\s]\s*(?:\.{3,}|…)$|(?:\.{3,}|…)\s+\w/;
const LEFT_OUT =
  /\b(rest|remainder|remaining|existing|unchanged|same|previous|other|omitted|elided|truncated|snipped?|as before|no changes?|keep|\d+ more|lines? \d+ ?(-|–|to) ?\d+)\b/i;
/** A whole comment, or text in brackets, that says only that text stays or is left out. */
const STAYS = [
  /\b(rest|remainder) of (the |this |your |my )?(existing |original )?(code|file|class|function|method|module|implementation|content|script|component|tests?)\b.{0,40}\b(unchanged|same|remains?|stays?|here|as (is|before)|omitted|continues?|goes here)\b|\b(code|content|lines|methods|functions|imports) (is |are )?(omitted|elided) for brevity\b/i,
  /^(existing|unchanged|remaining) (code|content|lines|methods|functions|imports|implementation)( here| goes here)?$/i,
  /^(the )?((rest|remainder|everything else)( of [^,;]{1,40})?|(all (the )?)?(existing|remaining|other|previous) \w+)( (is|are|stays?|remains?))? (unchanged|the same|same|as (is|before)|omitted|elided)\.?$/i,
  /^(the )?(rest|remainder) of (the |this )?(existing |original )?(code|file|class|function|method|module|script|config|configuration|settings)$/i,
  /^\d+ (more |other )?(lines|keys|entries|items|functions|methods) (are )?(omitted|unchanged|elided|truncated|not shown)$/i,
  /^no (other |further )?changes (to|in) the (rest|remainder)\b[^,;]{0,40}$/i,
];
/** A note that may only mention what is there. */
const MENTION =
  /\b(existing|unchanged|remaining) (code|content|lines|methods|functions|imports|implementation)( here| goes here| remains?| unchanged)?$/i;
const GONE =
  /^(unchanged|omitted|elided|same as before|no (other |further )?changes|(keep|leave) (the (rest|remainder)|everything else|(all )?other \w+)( of [^,;]{1,40})? (as is|as it is|unchanged|the same))$/i;
const BETWEEN_DOTS = /^(\.{3,}|…)[^.…]{1,60}(\.{3,}|…)$/;
const WITH_DOTS = [
  /^(the )?(rest|remainder|existing|remaining|other|previous|unchanged|same)\b[^.,;()=]{0,60}(\.{3,}|…)$/i,
  /^(\.{3,}|…)\s+[^.,;()=]{0,60}(\.{3,}|…)?$/,
  BETWEEN_DOTS,
];
const ALONE = /^(\.{3,}|…)$/;
/** In brackets, but for a spread: a name after the dots is one, unless a word or dots follow. */
const DOTS_IN_BRACKETS = /^(?:…|\.{3}(?:[^\w$([{]|$|\w+ +\w|.*(?:\.{3}|…)$)).{0,80}$/;
/** Files in which `...` alone is neither code nor prose. */
const NO_DOTS =
  /\.(conf|cfg|ini|toml|env|properties|json[c5]?|s?css|less|sql|tf)$|(^|\/)(Makefile|Dockerfile)$/;

/** The text of a comment or of a line in brackets, without what it is set in; null: the line is neither. */
const noteOf = (line: string): string | null =>
  COMMENT.test(line) || BRACKETED.test(line) ? textOf(line).replace(FRAME, '$1').trim() : null;
const textOf = (line: string): string => line.replace(COMMENT, '').replace(COMMENT_END, '').trim();

const standsForText = (path: string, line: string): boolean => {
  const [bare, note] = [line.trim(), noteOf(line)];
  if (line === '…' || (note === '…' && COMMENT.test(line))) return true;
  if (NO_DOTS.test(path) && /^\[?(\.{3}|…)\]?$/.test(bare)) return true;
  if (note === null) return BETWEEN_DOTS.test(bare) && LEFT_OUT.test(bare);
  if (STAYS.some((form) => form.test(note))) return true;
  const forms = COMMENT.test(line) ? WITH_DOTS : [DOTS_IN_BRACKETS];
  return LEFT_OUT.test(note) && forms.some((form) => form.test(note));
};

/** Does it where more lines went away than came? There `// ...` and a note that only mentions what is left do, too. */
const standsForLost = (line: string): boolean => {
  const [note, text] = [noteOf(line), textOf(line)];
  if (
    note !== null &&
    (GONE.test(note) || (ALONE.test(note) && COMMENT.test(line) && !text.startsWith('{')))
  )
    return true;
  if (COMMENT.test(line)) return MENTION.test(text) || (DOTS.test(text) && LEFT_OUT.test(text));
  return (
    /^\s*(\.{3}|…)\s+\S.*[^,;]$/.test(line) &&
    LEFT_OUT.test(line) &&
    line.trim().split(/\s+/).length <= 12
  );
};

const LINE_CHARS = 300; // bound: A longer line stands for nothing.

/** Each form above has one of these; few lines have. */
const CANDIDATE =
  /\.{3}|…|existing|unchanged|remain|rest|everything else|other|previous|omitted|elided|truncated|not shown|same|no changes|keep|leave/i;

/** Returns whether a new line stands for text, where `lost` lines more went away than came. */
export const isElision = (path: string, line: string, lost: number): boolean =>
  line.length <= LINE_CHARS &&
  CANDIDATE.test(line) &&
  (lost > 0
    ? standsForText(path, line) || standsForLost(line)
    : !isItem(path, line) && standsForText(path, line));

/** A heading or an item of Markdown is no comment. */
const isItem = (path: string, line: string): boolean =>
  MARKDOWN_LIKE.test(path) && /^\s*[#*]+\s/.test(line) && !/\.{3}|…/.test(line);

const ELIDED =
  /^\s*(?:\/\/+|#+|--|;+|%+|\/\*+|<!--|\{\/\*)?\s*(?:\.{3}|\u2026)(?:[^\n]{0,80}(?:\.{3}|\u2026))?\s*(?:\*\/\}?|-->)?\s*$/;

/** Does a line of FIND stand for others? */
export const isElided = (line: string): boolean => line.length <= 200 && ELIDED.test(line);

export type Elided = Readonly<Record<'head' | 'tail', readonly string[]>>;

/** The two parts, where exactly one line inside stands for others and both parts say something. */
export const splitElided = (lines: readonly string[]): Elided | null => {
  const places = lines.flatMap((line, i) => (isElided(line) ? [i] : []));
  const [lineIndex] = places;
  if (lineIndex === undefined || places.length > 1) return null;
  const [head, tail] = [lines.slice(0, lineIndex), lines.slice(lineIndex + 1)];
  const says = (part: readonly string[]): boolean => part.some((line) => line.trim() !== '');
  return says(head) && says(tail) ? { head, tail } : null;
};

export type ElidedPlace = { readonly head: number; readonly tail: number } | 'none' | 'several';

/** 0-based first lines of the only head and the only tail that stand with at least one line between them. */
export const placeElided = (lines: readonly string[], { head, tail }: Elided): ElidedPlace => {
  const [head0, head1] = placesOf(lines, head);
  const tails = placesOf(lines, tail);
  const last = tails.at(-1);
  const goes = (lineIndex: number | undefined, below: number | undefined): boolean =>
    lineIndex !== undefined && below !== undefined && below > lineIndex + head.length;
  if (head0 === undefined || last === undefined || !goes(head0, last)) return 'none';
  // If any pair is in order the first head and the last tail are; it is the only one where neither has a second.
  if (goes(head0, tails.at(-2)) || goes(head1, last)) return 'several';
  return { head: head0, tail: last };
};

/** The 0-based lines from which on all lines of `part` stand. */
export const placesOf = (lines: readonly string[], part: readonly string[]): number[] => {
  const places: number[] = [];
  for (let lineIndex = 0; lineIndex + part.length <= lines.length; lineIndex += 1)
    if (part.every((line, i) => lines[lineIndex + i] === line)) places.push(lineIndex);
  return places;
};

// The tolerance `part_of_line`: a quote of one line that no line of the file is, and that stands once in the file as a part of one. Exactly
// those characters are replaced.

/** The 0-based lines that hold the part, each as often as it does; at most `most`. */
export const placesOfPart = (lines: readonly string[], part: string, most: number): number[] => {
  const places: number[] = [];
  for (const [i, line] of lines.entries()) {
    for (
      let lineIndex = line.indexOf(part);
      lineIndex >= 0 && places.length < most;
      lineIndex = line.indexOf(part, lineIndex + 1)
    )
      places.push(i);
    if (places.length >= most) break;
  }
  return places;
};

/** Does an offset stand inside of a word or a number? */
const cutsWord = (text: string, offset: number): boolean => {
  if (offset <= 0 || offset >= text.length) return false;
  const around = (before: number, after: number): string =>
    text.slice(Math.max(0, offset - before), offset + after);
  if (/^[\p{L}\p{N}_$]{2}$/u.test(around(1, 1))) return true;
  // A hyphen, a dot or a comma joins what is on both sides of it.
  return INNER.test(around(2, 1)) || INNER.test(around(1, 2));
};
const INNER = /^(?:[\p{L}\p{N}_]-[\p{L}\p{N}_]|\p{N}[.,]\p{N})$/u;

/** Text that is a statement, not words of a comment or a string. */
const isStatement = (part: string): boolean => /[;{}]\s*$|[^=!<>]=(?!=)|\w\(/.test(part);

/** Does an offset stand behind the beginning of a comment, or inside of quotes? */
const isQuotedAt = (text: string, offset: number): boolean => {
  const head = text.slice(0, offset);
  if (/^\s*(?:#|--|;|%|\*|<!--)|\/[/*]/.test(head)) return true;
  return ['"', "'", '`'].some((quote) => head.split(quote).length % 2 === 0);
};

/** A line that others belong to, which are deeper. */
const OPENS = /([:{([=]|[-=]>|\b(do|of|where|then|else|with))\s*((#|\/\/).*)?$/;

/**
 * The line with `replace` in place of its only `part`. Null: it is there already; only white space at the end is missing, which is another
 * tolerance; or white space alone stands before `part`, and the lines of `replace` are not indented as that needs, or seem to be so only
 * because they are indented from `part` on: what opens a block is followed by a line that is as deep as it. Or `replace` says again what
 * stands before or after `part`, as one does who means the whole line; closing brackets may be those of its own.
 */
export const withinLine = (
  text: string,
  part: string,
  replace: readonly string[],
): readonly string[] | null => {
  const [first = '', ...rest] = replace;
  if (rest.length === 0 && first.includes(part) && text.includes(first)) return null;
  const start = text.indexOf(part);
  if (cutsWord(text, start) || cutsWord(text, start + part.length)) return null;
  if (isStatement(part) && isQuotedAt(text, start)) return null;
  const head = text.slice(0, start);
  const tail = text.slice(start + part.length);
  if (head === '' && tail.trim() === '') return null;
  if (isBadlyIndented(head, first, rest) || saysNeighbours(head, tail, part, replace)) return null;
  const lines = [head + first, ...rest];
  return [...lines.slice(0, -1), (lines.at(-1) ?? '') + tail];
};

/** True if only white space is before the part, and the new lines are not indented as that needs. */
const isBadlyIndented = (head: string, first: string, rest: readonly string[]): boolean => {
  if (head === '' || head.trim() !== '') return false;
  const below = rest.filter((line) => line.trim() !== '');
  const isDeep = (line: string): boolean =>
    line.startsWith(head) && /^\s/.test(line.slice(head.length));
  const fits =
    below.every((line) => line.startsWith(head)) &&
    (!OPENS.test(first) || below.slice(0, 1).every(isDeep));
  return /^\s/.test(first) || !fits;
};

/** The new lines say again what is before or after the part. */
const saysNeighbours = (
  head: string,
  tail: string,
  part: string,
  replace: readonly string[],
): boolean => {
  const [before, after] = [head.trimStart(), tail.trimEnd()];
  const [first = ''] = replace;
  const last = replace.at(-1) ?? '';
  const saysBefore =
    before !== '' && first.trimStart().startsWith(before) && !part.startsWith(before);
  return saysBefore || (/[^)\]}>"'`]/.test(after) && last.endsWith(after) && !part.endsWith(after));
};
