/** Counts verdicts and prints them as Markdown tables. */
import type { AnswerFormat } from '../../../src/shared/formats.js';
import type { Verdict } from './judge.js';
import { examplesShown, wrongShown } from './limits.js';

class Counts {
  readonly #byName = new Map<string, number>();

  add(name: string): void {
    this.#byName.set(name, this.of(name) + 1);
  }
  of(name: string): number {
    return this.#byName.get(name) ?? 0;
  }
  /** `a 12, b 3`, the most frequent first. */
  text(): string {
    return [...this.#byName]
      .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  }
}

const percent = (part: number, whole: number): string =>
  whole === 0 ? '' : `${((100 * part) / whole).toFixed(2)} %`;

export class Tally {
  readonly #formats: readonly AnswerFormat[];
  readonly #verdicts = new Map<AnswerFormat, Counts>();
  readonly #classes = new Map<AnswerFormat, Counts>();
  readonly #tolerances = new Map<AnswerFormat, Counts>();
  readonly #outside = new Counts();
  readonly #traits = new Counts();
  readonly #examples = new Map<string, string[]>();
  readonly #wrong: string[] = [];
  #wrongCount = 0;
  #files = 0;

  constructor(formats: readonly AnswerFormat[]) {
    this.#formats = formats;
    for (const format of formats)
      for (const counts of [this.#verdicts, this.#classes, this.#tolerances])
        counts.set(format, new Counts());
  }

  get wrong(): number {
    return this.#wrongCount;
  }
  /** Changes that at least one format was asked about. */
  get files(): number {
    return this.#files;
  }

  addOutside(why: string): void {
    this.#outside.add(why);
  }
  addTraits(traits: readonly string[]): void {
    this.#files += 1;
    for (const trait of traits) this.#traits.add(trait);
  }

  add(format: AnswerFormat, where: string, verdict: Verdict): void {
    this.#verdicts.get(format)?.add(verdict.kind);
    if (verdict.kind === 'exact')
      for (const tolerance of new Set(verdict.tolerances))
        this.#tolerances.get(format)?.add(tolerance);
    if (verdict.kind === 'refused') {
      this.#classes.get(format)?.add(verdict.code);
      const key = `${format} ${verdict.code}`;
      const examples = this.#examples.get(key) ?? [];
      if (examples.length < examplesShown) examples.push(`${where}: ${verdict.message}`);
      this.#examples.set(key, examples);
    }
    if (verdict.kind !== 'wrong') return;
    this.#wrongCount += 1;
    if (this.#wrong.length < wrongShown) this.#wrong.push(`${format} ${where}: ${verdict.why}`);
  }

  /** `examples`: also an example or three of each class of refusal. */
  print(examples: boolean): string {
    const rows = this.#formats.map((format) => {
      const counts = this.#verdicts.get(format) ?? new Counts();
      const [exact, ends, refused, wrong] = ['exact', 'ends', 'refused', 'wrong'].map((kind) =>
        counts.of(kind),
      );
      const asked = (exact ?? 0) + (ends ?? 0) + (refused ?? 0) + (wrong ?? 0);
      const classes = this.#classes.get(format)?.text() ?? '';
      const cells = [
        format,
        asked,
        exact,
        ends,
        `${refused ?? 0} (${percent(refused ?? 0, asked)})`,
        wrong,
      ];
      return `| ${[...cells, counts.of('unsaid'), classes, this.#tolerances.get(format)?.text() ?? ''].join(' | ')} |`;
    });
    const told = [...this.#examples].flatMap(([key, list]) => [
      `${key}:`,
      ...list.map((text) => `  ${text}`),
    ]);
    return [
      '| format | asked | exact | text exact, line ends by rule | refused | wrong | no words for it | refusals | tolerances used |',
      '|---|---|---|---|---|---|---|---|---|',
      ...rows,
      '',
      `Files: ${this.#files}. ${this.#traits.text()}`,
      `Said by no format: ${this.#outside.text() || 'none'}`,
      ...(examples && told.length > 0 ? ['', ...told] : []),
      ...(this.#wrong.length > 0 ? ['', `WRONG (${this.#wrongCount}):`, ...this.#wrong] : []),
      '',
    ].join('\n');
  }
}
