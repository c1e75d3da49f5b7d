/** Takes up an answer to a decision of the plan: its limits, then what follows. `shared/validate-decision.ts` decides which answers count. Pure. */
import type {
  Answer,
  DecisionPoint,
  DecisionRequest,
  PauseReason,
} from '../../shared/decisions.js';
import type { Limits } from '../../shared/limits.js';
import { hostOfQueue } from '../../shared/names.js';
import { isLimitName } from '../../shared/rules.js';
import { recordOf, resolvedBy, seenWith, decidedBy, tryNow } from '../frame/decisions/answering.js';
import { raisedLimit, requestedLimits } from '../frame/decisions/limits.js';
import { waitsForHost } from '../frame/decisions/state.js';
import { emit, leftOnHost } from '../frame/log.js';
import { spentOf } from './budget.js';
import type { Resolution } from './protocol.js';
import { phaseOf } from './selectors.js';
import { DECIDE, type StageReason } from './stages/index.js';
import { resolvePhase } from './stages/phases.js';
import type { PlanState } from './state.js';
import { closePlan, readAfterWait, readAgain, withoutCurrent, withPhase } from './ways.js';

export function applyPlanDecision(
  state: PlanState,
  request: DecisionRequest,
  currentTime_ms: number,
): PlanState {
  const { decision } = state;
  const seen = { ...state, seenRequests: seenWith(state, request.requestId) };
  const record = recordOf(request, currentTime_ms);
  const closed =
    decision === null ? seen : { ...seen, ...resolvedBy(seen, decision, [record], currentTime_ms) };
  if (request.answer === 'abort') {
    const author = `${request.by.name} (${request.by.from})`;
    return abortPlan(closed, author, currentTime_ms, waitsForHost(state));
  }
  if (decision === null) return tryNow(seen, request, currentTime_ms);
  const decided = emit(
    withSettings(closed, decision, request),
    currentTime_ms,
    decidedBy(request, decision.id),
  );
  const reported = emit(decided, currentTime_ms, {
    type: 'decision_resolved',
    decision: decision.id,
    reason: decision.reason,
  });
  const resolution = { decision, request, phase: state.asked };
  const resolved = resolve(reported, resolution, currentTime_ms);
  // A move whose activity failed is made again as it was.
  return state.again ? resolved : readAfterWait(resolved);
}

function resolve(before: PlanState, resolution: Resolution, currentTime_ms: number): PlanState {
  const state = { ...before, again: false };
  if (before.again && MADE_AGAIN.has(resolution.request.answer))
    return makeAgain({ ...state, asked: null }, resolution);
  const { reason } = resolution.decision;
  return isStageReason(reason)
    ? DECIDE[reason](state, resolution, currentTime_ms)
    : resolvePhase(state, resolution, currentTime_ms);
}

const isStageReason = (reason: PauseReason): reason is StageReason => Object.hasOwn(DECIDE, reason);

/** Sets the limits of the answer, which also hold for the children from then on. */
function withSettings(state: PlanState, open: DecisionPoint, request: DecisionRequest): PlanState {
  const requested = limitsOfAnswer(state, open, request);
  if (Object.keys(requested).length === 0 || state.limits === null) return state;
  const input = { ...state.input, overrides: { ...state.input.overrides, ...requested } };
  // The author of an answer at a budget has seen what the plan has used.
  const mayExceedEstimate = state.mayExceedEstimate || open.reason === 'budget';
  return { ...state, limits: { ...state.limits, ...requested }, input, mayExceedEstimate };
}

/** Returns the limits that the answer sets. `retry` at a reached limit without a number raises it by as much again. */
function limitsOfAnswer(
  state: PlanState,
  { reason, subject: reached }: DecisionPoint,
  request: DecisionRequest,
): Partial<Limits> {
  const requested = requestedLimits(state.input.rules, request);
  if (reason !== 'budget' || reached === null || !isLimitName(state.input.rules, reached))
    return requested;
  const isMoney = reached === 'budget_usd';
  const raised = raisedLimit(requested[reached], {
    current: state.limits?.[reached],
    first: state.reading.plan?.limits[reached],
    fallback: isMoney ? (state.expected?.budget?.usd ?? 0) : 0,
    isCounted: !isMoney || spentOf(state, 0).usage.usd !== null,
  });
  return { ...requested, [reached]: raised };
}

const MADE_AGAIN: ReadonlySet<Answer> = new Set(['retry', 'wait', 'regenerate']);

/** Makes the move again whose activity failed: the state still says which one it is. */
function makeAgain(before: PlanState, { request, phase: id }: Resolution): PlanState {
  const { answer, note } = request;
  const state = id === null || note === undefined ? before : withPhase(before, id, { note });
  const { stage } = state;
  if (answer !== 'regenerate' || (stage.at !== 'choosing' && stage.at !== 'jobs')) return state;
  // Something stored is gone: the plan is read again, and what it revised comes up again with what exists then.
  const lost = id === null ? [] : phaseOf(state, id).failures;
  const withoutLost = {
    report: null,
    failures: lost.map((failure) => ({ ...failure, output: null })),
  };
  return withoutCurrent(
    readAgain(id === null ? state : withPhase(state, id, withoutLost), { renew: true }),
  );
}

/** Ends the plan. Its children have ended before. Commits stay, and the next run of the plan marks them. */
export function abortPlan(
  state: PlanState,
  name: string,
  currentTime_ms: number,
  withoutHost = waitsForHost(state),
): PlanState {
  const aborted = emit({ ...state, abortedBy: name }, currentTime_ms, {
    type: 'abort_requested',
    by: name,
  });
  // A phase that ended without the host knows it before its plan does.
  const phases = state.phases.flatMap(({ result }) => result?.openOnHost ?? []);
  const { queues, workspace, repository } = state.input;
  const openOnHost = {
    host: hostOfQueue(queues.host),
    workspace,
    files: phases.flatMap(({ files }) => files),
  };
  const open = (withoutHost && repository === undefined) || phases.length > 0;
  return closePlan(
    open ? { ...aborted, openOnHost } : aborted,
    'aborted',
    currentTime_ms,
    open ? leftOnHost(openOnHost) : null,
  );
}
