/**
 * What a report tells of a run, from its archive alone: it works for runs that the server has forgotten. Pure. A new section adds a
 * field here and a line to each renderer.
 */
import type { DecisionRecord } from '../../shared/decisions.js';
import type { StepEvent } from '../../shared/events.js';
import type { AuditReport } from '../../shared/audit.js';
import {
  resultNotes,
  type LedgerRow,
  type StepOutcome,
  type StepStatus,
} from '../../shared/run.js';
import { addUsage, NO_USAGE, type StepUsage } from '../../shared/usage.js';
import type { BlobRef, StepKey } from '../../shared/ids.js';
import { count, isRecord, tally } from '../../shared/text.js';
import { archivedStatus, ledgerOfEvents } from './status.js';
import { isPart, type ArchivedActivity, type ArchivedRun, type SentRequest } from './run.js';
import { attemptsOfStep, usageOfEnded } from '../../model/journal/calls.js';
import { nullOn } from '../../shared/problems.js';
import type { CallLog } from '../../stores/ports.js';
import type { Emend } from '../types.js';

export interface ReportDecision {
  readonly id: string;
  readonly reason: string;
  /** ISO; null: not known. */
  readonly openedAt: string | null;
  readonly answers: readonly {
    readonly answer: string;
    readonly files: readonly string[];
    readonly by: string;
    readonly at: string;
    readonly note: string | null;
  }[];
}
export type ReportAttempt = Readonly<Record<'at' | 'file' | 'outcome' | 'message', string>>;
/** Of one call over several files the file is `*`. */
export interface FileUsage {
  readonly file: string;
  readonly usage: StepUsage;
}
export interface ReportVerification {
  readonly at: string;
  /** What was tested: the untouched files, the proposal before its approval, or what was applied. */
  readonly on: 'base' | 'proposal' | 'change';
  readonly outcome: string;
  /** Null: not known. */
  readonly seconds: number | null;
  readonly summary: string;
  /** What was printed (JSON blob, `TestOutput`). */
  readonly output: BlobRef | null;
}
export interface ReportFacts extends Pick<
  StepStatus,
  'stepKey' | 'title' | 'jobPath' | 'workspace' | 'usage'
> {
  readonly v: 1;
  readonly state: string;
  readonly outcome: StepOutcome | null;
  readonly commit: string | null;
  /** What is said of the end of the run: of tests, an audit, and files that are not as the proposal has them. */
  readonly verification: string | null;
  readonly audit: AuditReport | null;
  readonly notes: readonly string[];
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly ledger: readonly LedgerRow[];
  readonly decisions: readonly ReportDecision[];
  /** Answers that did not count or were not used, in order. */
  readonly refusals: readonly ReportAttempt[];
  readonly verifications: readonly ReportVerification[];
  readonly byFile: readonly FileUsage[];
  readonly events: readonly StepEvent[];
}

const iso = (at: number): string => new Date(at).toISOString();

export const reportFacts = (run: ArchivedRun): ReportFacts => {
  const { stepKey, title, jobPath, workspace, state, result, usage } = archivedStatus(run);
  return {
    v: 1,
    stepKey,
    title,
    jobPath,
    workspace,
    state,
    outcome: result?.outcome ?? null,
    commit: result?.commit ?? null,
    verification: result?.verification ?? null,
    audit: result?.audit ?? null,
    notes: result === null ? [] : resultNotes(result),
    startedAt: run.firstAt,
    endedAt: run.closed === null ? null : run.lastAt,
    ledger: ledgerOfEvents(run.events),
    decisions: decisionsOf(run),
    refusals: run.events.flatMap(refusalOf),
    verifications: testsOf(run).filter(({ on }) => on !== 'base'),
    usage,
    byFile: usageByFile(run.activities),
    events: run.events,
  };
};

/** All test runs that have ended, in order. */
export const testsOf = ({ activities }: ArchivedRun): readonly ReportVerification[] =>
  activities.flatMap(({ name, at, result }): readonly ReportVerification[] => {
    if (!isRecord(result) || name !== 'runTests') return [];
    const on = result.on === 'base' ? 'base' : result.on === 'proposal' ? 'proposal' : 'change';
    // Where they did not run to their end there is nothing to read.
    if (!('on' in result) || !isPart('tests', result)) return [];
    const { outcome, summary, seconds = null, output = null } = result;
    return [
      {
        at,
        on,
        outcome,
        seconds,
        summary,
        output: on === 'base' && 'base' in result ? (result.base as BlobRef) : output,
      },
    ];
  });

const refusalOf = (event: StepEvent): readonly ReportAttempt[] => {
  switch (event.type) {
    case 'answer_refused':
      return [
        { at: iso(event.at), file: event.file, outcome: event.outcome, message: event.message },
      ];
    case 'truncation_detected':
      return [{ at: iso(event.at), file: event.file, outcome: 'truncated', message: event.reason }];
    case 'edit_chunk_failed':
      return [{ at: iso(event.at), file: event.file, outcome: 'failed', message: event.reason }];
    default:
      return [];
  }
};

/** Who answered comes from the events (they count); note, files and time from what our faces kept. */
const decisionsOf = ({ events, requests }: ArchivedRun): readonly ReportDecision[] => {
  const found = new Map<string, ReportDecision>();
  for (const event of events) {
    const { type, at } = event;
    if (type === 'edit_step_paused')
      found.set(event.decision, {
        id: event.decision,
        reason: event.reason,
        openedAt: iso(at),
        answers: [],
      });
    if (type !== 'decided') continue;
    const { decision: id, answer, by } = event;
    const before = found.get(id) ?? { id, reason: 'approval', openedAt: null, answers: [] };
    const earlier = before.answers.filter((each) => each.answer === answer).length;
    const sent = requests.filter((each) => each.decision === id && each.answer === answer)[earlier];
    const given = {
      answer,
      files: filesOf(sent, event.files),
      by,
      at: iso(at),
      note: sent?.note ?? null,
    };
    found.set(id, { ...before, answers: [...before.answers, given] });
  }
  return [...found.values()];
};

const filesOf = (sent: SentRequest | undefined, n: number): DecisionRecord['files'] => {
  if (sent?.select !== undefined)
    return Object.entries(sent.select).map(
      ([path, changes]) => `${path} (changes ${changes.join(', ')})`,
    );
  return sent?.files ?? [count(n, 'file')];
};

/** Each activity's result has the usage of its calls; those of a chunk say their file, others (pick, brief) their name. */
const usageByFile = (activities: readonly ArchivedActivity[]): readonly FileUsage[] => {
  const sums = new Map<string, StepUsage>();
  for (const { name, file = `(${name})`, result } of activities)
    if (isRecord(result) && isPart('usage', result.usage))
      sums.set(file, addUsage(sums.get(file) ?? NO_USAGE, result.usage));
  return [...sums].map(([file, usage]) => ({ file, usage })).filter(({ usage }) => usage.calls > 0);
};

// What a run that has ended paid for: a call that was cut off with it is in no result of an activity, but it is in the journal.

/** The status with all calls counted that the journal of this machine knows; unchanged where it knows no more than the run. */
export const withRecordedUsage = async (
  { calls }: Pick<Emend, 'calls'>,
  status: StepStatus,
): Promise<StepStatus> => {
  const paid = await recordedUsage(calls, status.stepKey);
  if (paid === null || paid.calls <= status.usage.calls) return status;
  const result = status.result === null ? null : { ...status.result, usage: paid };
  return { ...status, usage: paid, result };
};

/** Null: the recorded calls cannot be read. */
export const recordedUsage = (calls: CallLog, stepKey: string): Promise<StepUsage | null> =>
  attemptsOfStep(calls, stepKey).then(usageOfEnded).catch(nullOn());

// What the phases of a plan cost, from the plan's events and the call journal: it works for runs that the server has forgotten.

export interface PhaseCost {
  readonly phase: number;
  readonly runs: number;
  readonly usage: StepUsage;
}

/**
 * In the order of phases; empty for a run that is no plan's. Every run of a phase has its own calls in the journal; `usageOf` null: they
 * cannot be read, and the run is left out.
 */
export const phaseCosts = async (
  events: readonly StepEvent[],
  usageOf: (run: StepKey) => Promise<StepUsage | null>,
): Promise<readonly PhaseCost[]> => {
  const found = new Map<number, PhaseCost>();
  for (const event of events) {
    if (event.type !== 'phase_editing') continue;
    const usage = await usageOf(event.child);
    if (usage === null) continue;
    const { phase } = event;
    const before = found.get(phase) ?? { phase, runs: 0, usage: NO_USAGE };
    found.set(phase, { phase, runs: before.runs + 1, usage: addUsage(before.usage, usage) });
  }
  return [...found.values()].sort((a, b) => a.phase - b.phase);
};

// What many runs came to, from their reports' facts. Pure. A metric is an entry of METRICS: a name, and a count or sum over a run.

/** Counts by word, over all runs. */
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
  /** Seconds from question to first answer: median over the decisions that were answered; null: none was. */
  readonly medianAnswer_s: number | null;
}

/** What one run adds to the statistics. */
export interface RunCounts {
  readonly counts: Readonly<Partial<Record<Metric, Readonly<Record<string, number>>>>>;
  readonly usage: StepUsage;
  /** Seconds from question to first answer, of each decision that was answered. */
  readonly waits_s: readonly number[];
}

export const countsOfRun = (facts: ReportFacts): RunCounts => ({
  counts: Object.fromEntries(
    METRIC_NAMES.map((name) => [name, METRICS[name](facts)] as const)
      .filter(([, words]) => words.length > 0)
      .map(([name, words]) => [name, Object.fromEntries(tally(words))]),
  ),
  usage: ownUsage(facts),
  waits_s: facts.decisions.flatMap(waited),
});

export const runStats = (all: readonly ReportFacts[]): RunStats =>
  sumRunCounts(all.map(countsOfRun));

export const sumRunCounts = (all: readonly RunCounts[]): RunStats => ({
  v: 1,
  runs: all.length,
  counts: Object.fromEntries(
    METRIC_NAMES.map((name) => [name, summed(all.map(({ counts }) => counts[name] ?? {}))]),
  ) as RunStats['counts'],
  usage: all.map(({ usage }) => usage).reduce(addUsage, NO_USAGE),
  medianAnswer_s: median(all.flatMap(({ waits_s }) => waits_s)),
});

/** The result of a plan's run has what its phases paid, too; they are runs of their own, and are counted there. */
const ownUsage = ({ events, usage, byFile }: ReportFacts): StepUsage =>
  events.some(({ type }) => type === 'plan_started')
    ? byFile.map((each) => each.usage).reduce(addUsage, NO_USAGE)
    : usage;

/** Most frequent first. */
const summed = (
  all: readonly Readonly<Record<string, number>>[],
): Readonly<Record<string, number>> => {
  const sums = new Map<string, number>();
  for (const counts of all)
    for (const [word, n] of Object.entries(counts)) sums.set(word, (sums.get(word) ?? 0) + n);
  return Object.fromEntries([...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));
};

const waited = ({ openedAt, answers }: ReportFacts['decisions'][number]): readonly number[] => {
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
