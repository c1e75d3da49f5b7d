/** What many runs came to, from their reports' facts. Pure. A metric is an entry of METRICS: a name, and a count or sum over a run. */
import { addUsage, NO_USAGE, type StepUsage } from '../shared/usage.js';
import type { ReportFacts } from './report-facts.js';

/** Counts by word, over all runs. */
const METRICS = {
  outcomes: ({ outcome, state }: ReportFacts): readonly string[] => [outcome ?? state],
  decisions: ({ decisions }: ReportFacts): readonly string[] => decisions.map(({ reason }) => reason),
  answers: ({ decisions }: ReportFacts): readonly string[] =>
    decisions.flatMap(({ answers }) => answers.map(({ answer }) => answer)),
  refusals: ({ refusals }: ReportFacts): readonly string[] => refusals.map(({ outcome }) => outcome),
  tests: ({ verifications }: ReportFacts): readonly string[] => verifications.map(({ outcome }) => outcome),
  formats: ({ ledger }: ReportFacts): readonly string[] => ledger.map(({ format }) => format),
} as const;
export type Metric = keyof typeof METRICS;
export const METRIC_NAMES = Object.keys(METRICS) as Metric[];

export interface RunStats {
  readonly v: 1;
  readonly runs: number;
  readonly counts: Readonly<Record<Metric, Readonly<Record<string, number>>>>;
  readonly usage: StepUsage;
  /** Seconds from question to first answer: median over the decisions that were answered; null: none was. */
  readonly medianAnswer_s: number | null;
}

export const runStats = (all: readonly ReportFacts[]): RunStats => ({
  v: 1,
  runs: all.length,
  counts: Object.fromEntries(
    METRIC_NAMES.map((name) => [name, tally(all.flatMap(METRICS[name]))]),
  ) as RunStats['counts'],
  usage: all.map(ownUsage).reduce(addUsage, NO_USAGE),
  medianAnswer_s: median(all.flatMap(({ decisions }) => decisions.flatMap(waited))),
});

/** The result of a plan's run has what its phases paid, too; they are runs of their own, and are counted there. */
const ownUsage = ({ events, usage, byFile }: ReportFacts): StepUsage =>
  events.some(({ type }) => type === 'plan_started')
    ? byFile.map((each) => each.usage).reduce(addUsage, NO_USAGE)
    : usage;

/** Most frequent first. */
const tally = (words: readonly string[]): Readonly<Record<string, number>> => {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));
};

const waited = ({ openedAt, answers }: ReportFacts['decisions'][number]): readonly number[] => {
  const first = answers[0];
  return openedAt === null || first === undefined ? [] : [(Date.parse(first.at) - Date.parse(openedAt)) / 1000];
};

const median = (numbers: readonly number[]): number | null => {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  const other = sorted[Math.ceil((sorted.length - 1) / 2)];
  return middle === undefined || other === undefined ? null : (middle + other) / 2;
};
