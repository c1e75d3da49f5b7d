/** From an answer to its blocks; grammar at the head of `search-replace.ts`. Nothing here looks into a file. */
import { quoted } from '../../../shared/text.js';
import { Outside } from '../../detect.js';
import { namedPath } from '../../paths.js';
import type { FormatContext, Reason } from '../../types.js';

const READINGS_TRIED = 8; // bound: More `REPLACE:` lines than this in one body are not tried one by one.

/** One way to read a block's body; there are several where a line `REPLACE:` stands in it more than once. */
export interface BlockReading {
  readonly find: readonly string[];
  readonly replace: readonly string[];
}
export interface Block {
  /** 0-based number in the answer. */
  readonly index: number;
  readonly path: string;
  /** 1-based line of the file as it was shown; decides between several places. */
  readonly hint?: number;
  readonly readings: readonly BlockReading[];
  /** 1-based line of the answer where FIND stands. */
  readonly answerLine: number;
}
export type ParsedBlocks =
  | { readonly kind: 'blocks'; readonly blocks: readonly Block[]; readonly notes: readonly Reason[] }
  | { readonly kind: 'invalid'; readonly open: boolean; readonly blocks: readonly Block[]; readonly reason: Reason }
  | { readonly kind: 'refused'; readonly blocks: readonly Block[]; readonly reason: Reason };

const FILE = /^FILE:[ \t]+(\S.*)$/;
const FIND = /^FIND(?:[ \t]+@?(\d{1,9}))?:[ \t]*$/;
const REPLACE = /^REPLACE:[ \t]*$/;
const ANY_END = /^END(?:[ \t]+\S{1,64})?[ \t]*$/;

/**
 * With a nonce only `END <nonce>` ends a block, so that its body may hold any other line but `REPLACE:`. Without one the closing of a
 * fence shows that END was no line of the body, or the next block, or the marker (`whole`).
 */
export const parseBlocks = (body: string, context: FormatContext): ParsedBlocks =>
  new BlockParser(body, context).parse();

class BlockParser {
  readonly #lines: readonly string[];
  readonly #nonce: string | undefined;
  readonly #blocks: Block[] = [];
  #at = 0;
  #path: string | null = null;
  /** A FILE line that no FIND has followed yet. */
  #waiting = false;
  readonly #outside = new Outside();
  readonly #context: FormatContext;
  readonly #whole: boolean;
  /** It is known that the last block has ended. */
  #ended: boolean;
  /** The first line of prose behind a block of which that is not known. */
  #proseAt: number | null = null;

  constructor(body: string, context: FormatContext) {
    this.#lines = body.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
    this.#context = context;
    this.#nonce = context.options.nonce;
    this.#whole = this.#ended = context.whole === true || this.#nonce !== undefined;
  }

  parse(): ParsedBlocks {
    while (this.#at < this.#lines.length) {
      const failure = this.#between(this.#lines[this.#at] ?? '');
      if (failure) return failure;
    }
    if (this.#waiting)
      return this.#invalid('open_block', `The answer ends after FILE: ${this.#path ?? ''}, before its FIND.`, true);
    const fault = this.#outside.fault(this.#blocks.length);
    if (fault) return { kind: 'invalid', blocks: this.#blocks, ...fault };
    if (this.#blocks.length === 0)
      return this.#invalid('no_edits', 'The answer holds no block: no line starts with `FILE: ` and a path.', false);
    if (this.#proseAt !== null) {
      this.#at = this.#proseAt;
      return this.#astray(this.#lines[this.#at] ?? '');
    }
    const notes = this.#outside.hasProse ? [{ code: 'prose', message: 'Text around the blocks was passed over.' }] : [];
    return { kind: 'blocks', blocks: this.#blocks, notes };
  }

  #between(line: string): ParsedBlocks | null {
    const { files } = this.#context;
    const isFence = this.#outside.take(this.#at, line);
    if (isFence && this.#outside.fences.open === null) this.#ended = true;
    const said = FILE.exec(line)?.[1]?.trimEnd();
    const path = said !== undefined && !files.has(said) ? (namedPath(said, files) ?? said) : said;
    const find = FIND.exec(line);
    if (find || path !== undefined) this.#outside.belongs(this.#at);
    if (find) return this.#block(find[1]);
    if (path !== undefined) {
      if (this.#waiting)
        return this.#invalid(
          'no_find',
          `Two FILE lines follow each other at line ${this.#at + 1} of the answer. Put FIND, REPLACE and END after each.`,
        );
      this.#path = path;
      this.#waiting = true;
    } else if (REPLACE.test(line) || ANY_END.test(line)) return this.#astray(line);
    else if (line.trim() !== '' && !isFence) {
      if (this.#waiting)
        return this.#invalid(
          'no_find',
          `Line ${this.#at + 1} of the answer, ${quoted(line, 120)}, should be \`FIND:\`.`,
        );
      this.#path = namedPath(line, files) ?? this.#path;
      if (!this.#ended && this.#blocks.length > 0) this.#proseAt ??= this.#at;
    } else if (!this.#waiting) this.#path = namedPath(line, files) ?? this.#path;
    this.#at++;
    return null;
  }

  #astray(line: string): ParsedBlocks {
    const message = `Line ${this.#at + 1} of the answer, ${quoted(line, 120)}, stands outside of every block.`;
    if (this.#blocks.length === 0 || this.#nonce !== undefined) return this.#invalid('stray_line', message);
    return this.#ambiguous(`${message} The END before it may have been a line of the text.`);
  }

  /** FIND, REPLACE and END; the present line is FIND. */
  #block(hint: string | undefined): ParsedBlocks | null {
    const path = this.#path;
    const from = this.#at + 1;
    if (path === null)
      return this.#invalid(
        'find_without_file',
        `The FIND at line ${from} of the answer has no \`FILE: \` line before it.`,
      );
    const splits: number[] = [];
    let end = from;
    for (; end < this.#lines.length; end++) {
      const line = this.#lines[end] ?? '';
      if (this.#isEnd(line)) break;
      if (REPLACE.test(line)) splits.push(end);
      else if (this.#nonce === undefined && (FILE.test(line) || FIND.test(line))) return this.#inBody(end);
    }
    if (end === this.#lines.length) return this.#notClosed(from);
    const failure = this.#checkSplits(splits, from, end);
    if (failure) return failure;
    this.#blocks.push({
      index: this.#blocks.length,
      path,
      ...(hint === undefined ? {} : { hint: Number(hint) }),
      readings: splits.map((at) => ({ find: this.#lines.slice(from, at), replace: this.#lines.slice(at + 1, end) })),
      answerLine: from,
    });
    this.#waiting = false;
    this.#ended = this.#whole;
    this.#proseAt = null;
    this.#at = end + 1;
    return null;
  }

  #isEnd(line: string): boolean {
    return line.trimEnd() === (this.#nonce === undefined ? 'END' : `END ${this.#nonce}`);
  }

  #checkSplits(splits: readonly number[], from: number, end: number): ParsedBlocks | null {
    if (splits.length === 1) return null;
    const first = splits[0];
    if (first === undefined) {
      if (this.#nonce === undefined) return this.#inBody(end);
      return this.#invalid('no_replace', `The block at line ${from} of the answer has no line \`REPLACE:\`.`);
    }
    // A block that was closed by a bare END would run on into the next one.
    const swallowed = this.#lines.slice(first, end).some((line) => ANY_END.test(line));
    if (this.#nonce === undefined || swallowed || splits.length > READINGS_TRIED) return this.#inBody(splits[1] ?? end);
    return null;
  }

  #inBody(at: number): ParsedBlocks {
    return this.#ambiguous(
      `Line ${at + 1} of the answer, ${quoted(this.#lines[at] ?? '', 120)}, stands inside a block and looks like a marker.`,
    );
  }
  #ambiguous(message: string): ParsedBlocks {
    const advice =
      'It is not clear where the block ends. Choose FIND and REPLACE so that no such line is in them, and close every block.';
    return {
      kind: 'refused',
      blocks: this.#blocks,
      reason: { code: 'marker_in_body', index: this.#blocks.length, message: `${message} ${advice}` },
    };
  }
  #notClosed(from: number): ParsedBlocks {
    const end = this.#nonce === undefined ? 'END' : `END ${this.#nonce}`;
    return this.#invalid(
      'open_block',
      `The block at line ${from} of the answer is not closed: no line \`${end}\` follows.`,
      true,
    );
  }

  /** `open`: by default whether this is the last line, which may be cut. */
  #invalid(code: string, message: string, open = this.#at >= this.#lines.length - 1): ParsedBlocks {
    return { kind: 'invalid', open, blocks: this.#blocks, reason: { code, index: this.#blocks.length, message } };
  }
}
