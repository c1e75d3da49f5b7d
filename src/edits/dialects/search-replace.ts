/**
 * search-replace: blocks that quote lines of a file and say what takes their place.
 *
 *   response = *( prose / fence / block )
 *   block    = [ "FILE: " path NL ] "FIND" [ " " [ "@" ] line ] ":" NL *( text NL ) "REPLACE:" NL *( text NL ) "END" [ " " nonce ] NL
 *
 * A block without path is of the file that was named last: by FILE, or by a line in Markdown formatting or a fence's info string
 * (`namedPath`), by a heading or the line before the block where they do no more (`fileBefore`; a sentence there about another file
 * refuses it). `a/` or `b/` before a path is passed over where only what follows is a file.
 *
 * FIND is whole lines and must stand in exactly one place of the text as the blocks before left it; a line number (of the file as it was
 * shown) decides between several, which is the tolerance unchecked_lines unless the file is known to be that one. An empty FIND creates
 * a file that does not exist, or fills an empty one. FIND equal to REPLACE is skipped; so is a block whose FIND occurs nowhere while REPLACE
 * is there once. If the file is not known to be the one that was shown and other blocks change it, both are refused if FIND occurs nowhere.
 *
 * Without nonces a line in a body that looks like a marker makes the block refused; with them only `REPLACE:` can be unclear, and then that
 * reading counts whose FIND occurs in the file, if only one does. Tolerances: earlier_block, unchecked_lines, line_endings, trailing_space,
 * lookalikes, tabs, listing_numbers, indent, elision, part_of_line, fenced_body. Edits, for the marker: blocks. Without any: `NO-CHANGE: reason` (marker.ts).
 */
import type { Dialect } from '../edit.js';
import { namedPath } from '../paths.js';
import type { Reading } from '../types.js';
import { BlockReader, rulesOf } from './blocks.js';

const READINGS_TRIED = 8; // bound: More `REPLACE:` lines than this in one body are not tried one by one.

const RULES = rulesOf({ quote: 'FIND', divider: 'REPLACE:', byNumber: 'FIND @LINE:' });
/** Of the other dialect of blocks: FIND and REPLACE of this one end the body. */
const MARKER = /^(?:[<-]{5,9} SEARCH|[>+]{5,9} REPLACE|:(?:start|end)_line:[ \t]*\d+)\s*$/;

export const searchReplace: Dialect = {
  rules: RULES,
  parse: (body, context) => new FindReader(body, context).read(),
};

const FILE = /^FILE:[ \t]+(\S.*)$/;
const FIND = /^FIND(?:[ \t]+@?(\d{1,9}))?:[ \t]*$/;
const REPLACE = /^REPLACE:[ \t]*$/;
const ANY_END = /^END(?:[ \t]+\S{1,64})?[ \t]*$/;

/**
 * With a nonce only `END <nonce>` ends a block, so that its body may hold any other line but `REPLACE:`. Without one the closing of a
 * fence shows that END was no line of the body, or the next block, or the marker (`whole`).
 */
class FindReader extends BlockReader {
  protected readonly opening = 'starts with `FILE: ` and a path';
  protected readonly rules = RULES;
  protected readonly marker = MARKER;
  readonly #nonce = this.context.options.nonce;
  readonly #whole = this.context.whole === true || this.#nonce !== undefined;
  /** It is known that the last block has ended. */
  #ended = this.#whole;
  /** A FILE line that no FIND has followed yet. */
  #hasOpenFile = false;
  /** The first line of prose behind a block of which that is not known. */
  #proseAt: number | null = null;

  protected override atEnd(): Reading | null {
    if (this.#hasOpenFile)
      return this.invalid(
        'open_block',
        `The answer ends after FILE: ${this.path ?? ''}, before its FIND.`,
        true,
      );
    const fault = super.atEnd();
    if (fault !== null || this.#proseAt === null) return fault;
    this.lineIndex = this.#proseAt;
    return this.#astray();
  }

  protected one(line: string): Reading | null {
    const isFence = this.outside.take(this.lineIndex, line);
    if (isFence && this.outside.fences.open === null) this.#ended = true;
    const find = FIND.exec(line);
    if (find) return this.#block(find[1]);
    const path = FILE.exec(line)?.[1]?.trimEnd();
    const isProse = line.trim() !== '' && !isFence;
    const fault = path === undefined ? this.#between(line, isProse) : this.#openFile(path);
    if (fault === null) this.lineIndex += 1;
    return fault;
  }

  /** Takes a FILE line. */
  #openFile(path: string): Reading | null {
    if (this.#hasOpenFile)
      return this.broken(
        'no_find',
        `Two FILE lines follow each other at line ${this.lineIndex + 1} of the answer. Put FIND, REPLACE and END after each.`,
      );
    this.path = namedPath(path, this.context.files) ?? path;
    this.#hasOpenFile = true;
    this.outside.belongs(this.lineIndex);
    return null;
  }

  /** Takes a line outside of all blocks. */
  #between(line: string, isProse: boolean): Reading | null {
    if (REPLACE.test(line) || ANY_END.test(line)) return this.#astray();
    if (this.#hasOpenFile)
      return isProse ? this.broken('no_find', `${this.lineWords()}, should be \`FIND:\`.`) : null;
    this.named(line);
    if (isProse && !this.#ended && this.blocks.length > 0) this.#proseAt ??= this.lineIndex;
    return null;
  }

  /** Reads FIND, REPLACE and END; the present line is FIND. */
  #block(number: string | undefined): Reading | null {
    const from = this.lineIndex + 1;
    const path = this.file(
      `The FIND at line ${from} of the answer has no \`FILE: \` line before it.`,
    );
    if (typeof path !== 'string') return path;
    const body = this.#body(from);
    if ('kind' in body) return body;
    const { dividers, end } = body;
    const [first, second = end] = dividers;
    if (first === undefined && this.#nonce !== undefined)
      return this.broken(
        'no_replace',
        `The block at line ${from} of the answer has no line \`REPLACE:\`.`,
      );
    // A block that was closed by a bare END would run on into the next one.
    const swallows = (): boolean => this.lines.slice(first, end).some((line) => ANY_END.test(line));
    const isUnclear = this.#nonce === undefined || dividers.length > READINGS_TRIED || swallows();
    if (dividers.length !== 1 && isUnclear) return this.#inBody(second);
    this.add({ path, line: number === undefined ? null : Number(number), from, dividers, end });
    this.#hasOpenFile = false;
    this.#ended = this.#whole;
    this.#proseAt = null;
    return null;
  }

  /** Returns the end of the body that begins at line `from`, and the lines that may divide it. */
  #body(from: number): { readonly dividers: readonly number[]; readonly end: number } | Reading {
    const ending = this.#nonce === undefined ? 'END' : `END ${this.#nonce}`;
    const dividers: number[] = [];
    let end = from;
    for (; end < this.lines.length && this.lines[end]?.trimEnd() !== ending; end += 1) {
      const line = this.lines[end] ?? '';
      if (REPLACE.test(line)) dividers.push(end);
      else if (this.#nonce === undefined && (FILE.test(line) || FIND.test(line)))
        return this.#inBody(end);
    }
    if (end < this.lines.length) return { dividers, end };
    const message = `The block at line ${from} of the answer is not closed: no line \`${ending}\` follows.`;
    return this.invalid('open_block', message, true);
  }

  #astray(): Reading {
    const message = `${this.lineWords()}, is outside every block.`;
    if (this.blocks.length === 0 || this.#nonce !== undefined)
      return this.broken('stray_line', message);
    return this.#ambiguous(`${message} The END before it may have been a line of the text.`);
  }
  #inBody(lineIndex: number): Reading {
    return this.#ambiguous(
      `${this.lineWords(lineIndex)}, is inside a block and looks like a marker.`,
    );
  }
  #ambiguous(what: string): Reading {
    const message = `${what} It is not clear where the block ends. Choose FIND and REPLACE without such lines, and close every block.`;
    return {
      kind: 'refused',
      reasons: [{ code: 'marker_in_body', index: this.blocks.length, message }],
    };
  }
}
