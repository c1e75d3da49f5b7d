/** A file's lines while edits are located in it and change it: what the passes of the locator ask (locate.ts). */
import type { ToleranceSettings } from '../../shared/formats.js';
import type { Change } from '../text/changes.js';
import type { LineIndex } from '../text/lines.js';
import { placesOfPart } from './elision.js';
import type { Likeness } from './likeness.js';
import { LineChain, PLACES_KEPT, type Places } from './line-chain.js';

const PARTS_SOUGHT = 100; // bound: Blocks of a file that are looked for as a part of a line: each costs a pass over the file.

export class LineText {
  readonly base: LineIndex;
  readonly settings: ToleranceSettings | undefined;
  /** The text is the one that the response was written for. */
  readonly isKnown: boolean;
  readonly chain: LineChain;
  isChanged = false;
  #partSearches = 0;

  /** `quotes` must yield every line that will be looked for. */
  constructor(
    base: LineIndex,
    settings: ToleranceSettings | undefined,
    isKnown: boolean,
    quotes: () => Iterable<string>,
  ) {
    this.base = base;
    this.settings = settings;
    this.isKnown = isKnown;
    this.chain = new LineChain(base, quotes);
  }

  /** The present lines. */
  get lines(): readonly string[] {
    return this.isChanged ? this.textsOf([...this.chain]) : this.base.all;
  }
  find(lines: readonly string[], likeness: Likeness): Places {
    return this.chain.find(lines, likeness);
  }
  textsOf(nodes: readonly number[]): string[] {
    return nodes.map((node) => this.chain.textOf(node));
  }
  changes(): readonly Change[] {
    return this.chain.changes();
  }

  /** Returns the nodes of the lines that hold a part, each as often as it does. */
  nodesOfPart(part: string): readonly number[] {
    if ((!this.isChanged && !this.base.includes(part)) || this.#partSearches >= PARTS_SOUGHT)
      return [];
    this.#partSearches += 1;
    const places = placesOfPart(this.lines, part, PLACES_KEPT + 1);
    const nodes = places.length === 0 ? [] : [...this.chain];
    return places.map((at) => nodes[at] ?? 0);
  }
}
