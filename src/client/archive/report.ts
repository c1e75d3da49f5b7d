/**
 * The facts of a run that its report shows, from its archive alone. So there are reports of runs that the server has forgotten. A new section
 * of the report needs a field here and a line in each renderer. Pure.
 */
import type { DecisionRecord } from '../../shared/decisions.js';
import type { EventOf, StepEvent } from '../../shared/events.js';
import type { AuditReport } from '../../shared/audit.js';
import {
  resultNotes,
  type LedgerRow,
  type StepOutcome,
  type StepStatus,
} from '../../shared/run.js';
import { addUsage, NO_USAGE, type StepUsage } from '../../shared/usage.js';
import type { BlobRef } from '../../shared/ids.js';
import { count, isRecord } from '../../shared/text.js';
import { ledgerOfEvents } from './ledger.js';
import { archivedStatus } from './status.js';
import { isPart, type ArchivedActivity, type ArchivedRun, type SentRequest } from './run.js';

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
/** The usage of all calls for a file. One call for several files has the file `*`. */
export interface FileUsage {
  readonly file: string;
  readonly usage: StepUsage;
}
export interface ReportVerification {
  readonly at: string;
  /** `base`: the untouched files; `proposal`: the proposal before its approval; `change`: the applied files. */
  readonly on: 'base' | 'proposal' | 'change';
  readonly outcome: string;
  /** Null: not known. */
  readonly seconds: number | null;
  readonly summary: string;
  /** The output of the tests (JSON blob, `TestOutput`). */
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
  /** The end of the run: tests, audit, and files that differ from the proposal. */
  readonly verification: string | null;
  readonly audit: AuditReport | null;
  readonly notes: readonly string[];
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly ledger: readonly LedgerRow[];
  readonly decisions: readonly ReportDecision[];
  /** Responses that Emend refused or did not use, in order. */
  readonly refusals: readonly ReportAttempt[];
  readonly verifications: readonly ReportVerification[];
  readonly byFile: readonly FileUsage[];
  readonly events: readonly StepEvent[];
}

const iso = (time_ms: number): string => new Date(time_ms).toISOString();

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

/** Returns all test runs that have ended, in order. */
export const testsOf = ({ activities }: ArchivedRun): readonly ReportVerification[] =>
  activities.flatMap((activity) => {
    const verification = activity.name === 'runTests' ? verificationOf(activity) : null;
    return verification === null ? [] : [verification];
  });

/** Returns the test run that the activity made. Null: the tests did not run to their end, so there is nothing to read. */
const verificationOf = ({ at, result }: ArchivedActivity): ReportVerification | null => {
  if (!isRecord(result) || !('on' in result)) return null;
  const on = testedStateOf(result.on);
  if (!isPart('tests', result)) return null;
  const { outcome, summary, seconds = null, output = null } = result;
  const hasOwnOutput = on === 'base' && 'base' in result;
  return {
    at,
    on,
    outcome,
    seconds,
    summary,
    output: hasOwnOutput ? (result.base as BlobRef) : output,
  };
};

const testedStateOf = (state: unknown): ReportVerification['on'] =>
  state === 'base' || state === 'proposal' ? state : 'change';

const refusalOf = (event: StepEvent): readonly ReportAttempt[] => {
  const time = iso(event.at);
  switch (event.type) {
    case 'answer_refused':
      return [{ at: time, file: event.file, outcome: event.outcome, message: event.message }];
    case 'truncation_detected':
      return [{ at: time, file: event.file, outcome: 'truncated', message: event.reason }];
    case 'edit_chunk_failed':
      return [{ at: time, file: event.file, outcome: 'failed', message: event.reason }];
    default:
      return [];
  }
};

/**
 * Returns the decisions with their answers. The events say who answered, because only what they have counted. The requests, which the client
 * and the page stored, have notes and files.
 */
const decisionsOf = ({ events, requests }: ArchivedRun): readonly ReportDecision[] => {
  const decisions = new Map<string, ReportDecision>();
  for (const event of events) {
    if (event.type === 'edit_step_paused')
      decisions.set(event.decision, {
        id: event.decision,
        reason: event.reason,
        openedAt: iso(event.at),
        answers: [],
      });
    if (event.type !== 'decided') continue;
    const { decision: id, answer } = event;
    const before = decisions.get(id) ?? { id, reason: 'approval', openedAt: null, answers: [] };
    const earlier = before.answers.filter((other) => other.answer === answer).length;
    const sent = requests.filter((request) => request.decision === id && request.answer === answer);
    decisions.set(id, {
      ...before,
      answers: [...before.answers, answerOf(event, sent[earlier] ?? null)],
    });
  }
  return [...decisions.values()];
};

/** `request`: the request with this answer; null: no client of ours sent it. */
const answerOf = (
  event: EventOf<'decided'> & StepEvent,
  request: SentRequest | null,
): ReportDecision['answers'][number] => ({
  answer: event.answer,
  files: filesOf(request, event.files),
  by: event.by,
  at: iso(event.at),
  note: request?.note ?? null,
});

const filesOf = (request: SentRequest | null, fileCount: number): DecisionRecord['files'] => {
  if (request?.select !== undefined)
    return Object.entries(request.select).map(
      ([path, changes]) => `${path} (changes ${changes.join(', ')})`,
    );
  return request?.files ?? [count(fileCount, 'file')];
};

/** Adds up the usage in the results of activities by file. An activity that is about no file (pick, brief) is listed by its name. */
const usageByFile = (activities: readonly ArchivedActivity[]): readonly FileUsage[] => {
  const sums = new Map<string, StepUsage>();
  for (const { name, file = `(${name})`, result } of activities)
    if (isRecord(result) && isPart('usage', result.usage))
      sums.set(file, addUsage(sums.get(file) ?? NO_USAGE, result.usage));
  return [...sums].map(([file, usage]) => ({ file, usage })).filter(({ usage }) => usage.calls > 0);
};
