/**
 * CommonMark's code fences (https://spec.commonmark.org/0.31.2/#fenced-code-blocks), the one grammar that every format reads:
 *
 *   opening = up to 3 blanks, 3 or more "`" or "~", info string (without "`" after "`")
 *   closing = up to 3 blanks, as many of the same character or more, then only blanks
 *
 * Inside a fence a shorter one, one of the other character and one with an info string are text.
 */
import type { Fault } from '../types.js';
import { type LineIndex, indexOfLines } from './lines.js';

export interface Fence {
  /** Blanks before it, which the lines inside may have, too. */
  readonly indent: number;
  readonly mark: string;
  readonly info: string;
}

export const openingFence = (line: string | undefined): Fence | null => {
  const [, indent = '', mark = '', rest = ''] =
    /^( {0,3})(`{3,}|~{3,})(.*)$/s.exec(line?.trimEnd() ?? '') ?? [];
  return mark === '' || (mark.startsWith('`') && rest.includes('`'))
    ? null
    : { indent: indent.length, mark, info: rest.trim() };
};

/** A line that can close a fence: one without an info string. */
export const isBareFence = (line: string | undefined): boolean => openingFence(line)?.info === '';

export const closesFence = (line: string | undefined, { mark }: Fence): boolean => {
  const closing = openingFence(line);
  return closing?.info === '' && closing.mark.startsWith(mark);
};

/** Follows the fences in the lines of an answer that stand outside of its bodies. */
export class Fences {
  open: Fence | null = null;
  #holdsText = false;

  /** Takes the next line; true: it opens or closes a fence. */
  take(line: string): boolean {
    if (this.open !== null) {
      const closes = closesFence(line, this.open);
      if (closes) this.open = null;
      else this.#holdsText ||= line.trim() !== '' && !isBareFence(line);
      return closes;
    }
    this.open = openingFence(line);
    this.#holdsText = false;
    return this.open !== null;
  }
  /** The body of an edit within, without a last line that closes the fence that is open outside of it. */
  closeIn(body: LineIndex): LineIndex {
    const last = textOf(body)[1];
    if (this.open === null || !closesFence(body.line(last), this.open)) return body;
    const inner = body.slice(0, last);
    if (!isBalanced(inner)) return body;
    this.open = null;
    return inner;
  }
  /** The answer may be cut: a fence is open at its end. A bare one with nothing behind it only ends a fence that was not opened. */
  get isCut(): boolean {
    return this.open !== null && (this.#holdsText || this.open.info !== '');
  }
}

export const CUT_INSIDE_FENCE = {
  code: 'cut_inside_fence',
  message: 'A fence around the answer is not closed.',
};

const LONE_FENCE_CHARS = 6; // bound: A longer line of fence characters alone at a body's end is a rule of the file's own.

export const MARKDOWN_LIKE = /\.(md|mdx|mdc|markdown|mkd|qmd|rmd|rst|adoc)$|(^|\/)readme[^/]*$/i;
const MARKDOWN_INFO = /^(md|mdx|markdown|rst|adoc|asciidoc)\b/i;
/** Files whose content may be anything: no ending or name that tells, templates, and what tests or programs wrote. */
const ANYTHING =
  /(^|\/)(?![A-Z][a-z]+file$|\.(?:\w+ignore|\w+rc|env|editorconfig|git\w+)$)\.?[^./]+$|\.(text|tmpl|tpl|template|hbs|ejs|j2|jinja|liquid|snap|prompt|in|out|log|golden|expected)$/i;

/** May a line of the file be any line of an answer? */
export const holdsProse = (path: string): boolean =>
  MARKDOWN_LIKE.test(path) || ANYTHING.test(path) || path.endsWith('.txt');

/**
 * The content of a file without the fence that a model put round it or left at its end, or a part of it (`isPart`) without one round all
 * of it; the same content where it has none, or where the fence is the file's own: the base or the language has fences, and neither the
 * info string nor the base's first line tells otherwise. A fault: nothing tells which.
 */
export const withoutFence = (
  path: string,
  body: LineIndex,
  base: LineIndex,
  isPart = false,
): LineIndex | Fault => {
  const unclear = (): Fault => {
    const remedy = isPart
      ? 'or with a line of the file next to it if it does'
      : 'or the change as a line edit';
    const message = `The content of ${path} starts or ends with a code fence, and it is not clear whether the fence belongs to it. Send the content without a fence, ${remedy}.`;
    return { code: 'fence_unclear', message };
  };
  const [first, last] = textOf(body);
  const opening = openingFence(body.line(first));
  const lone = openingFence(body.line(last));
  if (opening === null && (lone?.info !== '' || lone.mark.length > LONE_FENCE_CHARS)) return body;
  const closed = opening !== null && last > first && closesFence(body.line(last), opening);
  const inner = body.slice(opening === null ? 0 : first + 1, Math.max(last, first + 1));
  // A line of the other character, as under a title, says nothing of such fences.
  const isAlike = (line: string): boolean =>
    openingFence(line)?.mark[0] === (opening ?? lone)?.mark[0];
  const holdsFences = MARKDOWN_LIKE.test(path) || base.all.some(isAlike);
  const ownLines = isBalanced(inner);
  if (holdsFences && (isPart || opening === null)) return body;
  // A fence that is closed at the end was opened behind prose.
  // Part of a text may have examples of its own, which end in a fence.
  if (opening === null && isPart && !ownLines) return body;
  if (opening === null) return ANYTHING.test(path) || !ownLines ? unclear() : inner;
  const wraps = closed && (ownLines || !inner.all.some((line) => closesFence(line, opening)));
  if (isPart && !wraps && first === last) return unclear();
  if (isPart && !wraps) return withoutOpening(path, body, first) ?? body;
  if (holdsFences)
    return wraps && isAround(opening, inner, base) ? outdented(inner, opening) : body;
  return wraps && !ANYTHING.test(path) ? outdented(inner, opening) : unclear();
};

/** A part of a text without the lone fence that it begins with, which nothing closes. Null: the fence is its own. */
const withoutOpening = (path: string, body: LineIndex, first: number): LineIndex | null => {
  const inner = body.slice(first + 1, body.length);
  return isBalanced(body) || !isBalanced(inner) || ANYTHING.test(path) ? null : inner;
};

/** In a file that may hold fences: does the fence say that it holds Markdown, or the file that it begins inside? */
const isAround = ({ info }: Fence, inner: LineIndex, base: LineIndex): boolean => {
  const begins = base.line(textOf(base)[0]);
  if (openingFence(begins) !== null) return false;
  return (
    MARKDOWN_INFO.test(info) || (begins !== undefined && begins === inner.line(textOf(inner)[0]))
  );
};

/** Every fence among the lines is closed. */
const isBalanced = (lines: LineIndex): boolean => {
  const fences = new Fences();
  for (const line of lines.all) fences.take(line);
  return fences.open === null;
};

const textOf = (lines: LineIndex): readonly [number, number] => {
  let [first, last] = [0, lines.length - 1];
  while (first < last && lines.isBlank(first)) first += 1;
  while (last > first && lines.isBlank(last)) last -= 1;
  return [first, last];
};

/** Lines inside a fence lose as many blanks as stand before it. */
const outdented = (lines: LineIndex, { indent }: Fence): LineIndex =>
  indent === 0
    ? lines
    : indexOfLines(lines.all.map((line) => line.replace(new RegExp(`^ {0,${indent}}`), '')));
