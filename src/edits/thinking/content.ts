/**
 * Finds the end of the content of an edit, with as much of each format's grammar as that takes. The reader of the format decides whether
 * the content is right.
 */
import type { AnswerFormat } from '../../shared/formats.js';
import { readTagCall } from '../calls/tags.js';
import { BLOCK_CLOSING, BLOCK_OPENING, JSON_CANDIDATES } from '../detect.js';
import { closesFence, type Fence } from '../text/fence.js';
import { readJson } from '../text/json.js';

/** A line of a response without its end, and the offset where the next one begins. Behind thinking a line begins within its line of the response. */
export interface ResponseLine {
  readonly from: number;
  readonly text: string;
  readonly next: number;
}
export type ReadLine = (offset: number) => ResponseLine;

const HUNK = /^@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@(?: |$)/;
const BARE_HUNK = /^@@(?: |$)/;
const DIFF_HEADER = /^(?:diff -|Index: )/;

/** Follows the edits of one format (`null`: of all text formats and of JSON). */
export class EditContent {
  readonly #text: string;
  readonly #format: AnswerFormat | null;
  readonly #nonce: string | undefined;
  readonly #lineAt: ReadLine;
  /** Lines with a sign are content: those of a hunk of a diff, or of a patch. */
  #signed: 'hunk' | 'counted hunk' | 'patch' | null = null;
  #blankFollowed = false;
  /** Number of objects and calls that could not be read; each may cost a pass over the text. */
  #brokenObjects = 0;
  #lastObjectIsBroken = false;
  /** Number of edits that were passed so far, finished or not. */
  count = 0;

  constructor(
    text: string,
    format: AnswerFormat | null,
    nonce: string | undefined,
    lineAt: ReadLine,
  ) {
    this.#text = text;
    this.#format = format;
    this.#nonce = nonce;
    this.#lineAt = lineAt;
  }

  /** Returns whether a tag here may be content of an edit with mistakes: a hunk with wrong counts, or a patch. */
  get isUnsure(): boolean {
    return this.#signed === 'hunk' || this.#signed === 'patch';
  }
  /** Returns whether a hunk was complete and a blank line followed. An indented line here is prose, or a context line that the counts omit. */
  get isBehindHunk(): boolean {
    return this.#signed === 'counted hunk' && this.#blankFollowed;
  }
  get isInPatch(): boolean {
    return this.#signed === 'patch';
  }
  /** Returns whether the object before cannot be read. The rest of its lines may be its text. */
  get isInBrokenObject(): boolean {
    return this.#lastObjectIsBroken;
  }
  /** Forgets an object that could not be read, because it was part of the thinking that ends here. */
  forgetObjects(): void {
    this.#lastObjectIsBroken = false;
  }
  get readsJson(): boolean {
    return (
      this.#format === null ||
      this.#format === 'structured-edit' ||
      this.#format === 'string-replace'
    );
  }

  /** Returns the offset behind the content that begins with the line. Null: no content begins with it. */
  endFrom(line: ResponseLine, fence: Fence | null): number | null {
    const { text } = line;
    const signedEnd = this.#signed === null ? null : this.#endOfSigned(line, fence);
    if (signedEnd !== null) return signedEnd;
    const end =
      (this.#reads('whole-file') ? this.#file(line) : null) ??
      (this.#reads('search-replace') ? this.#findBlock(line) : null) ??
      (this.#reads('search-blocks') ? this.#searchBlock(line) : null) ??
      (this.#reads('xml-call') ? this.#call(line) : null) ??
      (this.#reads('unified-diff') ? this.#hunk(line, fence) : null);
    if (end !== null) {
      this.count += 1;
      return end;
    }
    if (this.#reads('begin-patch') && /^\*\*\* Begin Patch\s*$/.test(text)) {
      this.count += 1;
      this.#signed = 'patch';
      return line.next;
    }
    return null;
  }

  /** Returns the offset behind the JSON object, or the length of the text if the object does not end. Null: it cannot be read. */
  endOfObject(from: number, isLineStart: boolean): number | null {
    if (this.#brokenObjects >= JSON_CANDIDATES) return null;
    const read = readJson(this.#text, from);
    this.#lastObjectIsBroken = read.kind !== 'value';
    if (read.kind === 'value') {
      this.count += 1;
      return read.end;
    }
    this.#brokenObjects += 1;
    return read.kind === 'open' && isLineStart ? this.#text.length : null;
  }

  #reads(format: AnswerFormat): boolean {
    return this.#format === null || this.#format === format;
  }

  /** Returns the offset behind the line that ends the content, or the length of the text if no line does. */
  #upTo(from: number, ends: (text: string) => boolean): number {
    for (let offset = from; offset < this.#text.length;) {
      const { text, next } = this.#lineAt(offset);
      if (ends(text)) return next;
      offset = next;
    }
    return this.#text.length;
  }

  #file({ text, next }: ResponseLine): number | null {
    const path = /^FILE (\S.*)$/.exec(text)?.[1]?.trimEnd();
    if (path === undefined) return null;
    const last = path.slice(path.lastIndexOf(' ') + 1);
    if (this.#nonce !== undefined && last !== this.#nonce) return null;
    const end = `END FILE ${last}`;
    const isEnd =
      this.#nonce === undefined
        ? (line: string): boolean => line === 'END FILE' || (this.#format === null && line === end)
        : (line: string): boolean => line === end;
    return this.#upTo(next, (line) => line.startsWith('END FILE') && isEnd(line.trimEnd()));
  }

  #findBlock({ text, next }: ResponseLine): number | null {
    if (!/^FIND(?:[ \t]+@?\d{1,9})?:[ \t]*$/.test(text)) return null;
    const end = this.#nonce === undefined ? 'END' : `END ${this.#nonce}`;
    const isEnd = (line: string): boolean =>
      line === end || (this.#format === null && /^END(?: \S{1,64})?$/.test(line));
    return this.#upTo(next, (line) => line.startsWith('END') && isEnd(line.trimEnd()));
  }

  /** Returns the offset behind the line on which a call in tags ends. */
  #call({ text, from }: ResponseLine): number | null {
    if (!text.trimStart().startsWith('<') || this.#brokenObjects >= JSON_CANDIDATES) return null;
    const read = readTagCall(this.#text, from);
    if (read === null) return null;
    if (!('end' in read)) {
      this.#brokenObjects += 1;
      return null;
    }
    const end = this.#text.indexOf('\n', read.end);
    return end < 0 ? this.#text.length : end + 1;
  }

  #searchBlock({ text, next }: ResponseLine): number | null {
    if (!BLOCK_OPENING.test(text)) return null;
    return this.#upTo(next, (line) => BLOCK_CLOSING.test(line));
  }

  /** Reads a hunk header and as many lines as it states. If those lines run into something else, the signs of the lines decide. */
  #hunk({ text, next }: ResponseLine, fence: Fence | null): number | null {
    const stated = HUNK.exec(text);
    if (stated === null && !BARE_HUNK.test(text)) return null;
    this.#signed = 'hunk';
    const end = stated && this.#endByCounts(next, stated, fence);
    if (end === null) return next;
    this.#signed = 'counted hunk';
    this.#blankFollowed = false;
    return end;
  }

  #endByCounts(
    from: number,
    [, oldCount = '1', newCount = '1']: RegExpExecArray,
    fence: Fence | null,
  ): number | null {
    let [oldLeft, newLeft] = [Number(oldCount), Number(newCount)];
    let offset = from;
    while (oldLeft > 0 || newLeft > 0) {
      if (offset >= this.#text.length) return null;
      const { text, next } = this.#lineAt(offset);
      if (endsHunk(text, fence)) return null;
      offset = next;
      if (text.startsWith('\\')) continue;
      if (!text.startsWith('+')) oldLeft -= 1;
      if (!text.startsWith('-')) newLeft -= 1;
      if (oldLeft < 0 || newLeft < 0) return null;
    }
    return offset;
  }

  /** Returns the offset behind a line of a hunk or a patch. Null: the line is not one of them. */
  #endOfSigned({ text, next }: ResponseLine, fence: Fence | null): number | null {
    if (this.#signed === 'patch') {
      if (/^\*\*\* End Patch\s*$/.test(text)) this.#signed = null;
      return /^(?:[ +@-]|\*\*\* |\s*$)/.test(text) ? next : null;
    }
    this.#blankFollowed ||= text === '';
    if (!endsHunk(text, fence) && /^(?:[ +\\-]|\s*$)/.test(text)) return next;
    if (this.#signed === 'counted hunk' || (fence !== null && closesFence(text, fence)))
      this.#signed = null;
    return null;
  }
}

/** Returns whether the line begins something else, whatever the counts of a hunk state. */
const endsHunk = (text: string, fence: Fence | null): boolean =>
  HUNK.test(text) ||
  BARE_HUNK.test(text) ||
  DIFF_HEADER.test(text) ||
  (fence !== null && text.startsWith(fence.mark) && closesFence(text, fence));
