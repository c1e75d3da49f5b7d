/** Ranks files by what a workspace says about a task, with the reasons. Pure; the weights were tried on histories (docs/measures.md). */
import { lastSegment } from '../../shared/text.js';
import type { Candidate } from '../../shared/pick.js';
import { rarity, type Evidence } from './evidence.js';
import { importsIn } from './imports.js';
import { matcherOf, partsOf, type Matcher } from './words.js';

const SATURATION = 1.2; // bound: Uses after which one more says half of what the first said (BM25's k1).
const DEFINED = 0.15; // bound: What a definition adds to the uses of a word,
const DEFINED_NAME = 2; // bound: and to those of a name as a whole,
const PAST = 1.5; // bound: an earlier commit about all of the task's words that changed this file alone,
const RECENT = 0.05; // bound: the logarithm of the commits that changed the file of late,
const NEIGHBOUR = 0.05; // bound: and a strong file that it imports, or that imports it, of what that one has.
const STRONG_FILES = 10; // bound: Files whose neighbours count.
const TOLD = 4; // bound: Words or names that a reason tells.

/** What a file says of itself: definitions, and lines that import something. */
export interface FileOutline {
  /** `signature`: up to the body; lines are 0-based, `to` is behind the last. */
  readonly symbols: readonly (readonly [
    qualified: string,
    signature: string,
    from: number,
    to: number,
  ])[];
  readonly imports: readonly string[];
}
interface Scored {
  readonly path: string;
  readonly score: number;
}

export const TEST =
  /(?:^|[/_.-])(?:tests?|specs?|testing|testdata|fixtures?|__tests__|__fixtures__|e2e|conftest)(?:[/_.-]|$)/i;
const NO_CODE =
  /[.](?:mdx?|rst|adoc|txt|jsonc?|json5|ya?ml|toml|ini|cfg|lock|svg|csv|tsv|snap|po|map|xml|ipynb)$|(?:^|\/)[.]?[^./]*$/i;
const MADE =
  /(?:^|\/)(?:dist|vendor|third_party|generated|__generated__)\/|[.]min[.]|[._-](?:generated|pb2?)[.]/i;
/** Code first; then what tests it, tells of it, or is made from it. */
const kindFactor = (path: string): number =>
  MADE.test(path) ? 0.1 : TEST.test(path) ? 0.25 : NO_CODE.test(path) ? 0.15 : 1;
export const isCode = (path: string): boolean => kindFactor(path) === 1;

const nameOf = (path: string): string => lastSegment(path).replace(/(.)[.].*$/, '$1');
const best = (a: Scored, b: Scored): number =>
  b.score - a.score || kindFactor(b.path) - kindFactor(a.path) || (a.path < b.path ? -1 : 1);

export class Ranking {
  readonly #evidence: Evidence;
  readonly #match: Matcher;
  readonly #named: ReadonlyMap<string, ReadonlySet<number>>;
  /** Of each term: what it weighs in files, and in paths. */
  readonly #inFiles: readonly number[];
  readonly #inPaths: readonly number[];
  readonly #total: number;

  constructor(evidence: Evidence) {
    const { files, terms, uses } = evidence;
    this.#evidence = evidence;
    this.#match = matcherOf(terms);
    this.#named = new Map(
      files.map((path) => [path, new Set(path.split('/').flatMap((part) => this.#match(part)))]),
    );
    const weigh = (all: readonly { has(term: number): boolean }[]): readonly number[] =>
      terms.map(
        ({ weight }, term) =>
          weight * rarity(all.filter((held) => held.has(term)).length, files.length),
      );
    this.#inFiles = weigh([...uses.values()]);
    this.#inPaths = weigh([...this.#named.values()]);
    this.#total = this.#sum(terms.keys()) || 1;
  }

  #sum(
    terms: Iterable<number>,
    times: (term: number) => number = () => 1,
    weights = this.#inFiles,
  ): number {
    let sum = 0;
    for (const term of terms) sum += (weights[term] ?? 0) * times(term);
    return sum;
  }

  /** By uses, paths (a file's own name counts twice) and history; best first. */
  first(): readonly Scored[] {
    const { files, uses, past, recent } = this.#evidence;
    const before = new Map<string, number>();
    for (const { share, files: changed } of past)
      for (const path of changed)
        before.set(path, (before.get(path) ?? 0) + share / Math.sqrt(changed.length));
    const scored = files.map((path) => {
      const counts = uses.get(path) ?? new Map<number, number>();
      const own = new Set(this.#match(nameOf(path)));
      const used = this.#sum(counts.keys(), (term) => {
        const n = counts.get(term) ?? 0;
        return (n * (SATURATION + 1)) / (n + SATURATION);
      });
      const named = this.#sum(
        this.#named.get(path) ?? [],
        (term) => (own.has(term) ? 2 : 1),
        this.#inPaths,
      );
      const history =
        PAST * (before.get(path) ?? 0) + RECENT * Math.log(1 + (recent.get(path) ?? 0));
      return { path, score: ((used + named) / this.#total + history) * kindFactor(path) };
    });
    return scored.sort(best);
  }

  /** With what the files say of themselves, and why each is among them. */
  explained(
    scored: readonly Scored[],
    outlines: ReadonlyMap<string, FileOutline>,
  ): readonly Candidate[] {
    const defined = scored.map(({ path, score }) => {
      const terms = new Set(outlines.get(path)?.symbols.flatMap(([symbol]) => this.#asked(symbol)));
      const added = this.#sum(terms, (term) =>
        this.#evidence.terms[term]?.isName ? DEFINED_NAME : DEFINED,
      );
      return { path, score: score + (added * kindFactor(path)) / this.#total };
    });
    const code = defined.filter(({ path }) => isCode(path));
    const strong = code.sort(best).slice(0, STRONG_FILES);
    const modules = importsIn(this.#evidence.files);
    const imported = new Map(
      [...outlines].map(([path, { imports }]) => [path, modules(imports, path)]),
    );
    const isImported = (path: string, by: string): boolean =>
      imported.get(by)?.includes(path) === true;
    const isTest = (path: string, of: string): boolean =>
      TEST.test(path) && testedName(path) === testedName(of);
    return defined
      .map(({ path, score }) => {
        const others = (is: (other: string) => boolean) =>
          strong.filter((other) => other.path !== path && is(other.path));
        const imports = others((other) => isImported(other, path));
        const importers = others((other) => isImported(path, other));
        const near = Math.max(0, ...[...imports, ...importers].map((other) => other.score));
        const symbols = outlines.get(path)?.symbols.map(([symbol]) => symbol) ?? [];
        const told = symbols.filter((symbol) => this.#asked(symbol).length > 0);
        const pathsOf = (files: readonly Scored[]) => files.map((file) => file.path);
        const about = this.#evidence.past.filter(({ files }) => files.includes(path));
        const reasons = {
          defines: told,
          'test of': pathsOf(others((other) => isTest(path, other))),
          named: this.#words(this.#named.get(path)),
          uses: this.#words(this.#evidence.uses.get(path)?.keys()),
          imports: pathsOf(imports),
          'imported by': pathsOf(importers),
          'changed with': about.map(({ subject }) => JSON.stringify(subject)),
        };
        return {
          path,
          score: score + NEIGHBOUR * near,
          symbols: [...new Set([...told, ...symbols])],
          reasons: Object.entries(reasons).flatMap(([why, what]) =>
            what.length === 0 ? [] : [`${why} ${what.slice(0, TOLD).join(', ')}`],
          ),
        };
      })
      .sort(best)
      .map(({ path, reasons, symbols }) => ({ path, reasons, symbols }));
  }

  readonly #asked = (symbol: string): readonly number[] => this.#match(lastName(symbol));

  #words(terms: Iterable<number> = []): readonly string[] {
    const sorted = [...terms].sort((a, b) => (this.#inFiles[b] ?? 0) - (this.#inFiles[a] ?? 0));
    return sorted.flatMap((term) => this.#evidence.terms[term]?.key ?? []);
  }
}

export const lastName = (symbol: string): string => symbol.slice(symbol.lastIndexOf('.') + 1);

export const testedName = (path: string): string =>
  partsOf(nameOf(path))
    .filter((part) => !/^(?:tests?|specs?)$/.test(part))
    .join('');
