/** What the archive tells of a run: enough to answer for it with no worker, or with no server at all. Pure. */
import { ANSWERS_BY_REASON } from '../shared/decisions.js';
import type { DecisionPoint } from '../shared/decisions.js';
import type { StepEvent } from '../shared/events.js';
import type { FileStatus, LedgerRow, Queues, RunState, StepResult, StepStatus } from '../shared/protocol.js';
import type { StepKey } from '../shared/refs.js';
import { NO_USAGE } from '../shared/state.js';
import type { ArchiveEntry } from '../workspace/types.js';
import type { ClosedRun } from './types.js';

/** What the client notes when a run has started. */
export interface StartedData {
  readonly v: 1;
  readonly workflowId: string;
  readonly runId: string;
  readonly namespace: string;
  readonly address: string;
  readonly queues: Queues;
  readonly workspace: string;
  readonly jobPath: string;
  readonly title: string;
}

export interface ArchivedRun {
  readonly stepKey: StepKey;
  readonly started: StartedData | null;
  /** ISO time of the first and the last entry. */
  readonly firstAt: string | null;
  readonly lastAt: string | null;
  /** In order of `seq`, each once. */
  readonly events: readonly StepEvent[];
  /** Null: not known to have ended. */
  readonly closed: ClosedRun | null;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const isEvent = (data: unknown): data is StepEvent =>
  isRecord(data) && typeof data.seq === 'number' && typeof data.type === 'string';

const isStarted = (data: unknown): data is StartedData => isRecord(data) && typeof data.workflowId === 'string';

const isClosed = (data: unknown): data is ClosedRun =>
  isRecord(data) && typeof data.status === 'string' && 'result' in data;

export const archivedRun = (stepKey: StepKey, entries: readonly ArchiveEntry[]): ArchivedRun => {
  const of = (kind: ArchiveEntry['kind']): unknown[] =>
    entries.filter((entry) => entry.kind === kind).map((entry) => entry.data);
  const events = new Map<number, StepEvent>();
  for (const event of of('event').filter(isEvent)) if (!events.has(event.seq)) events.set(event.seq, event);
  return {
    stepKey,
    started: of('started').find(isStarted) ?? null,
    firstAt: entries[0]?.at ?? null,
    lastAt: entries.at(-1)?.at ?? null,
    events: [...events.values()].sort((a, b) => a.seq - b.seq),
    closed: of('closed').filter(isClosed).at(-1) ?? null,
  };
};

/** Where a run stood when its last event was archived: events reach the archive with the next activity, so it may lag behind a pause. */
export const archivedStatus = (run: ArchivedRun): StepStatus => {
  const result = run.closed?.result ?? null;
  const decision = run.closed === null ? openDecision(run) : null;
  const ledger = ledgerOfEvents(run.events);
  const count = (status: FileStatus): number => ledger.filter((row) => row.status === status).length;
  return {
    v: 1,
    stepKey: run.stepKey,
    workspace: run.started?.workspace ?? '',
    jobPath: run.started?.jobPath ?? '',
    title: run.started?.title ?? '',
    state: archivedState(run, decision),
    doing: run.closed === null ? 'unknown: the archive may lag behind' : (run.closed.message ?? ''),
    stage: run.closed === null ? 'unknown' : 'closed',
    counts: {
      pending: count('pending'),
      in_progress: count('in_progress'),
      done: count('done'),
      failed: count('failed'),
      skipped: count('skipped'),
    },
    decision,
    proposalId: result?.proposalId ?? run.events.filter((event) => event.type === 'sealed').at(-1)?.proposal ?? null,
    usage: result?.usage ?? NO_USAGE,
    wasSplit: result?.wasSplit ?? run.events.some((event) => event.type === 'edit_split_triggered'),
    ignored: run.events
      .filter((event) => event.type === 'decision_ignored')
      .map((event) => `${event.what}: ${event.why}`),
    lastSeq: run.events.at(-1)?.seq ?? 0,
    result,
  };
};

const archivedState = (run: ArchivedRun, decision: DecisionPoint | null): RunState => {
  if (run.closed === null) return decision === null ? 'running' : 'waiting';
  return stateOfClosed(run.closed);
};

export const stateOfClosed = ({ status, result }: ClosedRun): RunState => {
  if (result === null) return status === 'CANCELLED' || status === 'TERMINATED' ? 'aborted' : 'failed';
  if (result.outcome === 'aborted') return 'aborted';
  return stateOfOutcome(result);
};

const stateOfOutcome = ({ outcome }: StepResult): RunState =>
  outcome === 'failed' || outcome === 'refused' ? 'failed' : 'done';

const openDecision = (run: ArchivedRun): DecisionPoint | null => {
  const paused = run.events.filter((event) => event.type === 'edit_step_paused').at(-1);
  if (paused === undefined) return null;
  const settled = run.events.some((event) => event.type === 'decision_settled' && event.decision === paused.decision);
  if (settled) return null;
  return {
    id: paused.decision,
    n: Number.parseInt(paused.decision, 10),
    reason: paused.reason,
    message: '',
    files: [],
    accepts: [...ANSWERS_BY_REASON[paused.reason], 'abort'],
    proposalId: null,
    answered: {},
    openedAt: paused.at,
    subject: null,
  };
};

/** The ledger as far as events tell it. */
export const ledgerOfEvents = (events: readonly StepEvent[]): readonly LedgerRow[] => {
  const rows = new Map<string, LedgerRow>();
  const change = (path: string, changed: Partial<LedgerRow>): void => {
    const row = rows.get(path);
    if (row !== undefined) rows.set(path, { ...row, ...changed });
  };
  for (const event of events) {
    if (event.type === 'format_chosen')
      rows.set(event.file_path, {
        path: event.file_path,
        status: 'pending',
        attempts: 0,
        format: event.format,
        bucket: event.bucket,
        lines: event.line_count,
        isNew: false,
        outputBudget_tokens: 0,
        reason: null,
        verdict: null,
      });
    if (event.type === 'edit_chunk_started') change(event.file, { status: 'in_progress' });
    if (event.type === 'edit_chunk_completed') change(event.file, { status: 'done', reason: null });
    if (event.type === 'edit_chunk_failed') change(event.file, { status: 'failed', reason: event.reason });
    if (event.type === 'answer_refused') change(event.file, { attempts: event.attempt, reason: event.message });
  }
  return [...rows.values()];
};
