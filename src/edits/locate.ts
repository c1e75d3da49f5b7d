/**
 * Finding whole lines in a text, and changing the text while later searches go on.
 *
 * The text is a chain of nodes: base line i is node i, lines made by an edit get the numbers after. An index per tolerance holds
 * only the lines that the answer looks for, so one pass over the file serves every hunk or block of the answer, and a search
 * costs about as much as its rarest line occurs. Where lines repeat so much that this would grow quadratic, one linear pass
 * (Knuth-Morris-Pratt) takes its place.
 */
import { LEVEL_KEYS, type Likeness } from './locate-levels.js';

/** A line looked for. `other`: a second reading of it that is as good (a context line that may have lost its blank). */
export interface WantedLine {
  readonly text: string;
  readonly other?: string;
}

export interface Places {
  /** First node of each place, at most `PLACES_KEPT`, base lines in order. */
  readonly first: readonly number[];
  /** There are more places than are listed. */
  readonly more: boolean;
}

/** More places than this are not listed: the reader needs to know that there are many, not all of them. */
const PLACES_KEPT = 50;
/** Comparisons per line of text and pattern before a search changes to the linear pass. */
const STEPS_PER_LINE = 4;
const NONE = -1;

interface Index {
  readonly ids: Map<string, number>;
  /** Nodes by id; may hold nodes that are gone. */
  readonly nodes: number[][];
  /** Id by node, NONE where nobody looks for the line. */
  readonly idOf: number[];
}

export class LineChain {
  readonly #base: readonly string[];
  readonly #made: string[] = [];
  readonly #wanted: () => Iterable<string>;
  readonly #indexes = new Map<Likeness, Index>();
  readonly #gone = new Set<number>();
  // Only the links that differ from "the next base line": an untouched stretch costs nothing.
  readonly #next = new Map<number, number>();
  readonly #previous = new Map<number, number>();
  #head: number;

  /** `wanted` must yield every text that `find` will be asked for. */
  constructor(base: readonly string[], wanted: () => Iterable<string>) {
    this.#base = base;
    this.#wanted = wanted;
    this.#head = base.length > 0 ? 0 : NONE;
  }

  textOf(node: number): string {
    const text = node < this.#base.length ? this.#base[node] : this.#made[node - this.#base.length];
    if (text === undefined) throw new Error(`no line ${node}`);
    return text;
  }

  /** 0-based base line of a node, -1 for a made one. */
  originOf(node: number): number {
    return node < this.#base.length ? node : NONE;
  }

  /** The `count` nodes from `first` on; the caller knows that they exist. */
  run(first: number, count: number): number[] {
    const nodes: number[] = [];
    for (let node = first; nodes.length < count; node = this.#after(node)) nodes.push(node);
    return nodes;
  }

  /** All nodes in order. */
  *[Symbol.iterator](): Generator<number> {
    for (let node = this.#head; node !== NONE; node = this.#after(node)) yield node;
  }

  /** Puts `parts` (kept nodes of `old`, in their order, or new lines) in place of the adjacent nodes `old`. */
  replace(old: readonly number[], parts: readonly (number | string)[]): void {
    const before = old[0] === undefined ? NONE : this.#before(old[0]);
    const last = old.at(-1);
    const after = last === undefined ? this.#head : this.#after(last);
    const kept = new Set(parts.filter((part) => typeof part === 'number'));
    for (const node of old) if (!kept.has(node)) this.#gone.add(node);
    let left = before;
    for (const part of parts) {
      const node = typeof part === 'number' ? part : this.#make(part);
      this.#link(left, node);
      left = node;
    }
    this.#link(left, after);
  }

  /** Every place where the lines stand at this level of tolerance. An empty pattern stands nowhere. */
  find(pattern: readonly WantedLine[], level: Likeness): Places {
    const index = this.#indexFor(level);
    const ids = pattern.map((line) => this.#idFor(index, level, line.text));
    const others = pattern.map((line) => (line.other === undefined ? NONE : this.#idFor(index, level, line.other)));
    const occurrences = (i: number): number =>
      (index.nodes[ids[i] ?? NONE]?.length ?? 0) + (index.nodes[others[i] ?? NONE]?.length ?? 0);
    let anchor = 0;
    for (let i = 1; i < pattern.length; i++) if (occurrences(i) < occurrences(anchor)) anchor = i;
    let candidates: readonly number[] = index.nodes[ids[anchor] ?? NONE] ?? [];
    if (others[anchor] !== ids[anchor]) candidates = candidates.concat(index.nodes[others[anchor] ?? NONE] ?? []);
    return this.#verify(index, ids, others, anchor, candidates);
  }

  #verify(
    index: Index,
    ids: readonly number[],
    others: readonly number[],
    anchor: number,
    nodes: readonly number[],
  ): Places {
    const fits = (i: number, node: number): boolean => {
      const id = index.idOf[node] ?? NONE;
      return id !== NONE && (id === ids[i] || id === others[i]);
    };
    let budget = STEPS_PER_LINE * (this.#base.length + this.#made.length + ids.length) + 1000;
    const first: number[] = [];
    for (const node of nodes) {
      if (this.#gone.has(node)) continue;
      if (first.length > PLACES_KEPT) break;
      if (budget < 0) return others.some((id) => id !== NONE) ? { first, more: true } : this.#linear(index, ids);
      let start = node;
      let i = anchor;
      while (i > 0 && start !== NONE) {
        const previous = this.#before(start);
        budget--;
        if (previous === NONE || !fits(i - 1, previous)) break;
        start = previous;
        i--;
      }
      if (i > 0) continue;
      let right = node;
      i = anchor;
      while (i < ids.length && right !== NONE && fits(i, right)) {
        right = this.#after(right);
        i++;
        budget--;
      }
      if (i === ids.length) first.push(start);
    }
    return { first: first.slice(0, PLACES_KEPT), more: first.length > PLACES_KEPT };
  }

  #linear(index: Index, ids: readonly number[]): Places {
    const fallback = [0];
    for (let i = 1, k = 0; i < ids.length; i++) {
      while (k > 0 && ids[i] !== ids[k]) k = fallback[k - 1] ?? 0;
      if (ids[i] === ids[k]) k++;
      fallback[i] = k;
    }
    const first: number[] = [];
    const recent: number[] = [];
    let seen = 0;
    let k = 0;
    for (const node of this) {
      recent[seen++ % ids.length] = node;
      const id = index.idOf[node] ?? NONE;
      while (k > 0 && (k === ids.length || id !== ids[k])) k = fallback[k - 1] ?? 0;
      if (id !== NONE && id === ids[k]) k++;
      if (k < ids.length) continue;
      first.push(recent[seen % ids.length] ?? NONE);
      if (first.length > PLACES_KEPT) break;
    }
    return { first: first.slice(0, PLACES_KEPT), more: first.length > PLACES_KEPT };
  }

  #indexFor(level: Likeness): Index {
    const known = this.#indexes.get(level);
    if (known) return known;
    const key = LEVEL_KEYS[level];
    const index: Index = { ids: new Map(), nodes: [], idOf: [] };
    for (const text of this.#wanted()) {
      const k = key(text);
      if (!index.ids.has(k)) index.nodes[index.ids.size] = [];
      if (!index.ids.has(k)) index.ids.set(k, index.ids.size);
    }
    this.#indexes.set(level, index);
    for (let node = 0; node < this.#base.length + this.#made.length; node++) this.#enter(index, level, node);
    return index;
  }

  #enter(index: Index, level: Likeness, node: number): void {
    const id = index.ids.get(LEVEL_KEYS[level](this.textOf(node))) ?? NONE;
    index.idOf[node] = id;
    if (id !== NONE) index.nodes[id]?.push(node);
  }

  #idFor(index: Index, level: Likeness, text: string): number {
    const id = index.ids.get(LEVEL_KEYS[level](text));
    if (id === undefined) throw new Error('a line was looked for that was not announced');
    return id;
  }

  #make(text: string): number {
    const node = this.#base.length + this.#made.length;
    this.#made.push(text);
    for (const [level, index] of this.#indexes) this.#enter(index, level, node);
    return node;
  }

  #after(node: number): number {
    return this.#next.get(node) ?? (node + 1 < this.#base.length ? node + 1 : NONE);
  }
  #before(node: number): number {
    return this.#previous.get(node) ?? (node < this.#base.length ? node - 1 : NONE);
  }
  #link(left: number, right: number): void {
    if (left === NONE) this.#head = right;
    else this.#next.set(left, right);
    if (right !== NONE) this.#previous.set(right, left);
  }
}
