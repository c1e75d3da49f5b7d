/**
 * Finding whole lines in a text, and changing the text while later searches go on.
 *
 * The text is a chain of nodes: base line i is node i, lines made by an edit get the numbers after. An index per tolerance holds
 * only the lines that the answer looks for, so one pass over the file serves every hunk or block of the answer, and a search
 * costs about as much as its rarest line occurs. Where lines repeat so much that this would grow quadratic, one linear pass
 * (Knuth-Morris-Pratt) takes its place.
 */
import { type Change, ChangeList } from '../text/changes.js';
import { indexOfLines, type LineIndex } from '../text/lines.js';
import { LEVEL_KEYS, type Likeness } from './likeness.js';

// bound: More places than this are not listed: the reader needs to know that there are many, not all of them.
export const PLACES_KEPT = 50;
const LOCATE_STEPS_PER_LINE = 4; // bound: Comparisons per line of text and pattern before a search changes to the linear pass.

export interface Places {
  /** First node of each place, at most `PLACES_KEPT`, base lines in order. */
  readonly first: readonly number[];
  /** There are more places than are listed. */
  readonly more: boolean;
}

const NONE = -1;

interface Index {
  readonly ids: Map<string, number>;
  /** Base nodes of all ids, one id after the other; that of `id` ends before `ends[id + 1]`. They and made ones may be gone. */
  readonly nodes: Int32Array;
  readonly ends: Int32Array;
  readonly madeNodes: Map<number, number[]>;
  /** Id by node, NONE where nobody looks for the line. */
  readonly idOf: Int32Array;
  /** The same of made lines. */
  readonly madeIds: number[];
}

export class LineChain {
  readonly #base: LineIndex;
  readonly #made: string[] = [];
  readonly #wanted: () => Iterable<string>;
  readonly #indexes = new Map<Likeness, Index>();
  readonly #gone = new Set<number>();
  // Only the links that differ from "the next base line": an untouched stretch costs nothing.
  readonly #next = new Map<number, number>();
  readonly #previous = new Map<number, number>();
  #head: number;

  /** `wanted` must yield every text that `find` will be asked for. */
  constructor(base: readonly string[] | LineIndex, texts: () => Iterable<string>) {
    this.#base = indexOfLines(base);
    this.#wanted = texts;
    this.#head = base.length > 0 ? 0 : NONE;
  }

  textOf(node: number): string {
    const text =
      node < this.#base.length ? this.#base.line(node) : this.#made[node - this.#base.length];
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

  /**
   * Returns the nodes of lines that follow each other from `distance` nodes behind `node` on; null: they do not. A negative distance is
   * before it.
   */
  runAt(node: number, distance: number, lines: readonly string[]): readonly number[] | null {
    let current = node;
    for (let i = 0; i < Math.abs(distance) && current !== NONE; i += 1)
      current = distance < 0 ? this.#before(current) : this.#after(current);
    const nodes: number[] = [];
    for (const line of lines) {
      if (current === NONE || this.textOf(current) !== line) return null;
      nodes.push(current);
      current = this.#after(current);
    }
    return nodes;
  }

  /** What the lines have become, as changes of the base. */
  changes(): readonly Change[] {
    const list = new ChangeList();
    const links = [...this.#next.keys()]
      .filter((node) => node < this.#base.length)
      .sort((a, b) => a - b);
    let linked = 0;
    let kept = NONE;
    let node = this.#head;
    for (;;) {
      const madeNumber: string[] = [];
      for (; node >= this.#base.length; node = this.#after(node))
        madeNumber.push(this.textOf(node));
      list.put(kept + 1, node === NONE ? this.#base.length : node, madeNumber);
      if (node === NONE) return list.done();
      // The next place from here on where something else follows than the next base line.
      while (linked < links.length && (links[linked] ?? 0) < node) linked += 1;
      kept = links[linked] ?? this.#base.length - 1;
      node = this.#after(kept);
    }
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
    let leftNode = before;
    for (const part of parts) {
      const node = typeof part === 'number' ? part : this.#make(part);
      this.#link(leftNode, node);
      leftNode = node;
    }
    this.#link(leftNode, after);
  }

  /**
   * Every place where the lines stand at this level of tolerance; no lines stand nowhere. `readings`: of some lines a second one that is as
   * good (a context line that may have lost its blank).
   */
  find(
    lines: readonly string[],
    level: Likeness,
    readings: readonly (string | undefined)[] = [],
  ): Places {
    const index = this.#indexFor(level);
    const idFor = (text?: string): number =>
      text === undefined ? NONE : this.#idFor(index, level, text);
    const ids = Array.from(lines, (line) => idFor(line));
    const others = Array.from(lines, (_, i) => idFor(readings[i]));
    let anchor = 0;
    let fewest = Infinity;
    for (let i = 0; i < ids.length; i++) {
      const count = countOf(index, ids[i] ?? NONE) + countOf(index, others[i] ?? NONE);
      if (count < fewest) [anchor, fewest] = [i, count];
    }
    return this.#verify(index, { ids, others }, anchor);
  }

  #verify(index: Index, ids: LineIds, anchor: number): Places {
    const steps = {
      rest: LOCATE_STEPS_PER_LINE * (this.#base.length + this.#made.length + ids.ids.length) + 1000,
    };
    const first: number[] = [];
    for (const node of candidates(index, ids.ids[anchor] ?? NONE, ids.others[anchor] ?? NONE)) {
      if (this.#gone.has(node)) continue;
      if (first.length > PLACES_KEPT) break;
      if (steps.rest < 0)
        return ids.others.some((id) => id !== NONE)
          ? { first, more: true }
          : this.#linear(index, ids.ids);
      const start = this.#startOf(index, ids, { anchor, node }, steps);
      if (start !== NONE) first.push(start);
    }
    return { first: first.slice(0, PLACES_KEPT), more: first.length > PLACES_KEPT };
  }

  /** Returns the first node of the lines if their line `anchor` is the node; NONE: they do not stand around it. */
  #startOf(
    index: Index,
    { ids, others }: LineIds,
    { anchor, node }: { readonly anchor: number; readonly node: number },
    steps: { rest: number },
  ): number {
    const fits = (i: number, other: number): boolean => {
      const id = this.#idAt(index, other);
      return id !== NONE && (id === ids[i] || id === others[i]);
    };
    let start = node;
    for (let i = anchor; i > 0; i -= 1) {
      start = this.#before(start);
      steps.rest -= 1;
      if (start === NONE || !fits(i - 1, start)) return NONE;
    }
    let right = node;
    for (let i = anchor; i < ids.length; i += 1) {
      if (right === NONE || !fits(i, right)) return NONE;
      right = this.#after(right);
      steps.rest -= 1;
    }
    return start;
  }

  /** Finds the lines in one pass over the text. */
  #linear(index: Index, ids: readonly number[]): Places {
    const fallback = fallbacksOf(ids);
    const first: number[] = [];
    const recent: number[] = [];
    let seen = 0;
    let k = 0;
    for (const node of this) {
      recent[seen++ % ids.length] = node;
      const id = this.#idAt(index, node);
      while (k > 0 && (k === ids.length || id !== ids[k])) k = fallback[k - 1] ?? 0;
      if (id !== NONE && id === ids[k]) k++;
      if (k < ids.length) continue;
      first.push(recent[seen % ids.length] ?? NONE);
      if (first.length > PLACES_KEPT) break;
    }
    return { first: first.slice(0, PLACES_KEPT), more: first.length > PLACES_KEPT };
  }

  #indexFor(level: Likeness): Index {
    const existing = this.#indexes.get(level);
    if (existing) return existing;
    const key = LEVEL_KEYS[level];
    const ids = new Map<string, number>();
    for (const text of this.#wanted()) {
      const k = key(text);
      if (!ids.has(k)) ids.set(k, ids.size);
    }
    const idOf = new Int32Array(this.#base.length).fill(NONE);
    if (level !== 'exact' || !this.#base.findAll(ids, (id, lineIndex) => (idOf[lineIndex] = id)))
      this.#base.all.forEach((text, lineIndex) => (idOf[lineIndex] = ids.get(key(text)) ?? NONE));
    const index: Index = { ids, ...byId(idOf, ids.size), madeNodes: new Map(), idOf, madeIds: [] };
    this.#indexes.set(level, index);
    for (const madeNumber of this.#made.keys()) this.#enterMade(index, level, madeNumber);
    return index;
  }

  #enterMade(index: Index, level: Likeness, madeNumber: number): void {
    const id = index.ids.get(LEVEL_KEYS[level](this.#made[madeNumber] ?? '')) ?? NONE;
    index.madeIds[madeNumber] = id;
    if (id === NONE) return;
    const nodes = index.madeNodes.get(id);
    if (nodes === undefined) index.madeNodes.set(id, [this.#base.length + madeNumber]);
    else nodes.push(this.#base.length + madeNumber);
  }

  #idAt(index: Index, node: number): number {
    return (
      (node < this.#base.length ? index.idOf[node] : index.madeIds[node - this.#base.length]) ??
      NONE
    );
  }

  #idFor(index: Index, level: Likeness, text: string): number {
    const id = index.ids.get(LEVEL_KEYS[level](text));
    if (id === undefined) throw new Error('a line was looked for that was not announced');
    return id;
  }

  #make(text: string): number {
    const node = this.#base.length + this.#made.length;
    this.#made.push(text);
    for (const [level, index] of this.#indexes)
      this.#enterMade(index, level, node - this.#base.length);
    return node;
  }

  #after(node: number): number {
    return this.#next.get(node) ?? (node + 1 < this.#base.length ? node + 1 : NONE);
  }
  #before(node: number): number {
    return this.#previous.get(node) ?? (node < this.#base.length ? node - 1 : NONE);
  }
  #link(leftNode: number, right: number): void {
    if (leftNode === NONE) this.#head = right;
    else if (this.#after(leftNode) !== right) this.#next.set(leftNode, right);
    if (right !== NONE && this.#before(right) !== leftNode) this.#previous.set(right, leftNode);
  }
}

/** Of lines that are looked for: their ids, and those of second readings that are as good. */
interface LineIds {
  readonly ids: readonly number[];
  readonly others: readonly number[];
}

/** How many lines of the pattern still fit behind each of its lines (Knuth-Morris-Pratt). */
const fallbacksOf = (ids: readonly number[]): readonly number[] => {
  const fallback = [0];
  for (let i = 1, k = 0; i < ids.length; i++) {
    while (k > 0 && ids[i] !== ids[k]) k = fallback[k - 1] ?? 0;
    if (ids[i] === ids[k]) k++;
    fallback[i] = k;
  }
  return fallback;
};

const byId = (idOf: Int32Array, count: number): Pick<Index, 'nodes' | 'ends'> => {
  const ends = new Int32Array(count + 1);
  // No iterator, which makes an object for each of a million lines.
  idOf.forEach((id) => {
    if (id !== NONE) ends[id + 1] = (ends[id + 1] ?? 0) + 1;
  });
  for (let id = 0; id < count; id += 1) ends[id + 1] = (ends[id + 1] ?? 0) + (ends[id] ?? 0);
  const nodes = new Int32Array(ends[count] ?? 0);
  const next = ends.slice();
  idOf.forEach((id, node) => {
    if (id === NONE) return;
    const place = next[id] ?? 0;
    nodes[place] = node;
    next[id] = place + 1;
  });
  return { nodes, ends };
};

const countOf = (index: Index, id: number): number =>
  (id < 0 ? 0 : (index.ends[id + 1] ?? 0) - (index.ends[id] ?? 0)) +
  (index.madeNodes.get(id)?.length ?? 0);

/** The nodes of `id`, then those of `other`, where it is another one. */
function* candidates(
  { nodes, ends, madeNodes }: Index,
  id: number,
  other: number,
): Generator<number> {
  for (const lineId of new Set([id, other])) {
    if (lineId !== NONE) yield* nodes.subarray(ends[lineId], ends[lineId + 1]);
    yield* madeNodes.get(lineId) ?? [];
  }
}
