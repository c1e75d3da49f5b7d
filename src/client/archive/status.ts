/** The status of a run from its archive, in the form in which a live run answers for itself. Pure. */
import { VERSION } from '../../shared/problems.js';
import { ANSWERS_BY_REASON, type Answer, type DecisionPoint } from '../../shared/decisions.js';
import type { EventOf, StepEvent } from '../../shared/events.js';
import { countsOf, stateOfOutcome, type RunState, type StepStatus } from '../../shared/run.js';
import type { StepEstimate } from '../../shared/usage.js';
import { withoutUndefined } from '../../shared/absence.js';
import { outcomeOf, type ArchivedRun } from './run.js';
import { shownKey } from '../../shared/ids.js';
import type { ClosedRun } from '../types.js';
import { count } from '../../shared/text.js';
import { ledgerOfEvents } from './ledger.js';

const FILES_LISTED = 10; // bound: Applied files that the line about an ended run lists.

/**
 * Returns the status of a run when its last event was archived. Events reach the archive with the next activity, so the status may not show
 * the newest pause yet.
 */
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
    ...stateOf(run, decision),
    counts: countsOf(ledger),
    decision,
    proposalId: result?.proposalId ?? run.proposal?.id ?? null,
    usage: result?.usage ?? run.usage,
    wasSplit: result?.wasSplit ?? run.events.some((event) => event.type === 'edit_split_triggered'),
    ignored: run.events
      .filter((event) => event.type === 'decision_ignored')
      .map((event) => `${event.what}: ${event.why}`),
    lastSeq: run.events.at(-1)?.seq ?? 0,
    result,
    ...withoutUndefined({
      estimate: estimated && estimateOf(estimated),
      budget: estimated?.budget,
      plan: result?.plan,
    }),
  };
};

const stateOf = (
  run: ArchivedRun,
  decision: DecisionPoint | null,
): Pick<StepStatus, 'state' | 'doing' | 'stage'> => {
  if (run.closed !== null)
    return { state: stateOfClosed(run.closed), doing: endOf(run, run.closed), stage: 'closed' };
  const state = decision === null ? 'running' : 'waiting';
  return { state, doing: lastActivityOf(run), stage: 'unknown' };
};

const estimateOf = ({
  seq: _seq,
  at: _at,
  type: _type,
  budget: _budget,
  ...estimate
}: StepEvent & EventOf<'estimated'>): StepEstimate => estimate;

const lastActivityOf = ({ activities }: ArchivedRun): string => {
  const last = activities.at(-1);
  return last === undefined
    ? 'nothing known yet'
    : `last known: ${last.name} (${outcomeOf(last.result)})`;
};

/** Returns how the run ended. A run that was cut off also names the files that it applied. */
const endOf = (
  { stepKey, applied, kept }: ArchivedRun,
  { status, result, message }: ClosedRun,
): string => {
  if (result !== null) return result.outcome;
  const end = status.toLowerCase().replaceAll('_', ' ');
  if (applied.length === 0)
    return `${end}, nothing applied${message === null ? '' : ` (${message})`}`;
  const advice = kept ? 'kept' : `emend recover --undo ${shownKey(stepKey)}`;
  const files = applied.slice(0, FILES_LISTED).join(', ');
  return `${end}, ${count(applied.length, 'file')} applied (${advice}): ${files}`;
};

/**
 * Returns the status of a run that ended, in the same words with and without a worker. A run that was cut off still answers as if it
 * continued, and the server keeps no result of a run that was cancelled from outside. The archive has both.
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
  if (result !== null) return stateOfOutcome(result.outcome);
  return status === 'CANCELLED' || status === 'TERMINATED' ? 'aborted' : 'failed';
};

const openDecision = ({ events }: ArchivedRun): DecisionPoint | null => {
  const pause = events.findLast((event) => event.type === 'edit_step_paused');
  if (pause === undefined) return null;
  const isResolved = events.some(
    (event) => event.type === 'decision_resolved' && event.decision === pause.decision,
  );
  if (isResolved) return null;
  const isOfPlan = events.some(({ type }) => type === 'plan_started');
  return {
    id: pause.decision,
    n: Number.parseInt(pause.decision, 10),
    reason: pause.reason,
    message: '',
    files: [],
    accepts: answersOf(pause.reason),
    proposalId: null,
    answered: {},
    openedAt: pause.at,
    subject: null,
    ...withoutUndefined({
      mustSign: pause.mustSign,
      ofPlan: isOfPlan ? (true as const) : undefined,
    }),
  };
};

/** Returns the answers that the reason accepts. Another version of Emend may have reasons that this one does not know. */
const answersOf = (reason: DecisionPoint['reason']): readonly Answer[] => {
  const answers = Object.hasOwn(ANSWERS_BY_REASON, reason) ? ANSWERS_BY_REASON[reason] : [];
  return [...answers, 'abort'];
};
