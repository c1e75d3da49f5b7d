/**
 * Leaves the thinking of a response out, before anything else reads it. Thinking is text in `<think>`, `<thinking>`, `<reasoning>` or an HTML
 * comment outside of the content of an edit. Its characters are removed and its line ends stay, so that lines keep their numbers.
 *
 * One pass goes over the lines and follows fences and the content of edits (content.ts), which stays byte for byte. Outside of it:
 *
 *   opening tag first on its line        thinking up to its closing tag, whatever that text holds: fences and edits there do not count
 *   opening tag within a line or fence   thinking up to a closing tag outside of the content of edits, else a mention
 *   closing tag without an opening one   all before it is thinking: the chat template of some models writes the opening tag
 *   opening tag that is not closed       the response ends within thinking
 *   tag in backticks or quotes           a mention
 *
 * A comment on one line is text, as it may name the file of the next edit, unless it holds a JSON object. If two readings differ in their
 * edits, the response is refused.
 */
import type { AnswerFormat } from '../../shared/formats.js';
import { closesFence, type Fence, openingFence } from '../text/fence.js';
import { findMarker, holdsEdit } from '../marker.js';
import type { Reason } from '../types.js';
import { EditContent, type ResponseLine } from './content.js';
import { isAlone, isLineStart, type Tag, tagsOf } from './tags.js';

const STRETCHES_REPORTED = 5; // bound: Stretches of thinking that a note lists; more are counted.
const ANY_TAG = /<\/?(?:think|reasoning)|<!--/i;
/** A tag behind one of these characters is no word of the sentence. */
const SENTENCE_ENDS = '.!?…';
/** A tag is hardly a word of a sentence behind one of these, or if a character outside `ENDS_OF_WORD` follows it. */
const PHRASE_ENDS = ':;*)';
const ENDS_OF_WORD = ' \t.,;:!?…)*/-\'"’”';
const OBJECT = /\{\s*"/y;
const HOLDS_OBJECT = /\{\s*["']/;

interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** The reason why a response cannot be used. `open`: the response ends within thinking. */
export interface ThinkingFault {
  readonly reason: Reason;
  readonly open: boolean;
}

const ONLY_THINKING: ThinkingFault = {
  reason: {
    code: 'no_edits',
    message:
      'The answer contains only thinking, which is never applied. Send the answer after its closing tag.',
  },
  open: false,
};

export interface WithoutThinking {
  readonly text: string;
  /** Lists the lines of the thinking; null: there is none. */
  readonly note: Reason | null;
  readonly fault: ThinkingFault | null;
}

/** Removes the thinking of a response. `format`: null if it is not known yet; then the content of edits in every format counts. */
export const withoutThinking = (
  response: string,
  format: AnswerFormat | null,
  nonce: string | undefined,
): WithoutThinking => {
  if (!ANY_TAG.test(response)) return { text: response, note: null, fault: null };
  const finder = new ThinkingFinder(response, format, nonce);
  finder.scan();
  const stretches = finder.resolve();
  const text = without(response, stretches);
  const isEmpty = stretches.length > 0 && text.trim() === '';
  return {
    text,
    note: noteOf(response, stretches),
    fault: finder.fault ?? (isEmpty ? ONLY_THINKING : null),
  };
};

/** Returns the text without the characters of the stretches, but with all of its line ends. */
const without = (text: string, stretches: readonly Stretch[]): string => {
  const parts: string[] = [];
  let end = 0;
  for (const { from, to } of stretches) {
    parts.push(text.slice(end, from), text.slice(from, to).replace(/[^\r\n]+|\r(?!\n)/g, ''));
    end = to;
  }
  parts.push(text.slice(end));
  return parts.join('');
};

const noteOf = (text: string, stretches: readonly Stretch[]): Reason | null => {
  if (stretches.length === 0) return null;
  let [lineStart, line] = [0, 1];
  const lineOf = (offset: number): number => {
    let end = text.indexOf('\n', lineStart);
    while (end >= 0 && end < offset) {
      lineStart = end + 1;
      line += 1;
      end = text.indexOf('\n', lineStart);
    }
    return line;
  };
  const ranges = stretches.slice(0, STRETCHES_REPORTED).map(({ from, to }) => {
    const [first, last] = [lineOf(from), lineOf(to)];
    return first === last ? `line ${first}` : `lines ${first} to ${last}`;
  });
  const more = stretches.length - ranges.length;
  const list = `${ranges.join(', ')}${more > 0 ? ` and ${more} more places` : ''}`;
  return {
    code: 'thinking',
    message: `Thinking was ignored: ${list} of the answer.`,
  };
};

/** An opening tag that may be a mention. */
interface Doubtful {
  readonly tag: Tag;
  /** The fence that it is in. */
  readonly fence: Fence | null;
  /** Number of edits before it. */
  readonly edits: number;
  /** True: it follows a sentence or ends its line, so it is hardly a word of a sentence. */
  readonly isLikely: boolean;
}
/** A closing tag without an opening one. */
interface Lone {
  readonly tag: Tag;
  /** The offset of the text behind it. */
  readonly to: number;
  /** True: it begins its line or ends the last sentence of it, outside of fences and of what may be the content of an edit. */
  readonly isClear: boolean;
  /** Number of stretches before it. */
  readonly stretches: number;
}

/** The offset at which reading continues. `startsLine`: as at the start of a line. */
interface Position {
  readonly offset: number;
  readonly startsLine: boolean;
}

class ThinkingFinder {
  fault: ThinkingFault | null = null;
  readonly #text: string;
  readonly #format: AnswerFormat | null;
  readonly #nonce: string | undefined;
  readonly #tags: readonly Tag[];
  readonly #closings: ReadonlyMap<Tag, Tag>;
  readonly #content: EditContent;
  readonly #stretches: Stretch[] = [];
  readonly #doubtful = new Map<Tag['name'], Doubtful>();
  readonly #lone: Lone[] = [];
  #nextTag = 0;
  #nextBrace = -1;
  #fence: Fence | null = null;
  /** The line that was read last. Reading may continue within it, behind a closing tag. */
  #line = { from: 0, next: 0 };
  /** Spaces before the first indented fence. The lines inside also have them. */
  #indent = '';
  #unclosed: Tag | null = null;
  /** The closing tag that `#refuseDraftBehindHunk` looked at last. */
  #checked: Tag | null = null;

  constructor(text: string, format: AnswerFormat | null, nonce: string | undefined) {
    this.#text = text;
    this.#format = format;
    this.#nonce = nonce;
    this.#tags = tagsOf(text);
    const isSigned = format === 'unified-diff' || format === 'begin-patch';
    this.#closings = closingTags(
      this.#tags.filter(({ isMention, line }) => !isMention && !(isSigned && line.isSigned)),
    );
    this.#content = new EditContent(text, format, nonce, this.#lineAt);
  }

  scan(): void {
    for (let offset = 0; offset < this.#text.length && !this.#isCut;) {
      this.#skipTo(offset);
      if (this.#tags[this.#nextTag] === undefined && this.#doubtful.size === 0) return;
      const line = this.#lineAt(offset);
      // The end of a comment looks like a removed line of a diff.
      const endsComment = line.text.startsWith('-->') && this.#doubtful.has('comment');
      this.#refuseDraftBehindHunk(line);
      const end = endsComment ? null : this.#content.endFrom(line, this.#fence);
      if (end !== null) this.#refuseClosingWithin(end);
      offset = end ?? this.#readLine(offset, line);
    }
    for (const { tag, fence, isLikely, edits } of this.#doubtful.values())
      if (
        fence === null
          ? isLikely && holdsEdit(this.#text.slice(tag.to))
          : this.#content.count > edits
      )
        this.#unclosed ??= tag;
  }

  /** Returns whether the response ends within thinking. */
  get #isCut(): boolean {
    return this.#unclosed !== null;
  }

  /** Returns the stretches of thinking after the scan. Sets `fault` if two readings differ in their edits. */
  resolve(): readonly Stretch[] {
    const lone = this.#resolveLone();
    if (this.#unclosed === null) return lone;
    const { name, from, to } = this.#unclosed;
    const tail = this.#text.slice(to);
    const head = without(this.#text.slice(0, from), lone);
    const stretches = [
      ...lone.filter((stretch) => stretch.to <= from),
      { from, to: this.#text.length },
    ];
    if (name === 'comment' && !holdsEdit(tail)) return lone;
    const isBehindAll =
      this.#format !== null &&
      !holdsEdit(tail) &&
      findMarker(this.#format, head, this.#nonce).marker === 'right';
    if (isBehindAll) return stretches;
    const isComplete =
      this.#format !== null && findMarker(this.#format, tail, this.#nonce).marker === 'right';
    const message = `${this.#placeOf(this.#unclosed)} is not closed, so all text after it is thinking, which is never applied. Close it before the first edit. If it is text, put it in backticks.`;
    this.fault = { reason: { code: 'cut_inside_thinking', message }, open: !isComplete };
    return stretches;
  }

  #resolveLone(): readonly Stretch[] {
    const clear = this.#lone.filter(({ isClear }) => isClear);
    const [first, last] = [clear[0], clear.at(-1)];
    let stretches: readonly Stretch[] = this.#stretches;
    if (first !== undefined && last !== undefined) {
      const head = this.#between(0, first.tag.from);
      const isDraft = holdsEdit(head);
      const isUnclear =
        holdsEdit(this.#between(first.tag.to, last.tag.from)) ||
        (isDraft && (first.stretches > 0 || !holdsEdit(this.#between(last.tag.to, Infinity))));
      if (isUnclear) return this.#refuse(last.tag);
      stretches = [{ from: 0, to: last.to }, ...stretches.filter(({ from }) => from >= last.to)];
    }
    const from = last?.to ?? 0;
    const others = this.#lone.filter(({ tag }) => tag.from >= from);
    const other = others.at(-1);
    if (other !== undefined && holdsEdit(this.#between(from, other.tag.from)))
      return this.#refuse(other.tag);
    return stretches;
  }

  /** Returns the text [from, to) without the stretches of thinking in it. */
  #between(from: number, to: number): string {
    const inside = this.#stretches.filter((stretch) => stretch.from >= from && stretch.to <= to);
    const end = Math.min(to, this.#text.length);
    return without(this.#text.slice(0, end), [{ from: 0, to: from }, ...inside]);
  }

  /** Keeps the first fault: the place of a tag costs a pass over the text before it. */
  #refuse(tag: Tag): readonly Stretch[] {
    if (this.fault !== null) return this.#stretches;
    const message = `${this.#placeOf(tag)} leaves unclear whether the edits before it are thinking, which is never applied. Send the edits again without thinking. If the tag is text, put it in backticks.`;
    this.fault = { reason: { code: 'thinking_unclear', message }, open: false };
    return this.#stretches;
  }

  #placeOf({ from, to }: Tag): string {
    const line = this.#text.slice(0, from).split('\n').length;
    return `The tag ${this.#text.slice(from, Math.min(to, from + 40))} at line ${line} of the answer`;
  }

  readonly #lineAt = (offset: number): ResponseLine => {
    if (offset < this.#line.from || offset >= this.#line.next) {
      const end = this.#text.indexOf('\n', offset);
      this.#line = { from: offset, next: end < 0 ? this.#text.length : end + 1 };
    }
    const { next } = this.#line;
    const raw = this.#text.slice(offset, this.#text[next - 1] === '\n' ? next - 1 : next);
    const text = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    const isIndented = this.#indent !== '' && text.startsWith(this.#indent);
    return { from: offset, text: isIndented ? text.slice(this.#indent.length) : text, next };
  };

  /** Reads a line outside of the content of edits. Returns the offset of the next line, which may be behind a closing tag. */
  #readLine(from: number, { text, next }: ResponseLine): number {
    this.#takeFence(text);
    if (this.#isCut) return next;
    const first = from + this.#text.slice(from, next).search(/\S|$/);
    for (let offset = from; offset < next;) {
      const object = this.#endOfObject(offset, first, next);
      if (object !== null) {
        if (object >= next) return object;
        offset = object;
        continue;
      }
      const tag = this.#tags[this.#nextTag];
      if (tag === undefined || tag.from >= next) return next;
      this.#nextTag += 1;
      if (tag.isMention) {
        offset = tag.to;
        continue;
      }
      const isFirst = tag.from <= first;
      const end = tag.closes ? this.#close(tag, isFirst) : this.#open(tag, isFirst, next);
      this.#skipTo(end.offset);
      if (end.startsLine || end.offset > next) return end.offset;
      offset = end.offset;
    }
    return next;
  }

  #skipTo(offset: number): void {
    while ((this.#tags[this.#nextTag]?.from ?? Infinity) < offset) this.#nextTag += 1;
  }

  /** Returns the offset behind a JSON object that begins on this line before the next tag. Null: there is none. */
  #endOfObject(offset: number, first: number, next: number): number | null {
    if (!this.#content.readsJson) return null;
    const limit = Math.min(next, this.#tags[this.#nextTag]?.from ?? next);
    for (let from = offset; ;) {
      if (this.#nextBrace < from) {
        const brace = this.#text.indexOf('{', from);
        this.#nextBrace = brace < 0 ? Infinity : brace;
      }
      const brace = this.#nextBrace;
      if (brace >= limit) return null;
      OBJECT.lastIndex = brace;
      const isObject = OBJECT.test(this.#text);
      const end = isObject ? this.#content.endOfObject(brace, brace === first) : null;
      if (end !== null) {
        this.#skipTo(end);
        return end;
      }
      from = brace + 1;
    }
  }

  #takeFence(line: string): void {
    if (this.#fence === null) {
      this.#fence = openingFence(line);
      if (this.#indent === '') this.#indent = ' '.repeat(this.#fence?.indent ?? 0);
      return;
    }
    if (!closesFence(line, this.#fence)) return;
    for (const [name, doubtful] of this.#doubtful) {
      if (doubtful.fence !== this.#fence) continue;
      // The fence shows an example of a tag without closing it. Edits behind the tag in that fence would be drafts.
      if (name !== 'comment' && this.#content.count > doubtful.edits)
        this.#unclosed ??= doubtful.tag;
      this.#doubtful.delete(name);
    }
    this.#fence = null;
  }

  #open(tag: Tag, isFirst: boolean, next: number): Position {
    const closing = this.#closings.get(tag);
    const isOneLine = closing !== undefined && closing.from < next;
    if (isOneLine && tag.name === 'comment' && !this.#holdsObject(tag, closing))
      return { offset: closing.to, startsLine: false };
    if (isOneLine) return this.#add(tag.from, closing.to, isFirst);
    if (this.#isClear(tag, isFirst, closing)) return this.#enter(tag, closing);
    if (!this.#isInBrokenString(tag) && !this.#isInPatchComment(tag))
      this.#doubtful.set(tag.name, {
        tag,
        fence: this.#fence,
        edits: this.#content.count,
        isLikely: this.#isLikely(tag),
      });
    return { offset: tag.to, startsLine: false };
  }

  #holdsObject(opening: Tag, closing: Tag): boolean {
    return HOLDS_OBJECT.test(this.#text.slice(opening.to, closing.from));
  }

  /** Returns whether the tag begins thinking, whatever follows. */
  #isClear(tag: Tag, isFirst: boolean, closing: Tag | undefined): boolean {
    const isBehindSentence =
      closing !== undefined &&
      isLineStart(closing) &&
      SENTENCE_ENDS.includes(lastBefore(this.#text, tag));
    return (isFirst || isBehindSentence) && this.#fence === null && !this.#isInPatchComment(tag);
  }

  #isLikely(tag: Tag): boolean {
    return (
      tag.to >= tag.line.lastText ||
      `${SENTENCE_ENDS}${PHRASE_ENDS}`.includes(lastBefore(this.#text, tag)) ||
      !ENDS_OF_WORD.includes(this.#text[tag.to] ?? ' ')
    );
  }

  /** Passes over thinking of several lines. */
  #enter(tag: Tag, closing: Tag | undefined): Position {
    if (closing === undefined) {
      this.#unclosed = tag;
      return { offset: this.#text.length, startsLine: true };
    }
    if (this.#leavesLinesOfHunk(closing)) this.#refuse(closing);
    return this.#add(tag.from, closing.to, true);
  }

  /** Refuses content up to the offset with the closing tag of what is likely thinking: an unfinished edit in the thinking may hide it. */
  #refuseClosingWithin(end: number): void {
    if (this.#doubtful.size === 0) return;
    for (; (this.#tags[this.#nextTag]?.from ?? end) < end; this.#nextTag += 1) {
      const tag = this.#tags[this.#nextTag];
      if (tag === undefined || !tag.closes || tag.isMention) continue;
      const opening = this.#doubtful.get(tag.name);
      if (opening?.isLikely === true && endsText(this.#text, tag)) this.#refuse(tag);
    }
  }

  /**
   * Refuses an indented tag behind a hunk with the header of a hunk before its closing tag: the tag is prose, or a context line of a hunk
   * with wrong counts.
   */
  #refuseDraftBehindHunk({ text, next }: ResponseLine): void {
    const tag = this.#tags[this.#nextTag];
    if (!this.#content.isBehindHunk || !/^ {2,}</.test(text) || tag === undefined) return;
    const closing = this.#closings.get(tag);
    if (closing === undefined || closing.from < next || closing === this.#checked) return;
    if (!isLineStart(tag) || tag.from >= next) return;
    this.#checked = closing;
    if (/^@@/m.test(this.#text.slice(next, closing.from))) this.#refuse(closing);
  }

  /** Returns whether a diff continues behind the tag, so that the tag may be text of its hunk. */
  #leavesLinesOfHunk({ line }: Tag): boolean {
    return (
      this.#format === 'unified-diff' &&
      /^(?:\+(?!\+\+ )|-(?!-- |[- ]))/.test(this.#text.slice(line.to + 1, line.to + 6))
    );
  }

  #isInBrokenString({ from, line }: Tag): boolean {
    return this.#content.isInBrokenObject && this.#text.slice(line.firstText, from).includes('"');
  }

  /** Lines of a patch have a sign, so a tag without one is thinking. Only a comment may be a line of HTML that lost its sign. */
  #isInPatchComment({ name }: Tag): boolean {
    return name === 'comment' && this.#content.isInPatch;
  }

  #close(tag: Tag, isFirst: boolean): Position {
    const opening = this.#doubtful.get(tag.name);
    if (opening === undefined) return this.#closeAlone(tag, isFirst);
    const isEnd =
      isFirst ||
      tag.to >= tag.line.lastText ||
      (opening.isLikely && SENTENCE_ENDS.includes(lastBefore(this.#text, tag)));
    const isUnclear =
      !isEnd && this.fault === null && holdsEdit(this.#text.slice(opening.tag.to, tag.from));
    if (isUnclear) this.#refuse(tag);
    this.#fence = opening.fence;
    return this.#add(opening.tag.from, tag.to, true);
  }

  #closeAlone(tag: Tag, isFirst: boolean): Position {
    if (tag.name === 'comment') return { offset: tag.to, startsLine: false };
    const isClear =
      (isFirst || endsText(this.#text, tag)) && this.#fence === null && !this.#content.isUnsure;
    if (isClear) this.#content.forgetObjects();
    const to = isClear ? behindBlanks(this.#text, tag.to) : tag.to;
    this.#lone.push({ tag, to, isClear, stretches: this.#stretches.length });
    return { offset: to, startsLine: isFirst && isClear };
  }

  /** Adds thinking. If another line of the answer begins behind it, that one has no blanks at its start. */
  #add(from: number, end: number, startsLine: boolean): Position {
    const to = startsLine ? behindBlanks(this.#text, end) : end;
    this.#stretches.push({ from, to });
    this.#content.forgetObjects();
    this.#doubtful.clear();
    while ((this.#lone.at(-1)?.tag.from ?? -1) >= from) this.#lone.pop();
    return { offset: to, startsLine };
  }
}

const behindBlanks = (text: string, offset: number): number => {
  let end = offset;
  while (text[end] === ' ' || text[end] === '\t') end += 1;
  return end;
};

/** Returns the last character before the tag on its line that is not blank. */
const lastBefore = (text: string, { from, line }: Tag): string =>
  text.slice(line.firstText, from).trimEnd().at(-1) ?? '.';

/** Returns whether the closing tag is first on its line, or follows a sentence that ends the line. */
const endsText = (text: string, tag: Tag): boolean =>
  isLineStart(tag) ||
  (tag.to >= tag.line.lastText && SENTENCE_ENDS.includes(lastBefore(text, tag)));

/** Maps each opening tag to its closing tag. */
const closingTags = (tags: readonly Tag[]): ReadonlyMap<Tag, Tag> => {
  const closings = new Map<Tag, Tag>();
  const open = new Map<Tag['name'], Tag[]>();
  for (const tag of tags) {
    const stack = open.get(tag.name) ?? [];
    open.set(tag.name, stack);
    if (!tag.closes) stack.push(tag);
    else closeLast(stack, tag, closings);
  }
  return closings;
};

/**
 * Takes from the stack what the closing tag closes: the last opening one, and those before it up to one that it does not belong to. An
 * opening tag is nested in another if it is alone on its line or closes on it; any other may be a mention. A comment has no others inside.
 */
const closeLast = (stack: Tag[], closing: Tag, closings: Map<Tag, Tag>): void => {
  for (let tag = stack.pop(); tag !== undefined; tag = stack.pop()) {
    closings.set(tag, closing);
    const isNested = closing.from < tag.line.to || isAlone(tag);
    if (tag.name !== 'comment' && isNested) return;
  }
};
