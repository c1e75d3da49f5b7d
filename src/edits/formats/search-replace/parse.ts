/** From an answer to its blocks, in the two grammars at the head of `index.ts`. Nothing here looks into a file. */
import { quoted } from '../../../shared/text.js';
import { namedPath } from '../../paths.js';
import { AnswerReader } from '../reader.js';
import type { Reading } from '../../types.js';

const READINGS_TRIED = 8; // bound: More `REPLACE:` lines than this in one body are not tried one by one.
const DIVIDERS = 100; // bound: Dividers of a block that are tried: each is a reading of its own, with its own copy of the lines.

/** One way to read a block's body; there are several where the line between its parts stands in it more than once. */
export type BlockReading = Readonly<Record<'find' | 'replace', readonly string[]>>;
export interface Block {
  /** 0-based number in the answer. */
  readonly index: number;
  readonly path: string;
  /** 1-based line of the file as it was shown; decides between several places. */
  readonly hint: number | undefined;
  readonly readings: readonly BlockReading[];
  /** 1-based line of the answer where the block begins. */
  readonly answerLine: number;
}
const HEADING = /^ {0,3}#{1,6}\s/;

/** What both grammars have in common. */
abstract class BlockReader extends AnswerReader {
  readonly blocks: Block[] = [];
  protected readonly whole = 'blocks';
  /** The file that was named last. */
  protected path: string | null = null;
  /** What the answer does not hold, where it holds no block. */
  protected abstract readonly none: string;

  get edits(): number {
    return this.blocks.length;
  }
  protected override atEnd(): Reading | null {
    const fault = super.atEnd();
    if (fault !== null || this.edits > 0) return fault;
    return this.invalid('no_edits', `The answer contains no block: no line ${this.none}.`);
  }

  /** Notes the path that a line outside of the blocks names: alone, or in a heading; null: it names none. */
  protected named(line: string): string | null {
    const named = namedPath(line, this.context.files);
    this.path = named ?? (HEADING.test(line) ? this.fileBy(line, this.path) : null) ?? this.path;
    return named;
  }
  /** The file of the block at the present line, or why that is not clear; `absent`: what to say where nothing names it. */
  protected file(absent: string): string | Reading {
    const path = this.fileBy(this.before, this.path);
    if (path !== null) return (this.path = path);
    const doubt = `It is not clear whether the block at line ${this.at + 1} of the answer is of ${this.path ?? ''}: the line before it is ${quoted(this.before, 120)}. Put its path alone on that line.`;
    return this.broken('find_without_file', this.path === null ? absent : doubt);
  }

  /** Adds the block that begins at the present line; its text is [from, end), divided at one of `dividers`. */
  protected add(
    said: Pick<Block, 'path' | 'hint'>,
    from: number,
    dividers: readonly number[],
    end: number,
  ): void {
    const { lines, blocks } = this;
    const readings = dividers.map((at) => ({
      find: lines.slice(from, at),
      replace: lines.slice(at + 1, end),
    }));
    // Named one by one: a spread makes each of many blocks several times as large.
    blocks.push({
      index: blocks.length,
      path: said.path,
      hint: said.hint,
      readings,
      answerLine: this.at + 1,
    });
    this.outside.belongs(this.at);
    this.at = end + 1;
  }
}

const FILE = /^FILE:[ \t]+(\S.*)$/;
const FIND = /^FIND(?:[ \t]+@?(\d{1,9}))?:[ \t]*$/;
const REPLACE = /^REPLACE:[ \t]*$/;
const ANY_END = /^END(?:[ \t]+\S{1,64})?[ \t]*$/;

/**
 * With a nonce only `END <nonce>` ends a block, so that its body may hold any other line but `REPLACE:`. Without one the closing of a
 * fence shows that END was no line of the body, or the next block, or the marker (`whole`).
 */
export class FindReader extends BlockReader {
  protected readonly none = 'starts with `FILE: ` and a path';
  readonly #nonce = this.context.options.nonce;
  readonly #whole = this.context.whole === true || this.#nonce !== undefined;
  /** It is known that the last block has ended. */
  #ended = this.#whole;
  /** A FILE line that no FIND has followed yet. */
  #waiting = false;
  /** The first line of prose behind a block of which that is not known. */
  #proseAt: number | null = null;

  protected override atEnd(): Reading | null {
    if (this.#waiting)
      return this.invalid(
        'open_block',
        `The answer ends after FILE: ${this.path ?? ''}, before its FIND.`,
        true,
      );
    const fault = super.atEnd();
    if (fault !== null || this.#proseAt === null) return fault;
    this.at = this.#proseAt;
    return this.#astray();
  }

  protected one(line: string): Reading | null {
    const isFence = this.outside.take(this.at, line);
    if (isFence && this.outside.fences.open === null) this.#ended = true;
    const find = FIND.exec(line);
    if (find) return this.#block(find[1]);
    const said = FILE.exec(line)?.[1]?.trimEnd();
    const isProse = line.trim() !== '' && !isFence;
    if (said !== undefined) {
      if (this.#waiting)
        return this.broken(
          'no_find',
          `Two FILE lines follow each other at line ${this.at + 1} of the answer. Put FIND, REPLACE and END after each.`,
        );
      this.path = namedPath(said, this.context.files) ?? said;
      this.#waiting = true;
      this.outside.belongs(this.at);
    } else if (REPLACE.test(line) || ANY_END.test(line)) return this.#astray();
    else if (isProse && this.#waiting)
      return this.broken('no_find', `${this.said()}, should be \`FIND:\`.`);
    else if (!this.#waiting) {
      this.named(line);
      if (isProse && !this.#ended && this.blocks.length > 0) this.#proseAt ??= this.at;
    }
    this.at += 1;
    return null;
  }

  /** FIND, REPLACE and END; the present line is FIND. */
  #block(hint: string | undefined): Reading | null {
    const from = this.at + 1;
    const path = this.file(
      `The FIND at line ${from} of the answer has no \`FILE: \` line before it.`,
    );
    if (typeof path !== 'string') return path;
    const ending = this.#nonce === undefined ? 'END' : `END ${this.#nonce}`;
    const dividers: number[] = [];
    let end = from;
    for (; end < this.lines.length && this.lines[end]?.trimEnd() !== ending; end += 1) {
      const line = this.lines[end] ?? '';
      if (REPLACE.test(line)) dividers.push(end);
      else if (this.#nonce === undefined && (FILE.test(line) || FIND.test(line)))
        return this.#inBody(end);
    }
    const block = `The block at line ${from} of the answer`;
    if (end === this.lines.length)
      return this.invalid(
        'open_block',
        `${block} is not closed: no line \`${ending}\` follows.`,
        true,
      );
    const [first, second = end] = dividers;
    if (first === undefined && this.#nonce !== undefined)
      return this.broken('no_replace', `${block} has no line \`REPLACE:\`.`);
    // A block that was closed by a bare END would run on into the next one.
    const swallows = (): boolean => this.lines.slice(first, end).some((line) => ANY_END.test(line));
    if (
      dividers.length !== 1 &&
      (this.#nonce === undefined || dividers.length > READINGS_TRIED || swallows())
    )
      return this.#inBody(second);
    this.add({ path, hint: hint === undefined ? hint : Number(hint) }, from, dividers, end);
    this.#waiting = false;
    this.#ended = this.#whole;
    this.#proseAt = null;
    return null;
  }

  #astray(): Reading {
    const message = `${this.said()}, is outside every block.`;
    if (this.blocks.length === 0 || this.#nonce !== undefined)
      return this.broken('stray_line', message);
    return this.#ambiguous(`${message} The END before it may have been a line of the text.`);
  }
  #inBody(at: number): Reading {
    return this.#ambiguous(`${this.said(at)}, is inside a block and looks like a marker.`);
  }
  #ambiguous(what: string): Reading {
    const message = `${what} It is not clear where the block ends. Choose FIND and REPLACE without such lines, and close every block.`;
    return {
      kind: 'refused',
      reasons: [{ code: 'marker_in_body', index: this.blocks.length, message }],
    };
  }
}

const OPEN = /^(?:<{5,9}|-{5,9}) SEARCH\s*$/;
const DIVIDER = /^={5,9}\s*$/;
const CLOSE = /^(?:>{5,9}|\+{5,9}) REPLACE\s*$/;
/** Lines that only stand outside of a block where something is wrong with one. */
const STRAY = /^(?:={5,9}|<{5,9}|>{5,9}|\+{5,9})\s*$/;
const LINE = /^:(start|end)_line:[ \t]*(\d{1,9})\s*$/;
const RULE = /^-{5,9}\s*$/;

export class SearchReader extends BlockReader {
  protected readonly none = 'is `<<<<<<< SEARCH`';
  protected override path =
    this.context.files.size === 1 ? ([...this.context.files.keys()][0] ?? null) : null;
  #prose = false;

  /** Lines that name a file are none. */
  protected override get hasProse(): boolean {
    return this.#prose;
  }

  protected one(line: string): Reading | null {
    const isFence = this.outside.take(this.at, line);
    if (STRAY.test(line) || CLOSE.test(line))
      return this.invalid(
        'stray_line',
        `Line ${this.at + 1} of the answer, ${line.trim()}, does not belong to an open block.`,
      );
    if (OPEN.test(line)) return this.#block();
    this.#prose = (this.named(line) === null && line.trim() !== '' && !isFence) || this.#prose;
    this.at += 1;
    return null;
  }

  #block(): Reading | null {
    let from = this.at + 1;
    const block = `The block at line ${from}`;
    const ends = (line = ''): boolean => CLOSE.test(line) || OPEN.test(line);
    let end = from;
    while (end < this.lines.length && !ends(this.lines[end])) end += 1;
    if (end === this.lines.length)
      return this.invalid('open_block', `${block} has no line \`>>>>>>> REPLACE\`.`, true);
    if (OPEN.test(this.lines[end] ?? ''))
      return this.invalid(
        'open_block',
        `${block} is not closed before the next one, at line ${end + 1}.`,
      );
    const path = this.file(
      `The line before the block at line ${from} does not name its file. Put its path there.`,
    );
    if (typeof path !== 'string') return path;
    // `:start_line:`, `:end_line:` and the rule after them, where they stand first in the block.
    let hint: number | undefined;
    const start = from;
    for (
      let match = LINE.exec(this.lines[from] ?? '');
      match !== null;
      match = LINE.exec(this.lines[from] ?? '')
    ) {
      if (match[1] === 'start') hint = Number(match[2]);
      from += 1;
    }
    if (from > start && RULE.test(this.lines[from] ?? '')) from += 1;
    const all = this.lines
      .slice(from, end)
      .flatMap((line, i) => (DIVIDER.test(line) ? [from + i] : []));
    // Where lines could divide it, those do that are as long as its first marker.
    const mark = '='.repeat(this.line().search(/ /));
    const same = all.filter((at) => this.lines[at]?.trimEnd() === mark);
    const dividers = same.length > 0 ? same : all;
    if (dividers.length === 0)
      return this.invalid('no_replace', `${block} has no line \`=======\`.`);
    if (dividers.length > DIVIDERS)
      return this.invalid(
        'stray_line',
        `${block} contains ${dividers.length} lines \`=======\`; it is not clear which one divides it.`,
      );
    this.add({ path, hint }, from, dividers, end);
    return null;
  }
}
