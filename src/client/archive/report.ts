/**
 * What a report tells of a run, from its archive alone: it works for runs that the server has forgotten. Pure. A new section adds a
 * field here and a line to each renderer.
 */
import type { DecisionRecord, DecisionRequest } from '../../shared/decisions.js';
import type { StepEvent } from '../../shared/events.js';
import type { LedgerRow, StepOutcome, StepStatus } from '../../shared/run.js';
import type { VerifyResult } from '../../shared/proposal-activities.js';
import { addUsage, NO_USAGE, type StepUsage } from '../../shared/usage.js';
import type { BlobRef } from '../../shared/ids.js';
import { count, isRecord } from '../../shared/text.js';
import { archivedStatus, ledgerOfEvents } from './status.js';
import { isUsage, type ArchivedActivity, type ArchivedRun } from './run.js';

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
export interface ReportFacts extends Pick<StepStatus, 'stepKey' | 'title' | 'jobPath' | 'workspace' | 'usage'> {
  readonly v: 1;
  readonly state: string;
  readonly outcome: StepOutcome | null;
  readonly commit: string | null;
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
    ...{ v: 1, stepKey, title, jobPath, workspace, state },
    outcome: result?.outcome ?? null,
    commit: result?.commit ?? null,
    startedAt: run.firstAt,
    endedAt: run.closed === null ? null : run.lastAt,
    ledger: ledgerOfEvents(run.events),
    decisions: decisionsOf(run),
    refusals: run.events.flatMap(refusalOf),
    verifications: testsOf(run).filter(({ on }) => on === 'change'),
    usage,
    byFile: usageByFile(run.activities),
    events: run.events,
  };
};

/** All test runs that have ended, in order. */
export const testsOf = ({ activities }: ArchivedRun): readonly ReportVerification[] =>
  activities.flatMap(({ name, at, result }): readonly ReportVerification[] => {
    if (!isRecord(result) || (name !== 'verify' && name !== 'tryTests')) return [];
    const on = name === 'verify' ? 'change' : isRecord(result.result) ? 'proposal' : 'base';
    const told = on === 'proposal' ? result.result : result;
    // Where they did not run to their end there is nothing to read.
    if (!isRecord(told) || typeof told.summary !== 'string') return [];
    const { outcome, summary, seconds, output } = told as unknown as VerifyResult;
    if (on === 'base') return [{ at, on, outcome, seconds: null, summary, output: result.base as BlobRef }];
    return [{ at, on, outcome, seconds, summary, output }];
  });

const refusalOf = (event: StepEvent): readonly ReportAttempt[] => {
  switch (event.type) {
    case 'answer_refused':
      return [{ at: iso(event.at), file: event.file, outcome: event.outcome, message: event.message }];
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
      found.set(event.decision, { id: event.decision, reason: event.reason, openedAt: iso(at), answers: [] });
    if (type !== 'decided') continue;
    const { decision: id, answer, by } = event;
    const before = found.get(id) ?? { id, reason: 'approval', openedAt: null, answers: [] };
    const earlier = before.answers.filter((each) => each.answer === answer).length;
    const sent = requests.filter((each) => each.decision === id && each.answer === answer)[earlier];
    const given = { answer, files: filesOf(sent, event.files), by, at: iso(at), note: sent?.note ?? null };
    found.set(id, { ...before, answers: [...before.answers, given] });
  }
  return [...found.values()];
};

const filesOf = (sent: DecisionRequest | undefined, n: number): DecisionRecord['files'] => {
  if (sent?.select !== undefined)
    return Object.entries(sent.select).map(([path, changes]) => `${path} (changes ${changes.join(', ')})`);
  return sent?.files ?? [count(n, 'file')];
};

/** Each activity's result has the usage of its calls; those of a chunk say their file, others (pick, brief) their name. */
const usageByFile = (activities: readonly ArchivedActivity[]): readonly FileUsage[] => {
  const sums = new Map<string, StepUsage>();
  for (const { name, file = `(${name})`, result } of activities)
    if (isRecord(result) && isUsage(result.usage)) sums.set(file, addUsage(sums.get(file) ?? NO_USAGE, result.usage));
  return [...sums].map(([file, usage]) => ({ file, usage })).filter(({ usage }) => usage.calls > 0);
};
