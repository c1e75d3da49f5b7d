/**
 * The blocks of one file, one after the other: each is located in the text as the blocks before left it, and changes that text.
 * Lines that FIND and REPLACE have in common keep their base line.
 */
import { type Text, indexOf, indexOfLines, type LineIndex, NO_LINES } from '../../text/lines.js';
import { withoutFence } from '../../text/fence.js';
import type { Tolerance, ToleranceSettings } from '../../../shared/formats.js';
import {
  carryLines,
  isKnownBase,
  levelBetween,
  levelsOn,
  toleranceOn,
} from '../../locate/likeness.js';
import type { Change } from '../../text/changes.js';
import { lineOrigins } from '../../text/line-diff.js';
import { LineChain, PLACES_KEPT, type Places } from '../../locate/line-chain.js';
import {
  isElided,
  placeElided,
  placesOf,
  placesOfPart,
  splitElided,
  withinLine,
} from '../../locate/elision.js';
import { shiftedPlaces } from '../../locate/indent.js';
import type { Block, BlockReading } from './parse.js';
import * as say from './reasons.js';
import type { ApplyOptions } from '../../types.js';

const PARTS_SOUGHT = 100; // bound: Blocks of a file that are looked for as a part of a line: each costs a pass over the file.

const keyOf = ({ find, replace }: BlockReading): string => JSON.stringify([find, replace]);

export class BlockApplier {
  readonly #path: string;
  readonly #base: LineIndex;
  readonly #chain: LineChain;
  readonly #tolerances: ToleranceSettings | undefined;
  /** The text is the one that the answer was made for. */
  readonly #known: boolean;
  readonly #words: say.BlockText;
  #exists: boolean;
  #changed = false;
  /** How often a part of a line was looked for. */
  #sought = 0;
  /** Blocks that changed something, to know one that is sent again. */
  readonly #made: BlockReading[] = [];
  readonly #madeKeys = new Set<string>();

  /** `text` null: the file does not exist yet. */
  constructor(
    text: Text | null,
    blocks: readonly Block[],
    { path, options }: { readonly path: string; readonly options: ApplyOptions },
    words: say.BlockText,
  ) {
    this.#path = path;
    this.#base = text === null ? NO_LINES : indexOf(text);
    this.#chain = new LineChain(this.#base, () => this.#textsOf(blocks));
    this.#tolerances = options.tolerances;
    this.#known = isKnownBase(path, options);
    this.#words = words;
    this.#exists = text !== null;
  }

  changes(): readonly Change[] {
    return this.#chain.changes();
  }

  apply(block: Block): say.BlockOutcome {
    const reading = this.#readingOf(block);
    if (reading === null) return say.refused('marker_in_body', say.unclearDivider(this.#words));
    const find = this.#quoteOf(reading);
    const body = indexOfLines(reading.replace);
    const plain = withoutFence(this.#path, body, this.#base, true);
    if ('code' in plain) return say.refused(plain.code, plain.message);
    const replace = plain.all;
    const stray = say.strayReason(this.#words, reading);
    if (stray !== null) return say.refused('marker_in_body', stray);
    if (find.length === 0) return this.#create(reading.replace);
    if (!this.#exists)
      return say.refused(
        'target_absent',
        `The file does not exist. Leave ${this.#words.find} empty to create it.`,
      );
    if (find.length === replace.length && find.every((line, i) => line === replace[i]))
      return this.#unmoved(find);
    const outcome = this.#locate(block, { find, replace });
    if (outcome.kind !== 'changed') return outcome;
    this.#made.push({ find, replace });
    const isPlain = plain === body && find === reading.find;
    return isPlain ? outcome : { ...outcome, tolerances: [...outcome.tolerances, 'fenced_body'] };
  }

  *#textsOf(blocks: readonly Block[]): Generator<string> {
    for (const { readings } of blocks)
      for (const reading of readings)
        yield* [...reading.find, ...this.#quoteOf(reading), ...reading.replace];
  }

  /** FIND without a fence round it; the same lines where it has none, or it is not clear whose it is. */
  #quoteOf({ find }: BlockReading): readonly string[] {
    const plain = withoutFence(this.#path, indexOfLines(find), this.#base, true);
    return 'code' in plain ? find : plain.all;
  }

  /** A block that asks for nothing still says what the file holds: where that stands nowhere, the answer may be for another file. */
  #unmoved(find: readonly string[]): say.BlockOutcome {
    const { find: name } = this.#words;
    const skipped = {
      kind: 'skipped',
      code: 'no_change',
      message: `${say.sameReason(name)}.`,
    } as const;
    return this.#known || this.#quotes(find)
      ? skipped
      : { ...skipped, absent: say.sameAndAbsent(name) };
  }

  /** Does FIND stand in the text, be it in several places, in other white space, or by a tolerance? */
  #quotes(find: readonly string[]): boolean {
    const likenesses = [...levelsOn(this.#tolerances), 'white_space'] as const;
    if (likenesses.some((likeness) => this.#chain.find(find, likeness).first.length > 0))
      return true;
    if (this.#parts(find).length > 0) return true;
    const parts = toleranceOn('elision', this.#tolerances) ? splitElided(find) : null;
    return parts !== null && placeElided(this.#texts(), parts) !== 'none';
  }

  #texts(): string[] {
    return [...this.#chain].map((node) => this.#chain.textOf(node));
  }

  /** Of several readings the one whose FIND stands in exactly one place, when no other does; before that, those that would write a marker go. */
  #readingOf({ readings }: Block): BlockReading | null {
    if (readings.length === 1) return readings[0] ?? null;
    const stands = readings.filter(
      ({ find }) => find.length > 0 && this.#chain.find(find, 'exact').first.length > 0,
    );
    const fitting =
      stands.length > 1
        ? stands.filter((reading) => say.strayReason(this.#words, reading) === null)
        : stands;
    return fitting.length === 1 ? (fitting[0] ?? null) : null;
  }

  /** Few answers send a block twice: keys are made when one asks. */
  #hasMade(reading: BlockReading): boolean {
    for (const made of this.#made.splice(0)) this.#madeKeys.add(keyOf(made));
    return this.#madeKeys.has(keyOf(reading));
  }

  #create(lines: readonly string[]): say.BlockOutcome {
    // Also where both are empty: a model that copies an empty form has not said that nothing is to be done.
    const isEmpty = this.#base.length === 0 && !this.#changed && lines.length > 0;
    if (this.#exists && !isEmpty) return say.refused('file_exists', say.fileExists(this.#words));
    this.#exists = true;
    this.#changed = true;
    this.#chain.replace([], lines);
    return { kind: 'changed', tolerances: [] };
  }

  #locate(block: Block, { find, replace }: BlockReading): say.BlockOutcome {
    for (const level of levelsOn(this.#tolerances)) {
      const places = this.#chain.find(find, level);
      if (places.first.length === 0) continue;
      const one = places.first.length === 1 && !places.more;
      const first = one
        ? places.first[0]
        : level === 'exact'
          ? this.#hinted(places, block.hint)
          : undefined;
      if (first === undefined) return this.#repeated(places);
      const byNumber = !one && !this.#known;
      if (byNumber && !toleranceOn('unchecked_lines', this.#tolerances))
        return this.#repeated(places, say.NUMBER_IS_REPORTED);
      return this.#change(
        first,
        find,
        replace,
        byNumber ? { tolerances: ['unchecked_lines'] } : {},
      );
    }
    const loose =
      this.#indented(find, replace) ?? this.#elided(find, replace) ?? this.#part(find, replace);
    if (loose !== null) return loose;
    const present = this.#present({ find, replace });
    if (present === null) return this.#absent(find, block.hint);
    const message = `${this.#words.find} does not occur, but REPLACE does.`;
    const unsure =
      present === 'made' || this.#known ? {} : { absent: say.presentUnsure(this.#words.find) };
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
  ): say.BlockOutcome {
    const nodes = this.#chain.run(first, find.length);
    const tolerances = new Set<Tolerance>(needed.tolerances);
    for (const [i, node] of nodes.entries()) {
      const level = levelBetween(find[i] ?? '', this.#chain.textOf(node)) ?? 'exact';
      if (level !== 'exact') tolerances.add(level);
      const origin = this.#chain.originOf(node);
      if (origin < 0 || (i > 0 && origin !== this.#chain.originOf(first) + i))
        tolerances.add('earlier_block');
    }
    if (tolerances.has('earlier_block') && !toleranceOn('earlier_block', this.#tolerances))
      return say.refused('earlier_block', say.onEarlier(this.#words));
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
  #indented(find: readonly string[], replace: readonly string[]): say.BlockOutcome | null {
    if (!toleranceOn('indent', this.#tolerances)) return null;
    const found = shiftedPlaces(this.#chain, find);
    const [place] = found.places;
    if (place === undefined) return null;
    if (found.places.length > 1 || found.more)
      return this.#repeated({ first: found.places.map((p) => p.first), more: found.more });
    const kept = lineOrigins(find, replace);
    const shifted = replace
      .map((line, j) => ((kept[j] ?? -1) >= 0 ? line : place.shift(line)))
      .filter((line) => line !== null);
    if (shifted.length < replace.length) return say.refused('indent', say.unshiftable(this.#words));
    return this.#change(place.first, find, shifted, { tolerances: ['indent'], kept });
  }

  /** The tolerance `elision`; null: it is off, or FIND has no line that stands for others, or its parts stand nowhere. */
  #elided(find: readonly string[], replace: readonly string[]): say.BlockOutcome | null {
    const parts = toleranceOn('elision', this.#tolerances) ? splitElided(find) : null;
    if (parts === null) return null;
    const place = placeElided(this.#texts(), parts);
    if (place === 'none') return null;
    if (place === 'several') return say.refused('find_repeated', say.elidedTwice(this.#words));
    if (replace.some(isElided))
      return say.refused('elision', 'REPLACE omits lines. Send all of its lines.');
    const nodes = [...this.#chain].slice(place.head, place.tail + parts.tail.length);
    const texts = nodes.map((node) => this.#chain.textOf(node));
    return this.#change(nodes[0] ?? 0, texts, replace, { tolerances: ['elision'] });
  }

  /** Nodes of the lines that hold a FIND of one line as a part, each as often as it does; none where the tolerance is off. */
  #parts([part = '', ...more]: readonly string[]): number[] {
    if (more.length > 0 || part.trim() === '' || !toleranceOn('part_of_line', this.#tolerances))
      return [];
    if ((!this.#changed && !this.#base.includes(part)) || this.#sought >= PARTS_SOUGHT) return [];
    this.#sought += 1;
    const places = placesOfPart(this.#texts(), part, PLACES_KEPT + 1);
    const nodes = places.length === 0 ? [] : [...this.#chain];
    return places.map((at) => nodes[at] ?? 0);
  }

  /** The tolerance `part_of_line`; null: it is off, or FIND is no part of a line, or what comes is not the same part of lines. */
  #part(find: readonly string[], replace: readonly string[]): say.BlockOutcome | null {
    // A block that is sent again has nothing to do with other lines that hold its FIND.
    const [node, ...others] = this.#hasMade({ find, replace }) ? [] : this.#parts(find);
    if (node === undefined) return null;
    const all = {
      first: [node, ...others].slice(0, PLACES_KEPT),
      more: others.length >= PLACES_KEPT,
    };
    if (others.length > 0) return this.#repeated(all, say.PART_STANDS_ONCE);
    const text = this.#chain.textOf(node);
    const lines = withinLine(text, find[0] ?? '', replace);
    return lines === null
      ? null
      : this.#change(node, [text], lines, { tolerances: ['part_of_line'] });
  }

  /**
   * Is REPLACE there once: lines of the base, or what the same block made before? What another block made is no sign that this one is done,
   * and neither are brackets alone, or lines that FIND has in a row as well.
   * Lines of a base that is not known are one only where the whole answer is done: they may have stood there all along, and somebody
   * else may have taken away what FIND quotes.
   */
  #present(reading: BlockReading): 'base' | 'made' | null {
    const { find, replace } = reading;
    if (replace.length === 0 || this.#chain.find(find, 'white_space').first.length > 0) return null;
    const [first, ...more] = this.#chain.find(replace, 'exact').first;
    if (first === undefined || more.length > 0) return null;
    if (this.#hasMade(reading)) return 'made';
    if (!/[\p{L}\p{N}]/u.test(replace.join()) || placesOf(find, replace).length > 0) return null;
    const nodes = this.#chain.run(first, replace.length);
    return nodes.every((node) => this.#chain.originOf(node) >= 0) ? 'base' : null;
  }

  #repeated({ first, more }: Places, remedy?: string): say.BlockOutcome {
    const origins = first.map((node) => this.#chain.originOf(node));
    return say.repeated(this.#words, origins, more, remedy);
  }

  #absent(lines: readonly string[], hint: number | undefined): say.BlockOutcome {
    const sought = { lines, hint, changed: this.#changed };
    return say.absent(this.#words, this.#changed ? this.#texts() : this.#base.all, sought);
  }
}
