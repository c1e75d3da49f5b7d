/** What the two dialects of blocks have in common: search-replace.ts and search-blocks.ts. A block quotes lines and says what replaces them. */
import { quoted } from '../../shared/text.js';
import type { BlockWords, DialectRules, LinesEdit, LinesReading, ParsedResponse } from '../edit.js';
import { namedPath, withoutPrefix } from '../paths.js';
import type { Fault, Reading } from '../types.js';
import { AnswerReader, parsed, unread } from './reader.js';

const BLOCK_REFUSALS = 10; // bound: Refused blocks of one file that are reported; each costs a search for the nearest place.
const MARKER_CHARS = 100; // bound: Characters of a marker line that a refusal quotes.

const HEADING = /^ {0,3}#{1,6}\s/;
/** Files whose text may hold any marker: headings and rules, examples, changes. */
const HOLDS_MARKERS = /\.(?:md|mdx|markdown|rst|adoc|asciidoc|diff|patch)$/i;

export const rulesOf = (block: BlockWords): DialectRules => ({
  order: 'response',
  tolerances: new Set([
    'earlier_block',
    'unchecked_lines',
    'line_endings',
    'trailing_space',
    'lookalikes',
    'tabs',
    'listing_numbers',
    'indent',
    'elision',
    'part_of_line',
    'fenced_body',
  ]),
  mostRefusals: BLOCK_REFUSALS,
  lead: ({ hint }, path) =>
    `Block ${hint.index + 1} (${path}, line ${hint.responseLine ?? 0} of the answer): `,
  leadsPaths: false,
  whole: null,
  sections: null,
  block,
});

/** A block between its markers: its text is the lines [from, end), divided at one of `dividers`. */
export interface BlockBody {
  readonly path: string;
  /** 1-based line of the file that the block states; null: it states none. */
  readonly line: number | null;
  readonly from: number;
  readonly dividers: readonly number[];
  readonly end: number;
}

/** What a block quotes, and what replaces it. */
type Sides = readonly [before: readonly string[], after: readonly string[]];

export abstract class BlockReader extends AnswerReader {
  readonly blocks: LinesEdit[] = [];
  protected readonly whole = 'blocks';
  /** The file that was named last. */
  protected path: string | null = null;
  /** What the first line of a block looks like, for a response that has none. */
  protected abstract readonly opening: string;
  protected abstract readonly rules: DialectRules;
  /** A line that belongs to the markers of blocks: a new text may not hold it, since a block would have run on into the next one. */
  protected abstract readonly marker: RegExp;
  /** A line of text that looks like a marker and has a backslash before it, as some tools teach; null: no line is escaped. */
  protected readonly escape: RegExp | null = null;
  /** Paths as the response states them, each with the one that it means. */
  readonly #paths = new Map<string, string>();

  get edits(): number {
    return this.blocks.length;
  }

  read(): ParsedResponse {
    const fault = this.parse();
    const { blocks, notes } = this;
    return fault === null ? parsed(blocks, blocks.length, notes) : unread(fault, blocks.length);
  }

  protected override atEnd(): Reading | null {
    const fault = super.atEnd();
    if (fault !== null || this.edits > 0) return fault;
    return this.invalid('no_edits', `The answer contains no block: no line ${this.opening}.`);
  }

  /** Notes the path that a line outside of the blocks names: alone, or in a heading; null: it names none. */
  protected named(line: string): string | null {
    const named = namedPath(line, this.context.files);
    this.path = named ?? (HEADING.test(line) ? this.fileBy(line, this.path) : null) ?? this.path;
    return named;
  }

  /** Returns the file of the block at the present line, or why that is not clear; `absent`: the message if nothing names it. */
  protected file(absent: string): string | Reading {
    const path = this.fileBy(this.before, this.path);
    if (path !== null) return (this.path = path);
    const doubt = `It is not clear whether the block at line ${this.lineIndex + 1} of the answer is of ${this.path ?? ''}: the line before it is ${quoted(this.before, 120)}. Put its path alone on that line.`;
    return this.broken('find_without_file', this.path === null ? absent : doubt);
  }

  /** Adds the block that begins at the present line, and goes on behind it. */
  protected add({ path: stated, line, from, dividers, end }: BlockBody): void {
    const { lines, blocks } = this;
    const sides = dividers.map(
      (dividerLine) => [lines.slice(from, dividerLine), lines.slice(dividerLine + 1, end)] as const,
    );
    const path = this.#pathOf(stated, sides);
    const readings = sides
      .flatMap((pair) => this.#readingsOf(pair))
      .map(([before, after]) => this.#reading(path, before, after));
    const [first] = readings;
    if (first === undefined) throw new Error('a block without a divider');
    // Named one by one: a spread makes each of many blocks several times as large.
    blocks.push({
      kind: 'lines',
      path,
      before: first.before,
      after: first.after,
      hint: {
        index: blocks.length,
        responseLine: this.lineIndex + 1,
        section: null,
        rules: this.rules,
        line,
        refusal: first.refusal,
        readings: readings.length > 1 ? readings : null,
        hunk: null,
      },
    });
    this.outside.belongs(this.lineIndex);
    this.lineIndex = end + 1;
  }

  /** Returns the sides as they are, and without the escapes of markers where the quote has them. */
  #readingsOf([before, after]: Sides): readonly Sides[] {
    const { escape } = this;
    if (escape === null || !before.some((line) => escape.test(line))) return [[before, after]];
    const plain = (lines: readonly string[]): readonly string[] =>
      lines.map((line) => (escape.test(line) ? line.slice(1) : line));
    return [
      [before, after],
      [plain(before), plain(after)],
    ];
  }

  /** Passes over `a/` or `b/` before the path, unless the first block of this path creates the file. */
  #pathOf(stated: string, sides: readonly Sides[]): string {
    const creates = sides.every(([before]) => before.length === 0);
    const path =
      this.#paths.get(stated) ?? (creates ? stated : withoutPrefix(stated, this.context));
    this.#paths.set(stated, path);
    return path;
  }

  #reading(path: string, before: readonly string[], after: readonly string[]): LinesReading {
    return { before, after, refusal: this.#markerFault(path, before, after) };
  }

  /** Refuses a new line that is a marker which the quoted lines do not hold. */
  #markerFault(path: string, before: readonly string[], after: readonly string[]): Fault | null {
    const line = after.find((text) => this.marker.test(text) && !before.includes(text));
    if (line === undefined || HOLDS_MARKERS.test(path)) return null;
    const quote = this.rules.block?.quote ?? '';
    const message = `REPLACE contains the line ${quoted(line, MARKER_CHARS)}, which is a marker of a block. Send it without that line, and ${quote} and REPLACE of each change in a block of their own.`;
    return { code: 'marker_in_body', message };
  }
}
