/** What an archive says in the words of a live run's status. Pure. */
import { VERSION } from '../../shared/problems.js';
import { ANSWERS_BY_REASON, type DecisionPoint } from '../../shared/decisions.js';
import type { EventOf, StepEvent } from '../../shared/events.js';
import {
  countsOf,
  stateOfOutcome,
  type LedgerRow,
  type RunState,
  type StepStatus,
} from '../../shared/run.js';
import type { StepEstimate } from '../../shared/usage.js';
import { outcomeOf, type ArchivedRun } from './run.js';
import { shownKey } from '../../shared/ids.js';
import type { ClosedRun } from '../types.js';
import { count } from '../../shared/text.js';

/** Where a run stood when its last event was archived: events reach the archive with the next activity, so it may lag behind a pause. */
export const archivedStatus = (
  run: ArchivedRun,
  ledger = ledgerOfEvents(run.events),
): StepStatus => {
  const { workspace = '', jobPath = '', title = '' } = run.started ?? {};
  const result = run.closed?.result ?? null;
  const decision = run.closed === null ? openDecision(run) : null;
  const estimated = run.events.findLast((event) => event.type === 'estimated');
  return {
    v: VERSION,
    stepKey: run.stepKey,
    workspace,
    jobPath,
    title,
    state:
      run.closed !== null ? stateOfClosed(run.closed) : decision === null ? 'running' : 'waiting',
    doing: run.closed === null ? lastKnown(run) : endOf(run, run.closed),
    stage: run.closed === null ? 'unknown' : 'closed',
    counts: countsOf(ledger),
    decision,
    proposalId: result?.proposalId ?? run.proposal?.id ?? null,
    usage: result?.usage ?? run.usage,
    ...(estimated === undefined
      ? {}
      : {
          estimate: estimateOf(estimated),
          budget: estimated.budget,
        }),
    wasSplit: result?.wasSplit ?? run.events.some((event) => event.type === 'edit_split_triggered'),
    ignored: run.events
      .filter((event) => event.type === 'decision_ignored')
      .map((event) => `${event.what}: ${event.why}`),
    lastSeq: run.events.at(-1)?.seq ?? 0,
    result,
    ...(result?.plan === undefined ? {} : { plan: result.plan }),
  };
};

const estimateOf = ({
  seq: _s,
  at: _at,
  type: _type,
  budget: _budget,
  ...estimate
}: StepEvent & EventOf<'estimated'>): StepEstimate => estimate;

const lastKnown = ({ activities }: ArchivedRun): string => {
  const last = activities.at(-1);
  return last === undefined
    ? 'nothing known yet'
    : `last known: ${last.name} (${outcomeOf(last.result)})`;
};

/** A run that was cut off says what of it is still in the workspace. */
const endOf = (
  { stepKey, applied, kept }: ArchivedRun,
  { status, result, message }: ClosedRun,
): string => {
  if (result !== null) return result.outcome;
  const how = status.toLowerCase().replaceAll('_', ' ');
  if (applied.length === 0)
    return `${how}, nothing applied${message === null ? '' : ` (${message})`}`;
  const what = kept ? 'kept' : `emend recover --undo ${shownKey(stepKey)}`;
  return `${how}, ${count(applied.length, 'file')} applied (${what}): ${applied.slice(0, 10).join(', ')}`;
};

/**
 * A run that was cut off still answers as if it went on, and one that was cancelled from outside has a result that the server did not
 * keep. This is how it ended, in the same words with and without a worker.
 */
export const cutOff = (status: StepStatus, run: ArchivedRun): StepStatus => {
  const closed = run.closed?.result;
  // The archive has the commit of a run whose records on the server are from before it.
  if (closed != null && closed.commit !== null && status.result?.commit === null)
    return { ...status, result: { ...status.result, commit: closed.commit } };
  if (closed !== null) return status;
  const { state, stage, doing, decision, result } = archivedStatus(run);
  return { ...status, state, stage, doing, decision, result };
};

const stateOfClosed = ({ status, result }: ClosedRun): RunState => {
  if (result === null)
    return status === 'CANCELLED' || status === 'TERMINATED' ? 'aborted' : 'failed';
  return stateOfOutcome(result.outcome);
};

const openDecision = (run: ArchivedRun): DecisionPoint | null => {
  const paused = run.events.findLast((event) => event.type === 'edit_step_paused');
  if (paused === undefined) return null;
  const resolved = run.events.some(
    (event) => event.type === 'decision_resolved' && event.decision === paused.decision,
  );
  if (resolved) return null;
  return {
    id: paused.decision,
    n: Number.parseInt(paused.decision, 10),
    reason: paused.reason,
    message: '',
    files: [],
    // Another Emend's reason may be none of ours.
    accepts: [
      ...(Object.hasOwn(ANSWERS_BY_REASON, paused.reason) ? ANSWERS_BY_REASON[paused.reason] : []),
      'abort',
    ],
    proposalId: null,
    answered: {},
    openedAt: paused.at,
    subject: null,
    ...(paused.mustSign === undefined ? {} : { mustSign: true }),
    ...(run.events.some(({ type }) => type === 'plan_started') ? { ofPlan: true } : {}),
  };
};

/** The ledger as far as events tell it. `before`: what it was before them. */
export const ledgerOfEvents = (
  events: readonly StepEvent[],
  before: readonly LedgerRow[] = [],
): readonly LedgerRow[] => {
  const rows = new Map(before.map((row) => [row.path, row]));
  const picked = new Map<string, string>();
  const change = (path: string, changed: Partial<LedgerRow>, attempts = 0): void => {
    const isOpen = ({ status }: LedgerRow): boolean =>
      status === 'pending' || status === 'in_progress';
    for (const row of path === '*' ? [...rows.values()].filter(isOpen) : [rows.get(path)])
      if (row !== undefined)
        rows.set(row.path, { ...row, ...changed, attempts: row.attempts + attempts });
  };
  for (const event of events) {
    if (event.type === 'files_picked')
      for (const { path, why } of event.files) picked.set(path, why);
    const why = event.type === 'format_chosen' ? picked.get(event.file_path) : undefined;
    if (event.type === 'format_chosen')
      rows.set(event.file_path, {
        path: event.file_path,
        status: event.deletes === true ? 'done' : 'pending',
        attempts: rows.get(event.file_path)?.attempts ?? 0,
        format: event.format,
        bucket: event.bucket,
        lines: event.line_count,
        isNew: false,
        ...(event.deletes === undefined ? {} : { deletes: event.deletes }),
        outputBudget_tokens: 0,
        reason: null,
        ...(why === undefined ? {} : { why }),
        verdict: null,
      });
    if (event.type === 'edit_chunk_started') change(event.file, { status: 'in_progress' }, 1);
    if (event.type === 'model_down') change(event.file, { status: 'pending' }, -1);
    if (event.type === 'edit_split_triggered') change('*', { status: 'pending' });
    if (event.type === 'edit_chunk_completed') {
      const { file, unchanged } = event;
      change(file, {
        status: 'done',
        reason: unchanged === undefined ? null : `unchanged: ${unchanged}`,
      });
    }
    if (event.type === 'edit_chunk_failed')
      change(event.file, { status: 'failed', reason: event.reason });
    if (event.type === 'decided')
      for (const path of event.skipped) change(path, { status: 'skipped', reason: null });
    if (event.type === 'answer_refused') change(event.file, { reason: event.message });
  }
  return [...rows.values()];
};
