/**
 * search-blocks, a dialect that other tools taught models: the blocks of search-replace.ts with conflict markers (five to nine of each).
 *
 *   response = *( prose / fence / block )
 *   block    = [ path NL ] [ fence NL ] open NL [ ":start_line:" line NL [ ":end_line:" line NL ] [ "-------" NL ] ]
 *              *( text NL ) "=======" NL *( text NL ) close NL
 *   open     = "<<<<<<< SEARCH" / "------- SEARCH"          close = ">>>>>>> REPLACE" / "+++++++ REPLACE"
 *
 * The markers of other tools are read as well (`BLOCK_OPENING`), also with the path behind the opening one.
 *
 * A block without path is of the file that was named last, else of the only offered one. All else is as in search-replace.
 */
import { BLOCK_CLOSING, BLOCK_OPENING } from '../detect.js';
import type { Dialect } from '../edit.js';
import { namedPath } from '../paths.js';
import type { Reading } from '../types.js';
import { BlockReader, rulesOf } from './blocks.js';

const DIVIDERS = 100; // bound: Dividers of a block that are tried: each is a reading of its own, with its own copy of the lines.

const RULES = rulesOf({ quote: 'SEARCH', divider: '=======', byNumber: ':start_line:LINE' });
const MARKER =
  /^(?:[<=>+-]{7}|={5,9}|[<-]{5,9} SEARCH|[>+]{5,9} REPLACE|:(?:start|end)_line:[ \t]*\d*)\s*$/;

/** Roo Code teaches a backslash before a line of text that is like a marker. */
const ESCAPED = /^\\(?:<{5,9}|={5,9}|>{5,9}|-{5,9}|\+{5,9})(?:\s|$)|^\\:(?:start|end)_line:/;

export const searchBlocks: Dialect = {
  rules: RULES,
  parse: (body, context) => new SearchReader(body, context).read(),
};

const DIVIDER = /^={5,9}\s*$/;
/** Lines that only stand outside of a block where something is wrong with one. */
const STRAY = /^(?:={5,9}|<{5,9}|>{5,9}|\+{5,9})\s*$/;
/** A path behind the word of the first line. */
const BEHIND_MARK = /^<+ ?[A-Za-z]+>?[ \t]+(\S+)\s*$/;
const LINE = /^:(start|end)_line:[ \t]*(\d{1,9})\s*$/;
const RULE = /^-{5,9}\s*$/;

class SearchReader extends BlockReader {
  protected readonly opening = 'is `<<<<<<< SEARCH`';
  protected readonly rules = RULES;
  protected readonly marker = MARKER;
  protected override readonly escape = ESCAPED;
  protected override path =
    this.context.files.size === 1 ? ([...this.context.files.keys()][0] ?? null) : null;
  #prose = false;

  /** Lines that name a file are none. */
  protected override get hasProse(): boolean {
    return this.#prose;
  }

  protected one(line: string): Reading | null {
    const isFence = this.outside.take(this.lineIndex, line);
    if (STRAY.test(line) || BLOCK_CLOSING.test(line))
      return this.invalid(
        'stray_line',
        `Line ${this.lineIndex + 1} of the answer, ${line.trim()}, does not belong to an open block.`,
      );
    if (BLOCK_OPENING.test(line)) return this.#block();
    this.#prose = (this.named(line) === null && line.trim() !== '' && !isFence) || this.#prose;
    this.lineIndex += 1;
    return null;
  }

  #block(): Reading | null {
    let from = this.lineIndex + 1;
    const block = `The block at line ${from}`;
    const ends = (line = ''): boolean => BLOCK_CLOSING.test(line) || BLOCK_OPENING.test(line);
    let end = from;
    while (end < this.lines.length && !ends(this.lines[end])) end += 1;
    if (end === this.lines.length)
      return this.invalid('open_block', `${block} has no line \`>>>>>>> REPLACE\`.`, true);
    if (BLOCK_OPENING.test(this.lines[end] ?? ''))
      return this.invalid(
        'open_block',
        `${block} is not closed before the next one, at line ${end + 1}.`,
      );
    const path =
      namedPath(BEHIND_MARK.exec(this.line())?.[1] ?? '', this.context.files) ??
      this.file(
        `The line before the block at line ${from} does not name its file. Put its path there.`,
      );
    if (typeof path !== 'string') return path;
    const stated = this.#stated(from);
    from = stated.from;
    const dividers = this.#dividers(from, end);
    if (dividers.length === 0)
      return this.invalid('no_replace', `${block} has no line \`=======\`.`);
    if (dividers.length > DIVIDERS)
      return this.invalid(
        'stray_line',
        `${block} contains ${dividers.length} lines \`=======\`; it is not clear which one divides it.`,
      );
    this.add({ path, line: stated.line, from, dividers, end });
    return null;
  }

  /** Reads `:start_line:`, `:end_line:` and the rule after them, if they stand first in the block. */
  #stated(start: number): { readonly line: number | null; readonly from: number } {
    let line: number | null = null;
    let from = start;
    for (let match = this.#lineMark(from); match !== null; match = this.#lineMark(from)) {
      if (match[1] === 'start') line = Number(match[2]);
      from += 1;
    }
    if (from > start && RULE.test(this.lines[from] ?? '')) from += 1;
    return { line, from };
  }
  #lineMark(lineIndex: number): RegExpExecArray | null {
    return LINE.exec(this.lines[lineIndex] ?? '');
  }

  /** Returns the lines that may divide the block: those that are as long as its first marker, if there are any. */
  #dividers(from: number, end: number): readonly number[] {
    const all = this.lines
      .slice(from, end)
      .flatMap((line, i) => (DIVIDER.test(line) ? [from + i] : []));
    const mark = '='.repeat(/^[<-]*/.exec(this.line())?.[0].length ?? 0);
    const same = all.filter((lineIndex) => this.lines[lineIndex]?.trimEnd() === mark);
    return same.length > 0 ? same : all;
  }
}
