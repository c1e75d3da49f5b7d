/** Finds quoted lines in a text that the edits before have changed: the passes of the locator (locate.ts) for blocks. */
import type { ToleranceSettings } from '../../shared/formats.js';
import type { LinesEdit } from '../edit.js';
import { type LinePlace, mayUse, type PassName, type SearchedText } from '../locate.js';
import type { Change } from '../text/changes.js';
import { lineOrigins } from '../text/line-diff.js';
import type { LineIndex } from '../text/lines.js';
import type { Fault } from '../types.js';
import { isElided, placeElided, placesOfPart, splitElided, withinLine } from './elision.js';
import { shiftedPlaces, type ShiftName } from './indent.js';
import { type Level, LEVELS } from './likeness.js';
import { LineChain, PLACES_KEPT, type Places } from './line-chain.js';
import * as say from './refusals.js';

const PARTS_SOUGHT = 100; // bound: Blocks of a file that are looked for as a part of a line: each costs a pass over the file.

type Found = LinePlace | Fault | null;

export class BlockText implements SearchedText<LinesEdit, LinePlace> {
  readonly settings: ToleranceSettings | undefined;
  /** The text is the one that the response was written for. */
  readonly isKnown: boolean;
  readonly chain: LineChain;
  isChanged = false;
  readonly #base: LineIndex;
  /** Was the same edit made before? */
  readonly #isRepeat: (edit: LinesEdit) => boolean;
  #partSearches = 0;

  /** `quotes` must yield every line that will be looked for. */
  constructor(
    base: LineIndex,
    {
      settings,
      isKnown,
      quotes,
      isRepeat,
    }: {
      readonly settings: ToleranceSettings | undefined;
      readonly isKnown: boolean;
      readonly quotes: () => Iterable<string>;
      readonly isRepeat: (edit: LinesEdit) => boolean;
    },
  ) {
    this.#base = base;
    this.settings = settings;
    this.isKnown = isKnown;
    this.chain = new LineChain(base, quotes);
    this.#isRepeat = isRepeat;
  }

  find(pass: PassName, edit: LinesEdit): Found {
    switch (pass) {
      case 'exact':
      case 'line_endings':
      case 'trailing_space':
      case 'lookalikes':
        return this.#alike(edit, pass);
      case 'tabs':
      case 'indent':
        return this.#indented(edit, pass);
      case 'elision':
        return this.#elided(edit);
      case 'part_of_line':
        return this.#withinLine(edit);
      default:
        return null;
    }
  }

  /** The present lines. */
  get lines(): readonly string[] {
    return this.isChanged ? this.textsOf([...this.chain]) : this.#base.all;
  }
  textsOf(nodes: readonly number[]): string[] {
    return nodes.map((node) => this.chain.textOf(node));
  }
  changes(): readonly Change[] {
    return this.chain.changes();
  }

  /** Do the quoted lines stand in the text by any pass that is on, be it in several places? */
  holds(edit: LinesEdit): boolean {
    const { before } = edit;
    const levels = LEVELS.filter(
      (level) => level === 'exact' || mayUse(edit, level, this.settings),
    );
    const isThere = levels.some((level) => this.chain.find(before, level).first.length > 0);
    if (isThere) return true;
    if (mayUse(edit, 'part_of_line', this.settings) && this.#nodesOfPart(edit).length > 0)
      return true;
    const parts = mayUse(edit, 'elision', this.settings) ? splitElided(before) : null;
    return parts !== null && placeElided(this.lines, parts) !== 'none';
  }

  /** Refuses quoted lines that stand nowhere. */
  absent(edit: LinesEdit): Fault {
    return say.absentLines(say.blockWordsOf(edit), edit, this.lines, this.isChanged);
  }

  #alike(edit: LinesEdit, level: Level): Found {
    const { before, after, hint } = edit;
    const places = this.chain.find(before, level);
    if (places.first.length === 0) return null;
    const isOne = places.first.length === 1 && !places.more;
    const byNumber = level === 'exact' ? this.#atLine(places, hint.line) : undefined;
    const first = isOne ? places.first[0] : byNumber;
    if (first === undefined) return this.#repeated(edit, places);
    const isUnchecked = !isOne && !this.isKnown;
    if (isUnchecked && !mayUse(edit, 'unchecked_lines', this.settings))
      return this.#repeated(edit, places, say.NUMBER_IS_REPORTED);
    const tolerances = isUnchecked ? (['unchecked_lines'] as const) : [];
    return { first, before, after, tolerances, kept: null };
  }

  /** Returns the place at the stated line. Lines are counted from 1: 0 names no line, least of all one that an earlier edit wrote. */
  #atLine({ first }: Places, line: number | null): number | undefined {
    if (line === null || line < 1) return undefined;
    return first.find((node) => this.chain.originOf(node) === line - 1);
  }

  #repeated(edit: LinesEdit, { first, more }: Places, remedy?: string): Fault {
    const origins = first.map((node) => this.chain.originOf(node));
    return say.repeatedLines(say.blockWordsOf(edit), origins, more, remedy);
  }

  /** New lines are shifted as a whole; the lines that both sides share are kept. */
  #indented(edit: LinesEdit, name: ShiftName): Found {
    const { before, after } = edit;
    const { places, more } = shiftedPlaces(this.chain, before, name);
    const [place] = places;
    if (place === undefined) return null;
    if (places.length > 1 || more)
      return this.#repeated(edit, { first: places.map(({ first }) => first), more });
    const kept = lineOrigins(before, after);
    const shifted = after.flatMap((line, i) =>
      (kept[i] ?? -1) >= 0 ? line : (place.shift(line) ?? []),
    );
    if (shifted.length < after.length) return say.unshiftable(say.blockWordsOf(edit));
    return { first: place.first, before, after: shifted, tolerances: [name], kept };
  }

  #elided(edit: LinesEdit): Found {
    const parts = splitElided(edit.before);
    if (parts === null) return null;
    const place = placeElided(this.lines, parts);
    if (place === 'none') return null;
    if (place === 'several') return say.elidedTwice(say.blockWordsOf(edit));
    if (edit.after.some(isElided)) return say.elidedAfter();
    const nodes = [...this.chain].slice(place.head, place.tail + parts.tail.length);
    const before = this.textsOf(nodes);
    const [first = 0] = nodes;
    return { first, before, after: edit.after, tolerances: ['elision'], kept: null };
  }

  #withinLine(edit: LinesEdit): Found {
    // An edit that is sent again has nothing to do with other lines that hold its quote.
    if (this.#isRepeat(edit)) return null;
    const [first, ...others] = this.#nodesOfPart(edit);
    if (first === undefined) return null;
    if (others.length > 0) {
      const nodes = [first, ...others].slice(0, PLACES_KEPT);
      const places = { first: nodes, more: others.length >= PLACES_KEPT };
      return this.#repeated(edit, places, say.PART_STANDS_ONCE);
    }
    const line = this.chain.textOf(first);
    const after = withinLine(line, edit.before[0] ?? '', edit.after);
    if (after === null) return null;
    return { first, before: [line], after, tolerances: ['part_of_line'], kept: null };
  }

  /** Returns the nodes of the lines that hold a quote of one line as a part, each as often as it does. */
  #nodesOfPart({ before: [part = '', ...more] }: LinesEdit): readonly number[] {
    if (more.length > 0 || part.trim() === '') return [];
    if ((!this.isChanged && !this.#base.includes(part)) || this.#partSearches >= PARTS_SOUGHT)
      return [];
    this.#partSearches += 1;
    const places = placesOfPart(this.lines, part, PLACES_KEPT + 1);
    const nodes = places.length === 0 ? [] : [...this.chain];
    return places.map((lineIndex) => nodes[lineIndex] ?? 0);
  }
}
