/**
 * The blocks of one file, one after the other: each is located in the text as the blocks before left it, and changes that text.
 * Lines that FIND and REPLACE have in common keep their base line.
 */
import { type Text, indexOf, type LineIndex, NO_LINES } from '../../text/lines.js';
import type { Tolerance, ToleranceSettings } from '../../../shared/formats.js';
import { carryLines, isKnownBase, levelBetween, levelsOn, toleranceOn } from '../../locate/likeness.js';
import type { Change } from '../../text/changes.js';
import { lineOrigins } from '../../text/line-diff.js';
import { LineChain, type Places, type WantedLine } from '../../locate/line-chain.js';
import { describeNearest, nearest } from '../../locate/nearest.js';
import { composeElided, placeElided, splitElided } from './elision.js';
import { shiftedPlaces } from '../../locate/indent.js';
import type { Block, BlockReading } from './parse.js';
import type { ApplyOptions } from '../../types.js';

export type BlockOutcome =
  /** `line`: 1-based line of the base, where known. */
  | { readonly kind: 'changed'; readonly tolerances: readonly Tolerance[]; readonly line?: number }
  | {
      readonly kind: 'skipped';
      readonly code: 'no_change' | 'already_present';
      readonly message: string;
      /** `find_absent`, where another block changes the file: see `BlockApplier.#present` and `#unmoved`. */
      readonly absent?: string;
    }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string };

const refused = (code: string, message: string): BlockOutcome => ({ kind: 'refused', code, message });
/** What a dialect calls the parts of a block, for messages. */
export interface BlockText {
  readonly find: string;
  /** The line between both parts. */
  readonly divider: string;
  /** How a block names a line of the file. */
  readonly hint: string;
}
export const FIND_TEXT: BlockText = { find: 'FIND', divider: 'REPLACE:', hint: 'FIND @LINE:' };

const NUMBER_IS_REPORTED =
  'Only a line number tells which is meant, and the file may have changed since it was shown. Add lines before or after until it stands in one place.';
const pattern = (lines: readonly string[]): WantedLine[] => lines.map((text) => ({ text }));

const keyOf = ({ find, replace }: BlockReading): string => JSON.stringify([find, replace]);

function* textsOf(blocks: readonly Block[]): Generator<string> {
  for (const block of blocks)
    for (const { find, replace } of block.readings) {
      yield* find;
      yield* replace;
    }
}

export class BlockApplier {
  readonly #base: LineIndex;
  readonly #chain: LineChain;
  readonly #tolerances: ToleranceSettings | undefined;
  /** The text is the one that the answer was made for. */
  readonly #known: boolean;
  readonly #words: BlockText;
  #exists: boolean;
  #changed = false;
  /** Blocks that changed something, to know one that is sent again. */
  readonly #made: BlockReading[] = [];
  readonly #madeKeys = new Set<string>();

  /** `text` null: the file does not exist yet. */
  constructor(
    text: Text | null,
    blocks: readonly Block[],
    { path, options }: { readonly path: string; readonly options: ApplyOptions },
    words: BlockText,
  ) {
    this.#base = text === null ? NO_LINES : indexOf(text);
    this.#chain = new LineChain(this.#base, () => textsOf(blocks));
    this.#tolerances = options.tolerances;
    this.#known = isKnownBase(path, options);
    this.#words = words;
    this.#exists = text !== null;
  }

  changes(): readonly Change[] {
    return this.#chain.changes();
  }

  apply(block: Block): BlockOutcome {
    const reading = this.#readingOf(block);
    if (reading === null)
      return refused(
        'marker_in_body',
        `A line \`${this.#words.divider}\` stands in it more than once, and it is not clear which one is the marker. Choose ${this.#words.find} and REPLACE so that no such line is in them.`,
      );
    const { find, replace } = reading;
    if (find.length === 0) return this.#create(replace);
    if (!this.#exists)
      return refused('target_absent', `The file does not exist. Leave ${this.#words.find} empty to create it.`);
    if (find.length === replace.length && find.every((line, i) => line === replace[i])) return this.#unmoved(find);
    const outcome = this.#locate(block, reading);
    if (outcome.kind === 'changed') this.#made.push(reading);
    return outcome;
  }

  /** A block that asks for nothing still says what the file holds: where that stands nowhere, the answer may be for another file. */
  #unmoved(find: readonly string[]): BlockOutcome {
    const same = `${this.#words.find} and REPLACE are the same`;
    const skipped = { kind: 'skipped', code: 'no_change', message: `${same}.` } as const;
    if (this.#known || this.#quotes(find)) return skipped;
    const remedy = `so that the answer may have been made for another state of it. Leave this block out if nothing is to change here, else send ${this.#words.find} as whole lines, exactly as the file has them.`;
    return { ...skipped, absent: `${same}, and ${this.#words.find} stands nowhere in the file, ${remedy}` };
  }

  /** Does FIND stand in the text, be it in several places, in other white space, or by a tolerance? */
  #quotes(find: readonly string[]): boolean {
    const likenesses = [...levelsOn(this.#tolerances), 'white_space'] as const;
    if (likenesses.some((likeness) => this.#chain.find(pattern(find), likeness).first.length > 0)) return true;
    const parts = toleranceOn('elision', this.#tolerances) ? splitElided(find) : null;
    return parts !== null && placeElided(this.#texts(), parts) !== 'none';
  }

  #texts(): string[] {
    return [...this.#chain].map((node) => this.#chain.textOf(node));
  }

  /** Of several readings the one whose FIND stands in exactly one place, when no other does. */
  #readingOf(block: Block): BlockReading | null {
    const { readings } = block;
    if (readings.length === 1) return readings[0] ?? null;
    const fitting = readings.filter(
      ({ find }) => find.length > 0 && this.#chain.find(pattern(find), 'exact').first.length > 0,
    );
    return fitting.length === 1 ? (fitting[0] ?? null) : null;
  }

  /** Few answers send a block twice: keys are made when one asks. */
  #hasMade(reading: BlockReading): boolean {
    for (const made of this.#made.splice(0)) this.#madeKeys.add(keyOf(made));
    return this.#madeKeys.has(keyOf(reading));
  }

  #create(lines: readonly string[]): BlockOutcome {
    // Also where both are empty: a model that copies an empty form has not said that nothing is to be done.
    if (this.#exists)
      return refused(
        'file_exists',
        `${this.#words.find} is empty, which creates a file, but the file exists. Put lines of the file into ${this.#words.find}.`,
      );
    this.#exists = true;
    this.#changed = true;
    this.#chain.replace([], lines);
    return { kind: 'changed', tolerances: [] };
  }

  #locate(block: Block, { find, replace }: BlockReading): BlockOutcome {
    const wanted = pattern(find);
    for (const level of levelsOn(this.#tolerances)) {
      const places = this.#chain.find(wanted, level);
      if (places.first.length === 0) continue;
      const one = places.first.length === 1 && !places.more;
      const first = one ? places.first[0] : level === 'exact' ? this.#hinted(places, block.hint) : undefined;
      if (first === undefined) return refused('find_repeated', this.#repeated(places));
      const byNumber = !one && !this.#known;
      if (byNumber && !toleranceOn('unchecked_lines', this.#tolerances))
        return refused('find_repeated', this.#repeated(places, NUMBER_IS_REPORTED));
      return this.#change(first, find, replace, byNumber ? { tolerances: ['unchecked_lines'] } : {});
    }
    const loose = this.#indented(find, replace) ?? this.#elided(find, replace);
    if (loose !== null) return loose;
    const present = this.#present(wanted, { find, replace });
    if (present === null) return refused('find_absent', this.#absent(find, block.hint));
    const message = `${this.#words.find} stands nowhere, and REPLACE is there already.`;
    const unsure = present === 'made' || this.#known ? {} : { absent: this.#unsure() };
    return { kind: 'skipped', code: 'already_present', message, ...unsure };
  }

  #hinted(places: Places, hint: number | undefined): number | undefined {
    // Lines are counted from 1: 0 names no line, least of all one that an earlier block made and that has no number.
    if (hint === undefined || hint < 1) return undefined;
    return places.first.find((node) => this.#chain.originOf(node) === hint - 1);
  }

  #change(
    first: number,
    find: readonly string[],
    replace: readonly string[],
    needed: { readonly tolerances?: readonly Tolerance[]; readonly kept?: ArrayLike<number> } = {},
  ): BlockOutcome {
    const nodes = this.#chain.run(first, find.length);
    const tolerances = new Set<Tolerance>(needed.tolerances);
    for (const [i, node] of nodes.entries()) {
      const level = levelBetween(find[i] ?? '', this.#chain.textOf(node)) ?? 'exact';
      if (level !== 'exact') tolerances.add(level);
      const origin = this.#chain.originOf(node);
      if (origin < 0 || (i > 0 && origin !== this.#chain.originOf(first) + i)) tolerances.add('earlier_block');
    }
    if (tolerances.has('earlier_block') && !toleranceOn('earlier_block', this.#tolerances)) return this.#joinBlocks();
    const kept = needed.kept ?? lineOrigins(find, replace);
    const texts = nodes.map((node) => this.#chain.textOf(node));
    // In another indentation nothing is shared at the start of a line; new lines were shifted as a whole.
    const made = needed.kept === undefined ? carryLines(find, texts, replace, kept) : replace;
    this.#chain.replace(
      nodes,
      replace.map((text, j) => nodes[kept[j] ?? -1] ?? made[j] ?? text),
    );
    this.#changed = true;
    const line = this.#chain.originOf(first) + 1;
    return { kind: 'changed', tolerances: [...tolerances], ...(line > 0 ? { line } : {}) };
  }

  /** The tolerance `indent`; null: it is off, or FIND stands nowhere in another indentation. */
  #indented(find: readonly string[], replace: readonly string[]): BlockOutcome | null {
    if (!toleranceOn('indent', this.#tolerances)) return null;
    const found = shiftedPlaces(this.#chain, find);
    const [place] = found.places;
    if (place === undefined) return null;
    if (found.places.length > 1 || found.more)
      return refused('find_repeated', this.#repeated({ first: found.places.map((p) => p.first), more: found.more }));
    const kept = lineOrigins(find, replace);
    const shifted = replace.map((line, j) => ((kept[j] ?? -1) >= 0 ? line : place.shift(line)));
    if (shifted.includes(null))
      return refused(
        'indent',
        `${this.#words.find} stands in the file in another indentation, and a new line of REPLACE does not have the indentation that goes. Send both as the file is indented.`,
      );
    return this.#change(
      place.first,
      find,
      replace.map((line, j) => shifted[j] ?? line),
      { tolerances: ['indent'], kept },
    );
  }

  /** The tolerance `elision`; null: it is off, or FIND has no line that stands for others, or its parts stand nowhere. */
  #elided(find: readonly string[], replace: readonly string[]): BlockOutcome | null {
    const parts = toleranceOn('elision', this.#tolerances) ? splitElided(find) : null;
    if (parts === null) return null;
    const nodes = [...this.#chain];
    const place = placeElided(
      nodes.map((node) => this.#chain.textOf(node)),
      parts,
    );
    if (place === 'none') return null;
    if (place === 'several')
      return refused(
        'find_repeated',
        `The two parts of ${this.#words.find} round the line that stands for others fit in several places. Send ${this.#words.find} without leaving lines out.`,
      );
    const stretch = nodes.slice(place.head, place.tail + parts.tail.length);
    const made = composeElided(parts, stretch, replace);
    if (made === null) return refused('elision', 'REPLACE leaves lines out in several places. Send all of its lines.');
    const earlier = stretch.some((node) => this.#chain.originOf(node) < 0);
    if (earlier && !toleranceOn('earlier_block', this.#tolerances)) return this.#joinBlocks();
    this.#chain.replace(stretch, made);
    this.#changed = true;
    const line = this.#chain.originOf(stretch[0] ?? 0) + 1;
    const tolerances: Tolerance[] = ['elision', ...(earlier ? (['earlier_block'] as const) : [])];
    return { kind: 'changed', tolerances, ...(line > 0 ? { line } : {}) };
  }

  #joinBlocks(): BlockOutcome {
    return refused(
      'earlier_block',
      `${this.#words.find} needs text that an earlier block made. Write ${this.#words.find} from the file as it was shown, and join the two blocks.`,
    );
  }

  /**
   * Is REPLACE there once: lines of the base, or what the same block made before? What another block made is no sign that this one is done.
   * Lines of a base that is not known are one only where the whole answer is done: they may have stood there all along, and somebody
   * else may have taken away what FIND quotes.
   */
  #present(find: readonly WantedLine[], reading: BlockReading): 'base' | 'made' | null {
    const { replace } = reading;
    if (replace.length === 0 || this.#chain.find(find, 'white_space').first.length > 0) return null;
    const [first, ...more] = this.#chain.find(pattern(replace), 'exact').first;
    if (first === undefined || more.length > 0) return null;
    if (this.#hasMade(reading)) return 'made';
    const nodes = this.#chain.run(first, replace.length);
    return nodes.every((node) => this.#chain.originOf(node) >= 0) ? 'base' : null;
  }

  #unsure(): string {
    return `${this.#words.find} stands nowhere in the file. REPLACE does, but other blocks were not done yet, so that it may have stood there before. Leave this block out if it is done, else send ${this.#words.find} as whole lines, exactly as the file has them.`;
  }

  #repeated(places: Places, remedy?: string): string {
    const lines = places.first.map((node) => this.#chain.originOf(node) + 1);
    const base = lines.filter((line) => line > 0).join(', ');
    const made = lines.includes(0) ? `${base === '' ? '' : ', and '}in text that an earlier block made` : '';
    const addOrHint = `Add lines before or after until it stands in one place, or say which with \`${this.#words.hint}\`.`;
    return `${this.#words.find} stands in several places: ${base === '' ? '' : `at lines ${base}`}${made}${places.more ? ' and more' : ''}. ${remedy ?? addOrHint}`;
  }

  #absent(find: readonly string[], hint: number | undefined): string {
    const lines = this.#changed ? this.#texts() : this.#base.all;
    const numbers = this.#changed ? ' (Lines are counted as the blocks before left the file.)' : '';
    return `${this.#words.find} stands nowhere in the file. ${describeNearest(nearest(lines, find, hint))}${numbers} Send ${this.#words.find} as whole lines, exactly as the file has them.`;
  }
}
