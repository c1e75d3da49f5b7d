/** Statistics of many runs, from the facts of their reports. Pure. A metric is an entry of METRICS: a name, and the words that it counts. */
import type { StepEvent } from '../../shared/events.js';
import { tally } from '../../shared/text.js';
import { addUsage, NO_USAGE, type StepUsage } from '../../shared/usage.js';
import type { ReportDecision, ReportFacts } from './report.js';

/** The words of a run that each metric counts. */
const METRICS = {
  outcomes: ({ outcome, state }: ReportFacts): readonly string[] => [outcome ?? state],
  decisions: ({ decisions }: ReportFacts): readonly string[] =>
    decisions.map(({ reason }) => reason),
  answers: ({ decisions }: ReportFacts): readonly string[] =>
    decisions.flatMap(({ answers }) => answers.map(({ answer }) => answer)),
  refusals: ({ refusals }: ReportFacts): readonly string[] =>
    refusals.map(({ outcome }) => outcome),
  tests: ({ verifications }: ReportFacts): readonly string[] =>
    verifications.map(({ outcome }) => outcome),
  formats: ({ ledger }: ReportFacts): readonly string[] => ledger.map(({ format }) => format),
} as const;
export type Metric = keyof typeof METRICS;
export const METRIC_NAMES = Object.keys(METRICS) as Metric[];

export interface RunStats {
  readonly v: 1;
  readonly runs: number;
  readonly counts: Readonly<Record<Metric, Readonly<Record<string, number>>>>;
  readonly usage: StepUsage;
  /** Median of the seconds from a question to its first answer, over the decisions that were answered; null: none was. */
  readonly medianAnswer_s: number | null;
}

/** The part of one run in the statistics. */
export interface RunCounts {
  readonly counts: Readonly<Partial<Record<Metric, Readonly<Record<string, number>>>>>;
  readonly usage: StepUsage;
  /** Seconds from question to first answer, for each decision that was answered. */
  readonly waits_s: readonly number[];
}

export const countsOfRun = (facts: ReportFacts): RunCounts => ({
  counts: Object.fromEntries(
    METRIC_NAMES.map((name) => [name, METRICS[name](facts)] as const)
      .filter(([, words]) => words.length > 0)
      .map(([name, words]) => [name, Object.fromEntries(tally(words))]),
  ),
  usage: ownUsage(facts),
  waits_s: facts.decisions.flatMap(waitOf),
});

export const runStats = (facts: readonly ReportFacts[]): RunStats =>
  sumRunCounts(facts.map(countsOfRun));

export const sumRunCounts = (runs: readonly RunCounts[]): RunStats => ({
  v: 1,
  runs: runs.length,
  counts: Object.fromEntries(
    METRIC_NAMES.map((name) => [name, sumsOf(runs.map(({ counts }) => counts[name] ?? {}))]),
  ) as RunStats['counts'],
  usage: runs.map(({ usage }) => usage).reduce(addUsage, NO_USAGE),
  medianAnswer_s: median(runs.flatMap(({ waits_s }) => waits_s)),
});

/**
 * Returns the usage of the run without its phases. The result of a plan also has what its phases paid, but these are runs of their own, and
 * are counted there.
 */
const ownUsage = ({ events, usage, byFile }: ReportFacts): StepUsage =>
  events.some(isPlanStart) ? byFile.map((file) => file.usage).reduce(addUsage, NO_USAGE) : usage;

const isPlanStart = ({ type }: StepEvent): boolean => type === 'plan_started';

/** Adds up the counts of each word. The most frequent word comes first. */
const sumsOf = (
  counts: readonly Readonly<Record<string, number>>[],
): Readonly<Record<string, number>> => {
  const sums = new Map<string, number>();
  for (const [word, number] of counts.flatMap(Object.entries<number>))
    sums.set(word, (sums.get(word) ?? 0) + number);
  return Object.fromEntries([...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));
};

const waitOf = ({ openedAt, answers }: ReportDecision): readonly number[] => {
  const first = answers[0];
  return openedAt === null || first === undefined
    ? []
    : [(Date.parse(first.at) - Date.parse(openedAt)) / 1000];
};

const median = (numbers: readonly number[]): number | null => {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  const other = sorted[Math.ceil((sorted.length - 1) / 2)];
  return middle === undefined || other === undefined ? null : (middle + other) / 2;
};
