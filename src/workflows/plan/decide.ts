/** What a person's decision does to a plan. Which decisions count is in ../judge.ts. Pure. */
import type { PhaseId } from '../../shared/plan.js';
import { recordOf, seenWith, resolvedBy, testsBy } from '../frame/decision-state.js';
import type { Answer, DecisionPoint, DecisionRecord, DecisionRequest } from '../../shared/decisions.js';
import type { Limits } from '../../shared/limits.js';
import { isLimitName } from '../../shared/rules.js';
import { hostOfQueue } from '../../shared/names.js';
import { decidedBy, emit, leftOnHost, tryNow } from '../frame/log.js';
import { closePhase, groupEnded } from './phase-end.js';
import { resolveChanged, resolveLeft } from './reading.js';
import { resolveMerge } from './worktrees.js';
import { resolveRevision } from './revising.js';
import { groupOf, phaseOf, withPhase, type PlanState } from './state.js';

/** Limits that the answer sets hold from then on, for the children too; `retry` at a reached limit without a number raises it by as much again. */
function withSettings(state: PlanState, open: DecisionPoint, request: DecisionRequest): PlanState {
  const said = Object.fromEntries(
    Object.entries(request.set ?? {}).filter(([name, value]) => isLimitName(state, name) && typeof value === 'number'),
  ) as Partial<Limits>;
  const reached = open.subject;
  const first = state.plan?.limits ?? null;
  if (open.reason === 'budget' && reached !== null && isLimitName(state, reached) && said[reached] === undefined)
    said[reached] = (state.limits?.[reached] ?? 0) + (first?.[reached] ?? 0);
  if (Object.keys(said).length === 0 || state.limits === null) return state;
  const overrides = { ...state.input.overrides, ...said } as typeof state.input.overrides;
  return { ...state, limits: { ...state.limits, ...said }, input: { ...state.input, overrides } };
}

const closedWith = (state: PlanState, open: DecisionPoint, record: DecisionRecord, now: number): PlanState => ({
  ...state,
  ...resolvedBy(state, open, [record], now),
});

export interface Decided {
  readonly request: DecisionRequest;
  readonly markLeft?: boolean;
  readonly withoutHost?: boolean;
}

/** What a request that counts (see `validateDecision`) does to the state. `markLeft`: a mark that is skipped is not looked for again. */
export function applyPlanDecision(
  state: PlanState,
  { request, markLeft = false, withoutHost = false }: Decided,
  now: number,
): PlanState {
  const open = state.decision;
  const record = recordOf(request, now);
  const seen = { ...state, seenRequests: seenWith(state, request.requestId) };
  const by = `${request.by.name} (${request.by.from})`;
  if (request.answer === 'abort')
    return abortPlan(open === null ? seen : closedWith(seen, open, record, now), by, now, withoutHost);
  if (open === null) return tryNow(seen, request, now);
  const told = emit(withSettings(closedWith(seen, open, record, now), open, request), now, decidedBy(request, open.id));
  const settledEvent = { type: 'decision_settled', decision: open.id, reason: open.reason } as const;
  return resolve(emit(told, now, settledEvent), open, { request, markLeft }, now);
}

function resolve(before: PlanState, open: DecisionPoint, decided: Decided, now: number): PlanState {
  const { request } = decided;
  const { asked, again } = before;
  const state = again === 'move' ? { ...before, again: null } : before;
  if (again === 'move' && MADE_AGAIN.has(request.answer)) return makeAgain({ ...state, asked: null }, asked, request);
  if (open.reason === 'test_command') return { ...state, ...testsBy(request, open) };
  if (open.reason === 'estimate') return { ...state, estimateAsked: null };
  if (open.reason === 'resume') return resolveLeft(state, request.answer === 'resume', now);
  if (open.reason === 'plan_changed') return resolveChanged(state, request.answer === 'take_new');
  // On the merged tree: kept as it is, or mended by hand and tested again.
  if (open.reason === 'tests_failed') return request.answer === 'keep' ? { ...state, stage: 'marking' } : state;
  // Reading, or a host that is back: the same move again.
  if (asked === null) return state;
  const revised = resolveRevision({ ...state, asked: null }, request.answer, now);
  if (revised !== null && revised !== 'skip') return revised;
  return resolvePhase({ ...state, asked: null }, asked, decided, now);
}

const MADE_AGAIN: ReadonlySet<Answer> = new Set(['retry', 'wait', 'regenerate']);

/** The activity failed, and not what it is for: the state still says which move comes next. */
function makeAgain(before: PlanState, id: PhaseId | null, { answer, note }: DecisionRequest): PlanState {
  const state = id === null || note === undefined ? before : withPhase(before, id, { note });
  const { stage, revising, drifts, reading } = state;
  if (answer !== 'regenerate' || (stage !== 'choosing' && stage !== 'jobs')) return state;
  // Something stored is gone: the plan is read again, and what was being revised comes up again with what is there then.
  const lost = id === null ? [] : phaseOf(state, id).failures;
  const without = { report: null, failures: lost.map((failure) => ({ ...failure, output: null })) };
  const report = revising?.trigger === 'scope_drift' ? [{ text: revising.words, by: 'a person' }] : [];
  return {
    ...(id === null ? state : withPhase(state, id, without)),
    ...{ stage: 'reading', reading: reading + 1, group: [], revising: null, again: 'reading' },
    drifts: [...report, ...drifts],
  };
}

/** `retry`, `manual` and `skip` of a phase. */
function resolvePhase(state: PlanState, id: PhaseId, { request, markLeft }: Decided, now: number): PlanState {
  // It was committed and is only not marked: its mark is what is asked about.
  if (state.stage === 'marking') {
    if (request.answer === 'retry') return withPhase(state, id, { marksLost: 0 });
    return withPhase(state, id, { marked: true, ...(markLeft === true ? { markLeft } : {}) });
  }
  if (state.stage === 'merging') return resolveMerge(state, id, request);
  // Its worktree, or the tests before it begins: the same move again.
  if (state.stage === 'worktrees' && request.answer === 'retry') return state;
  switch (request.answer) {
    case 'manual':
      return closePhase(withPhase(state, id, { job: null }), id, { as: 'completed', why: 'done by hand' }, now);
    case 'skip':
      return closePhase(
        withPhase(state, id, { job: null }),
        id,
        { as: 'skipped', why: request.note ?? 'skipped by a person' },
        now,
      );
    default: {
      const { tree: made, worktree: last } = phaseOf(state, id);
      const worktree = made == null ? last : null;
      const wanted = { status: 'pending', why: null, job: null, note: request.note ?? null, worktree } as const;
      const next = withPhase(state, id, { ...wanted, cancelled: false });
      // Each of the others that failed is asked about, too, before any runs again.
      const asks = groupOf(next).some(({ cancelled, tree }) => cancelled === true || tree != null);
      if (asks) return groupEnded(next);
      // ◆ Before a group has begun there is none to run: at stage `jobs` the plan would run no phase, again and again.
      return { ...next, stage: state.group.length === 0 ? state.stage : 'jobs' };
    }
  }
}

/** Ends the plan; its children have ended before. What is committed stays, and is marked by the next run of the plan. */
export const abortPlan = (state: PlanState, by: string, now: number, withoutHost: boolean): PlanState => {
  const told = emit({ ...state, abortedBy: by, ask: null, decision: null }, now, { type: 'abort_requested', by });
  // A phase that ended without the host knows it before its plan does.
  const phases = state.phases.flatMap(({ result }) => result?.openOnHost ?? []);
  const { queues, workspace } = state.input;
  const openOnHost = { host: hostOfQueue(queues.host), workspace, files: phases.flatMap(({ files }) => files) };
  const open = withoutHost || phases.length > 0 ? { openOnHost, problem: leftOnHost(openOnHost) } : {};
  const ended = { ...told, ...open, stage: 'closed', outcome: 'aborted' } as const;
  return emit(ended, now, { type: 'plan_finished', outcome: 'aborted' });
};

/** Of the plan as a whole; taken up between phases. */
export function onControl(state: PlanState, wish: 'pause' | 'resume' | 'stop', by: string, now: number): PlanState {
  switch (wish) {
    case 'pause':
      return state.pausedBy === null ? emit({ ...state, pausedBy: by }, now, { type: 'plan_paused', by }) : state;
    case 'resume': {
      if (state.pausedBy === null && state.stopAfterPhase === null) return state;
      return emit({ ...state, pausedBy: null, stopAfterPhase: null }, now, { type: 'plan_resumed', by });
    }
    case 'stop':
      return emit({ ...state, stopAfterPhase: by }, now, { type: 'plan_stop_wanted', by });
  }
}
