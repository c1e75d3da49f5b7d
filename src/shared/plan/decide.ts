/** What a person's decision does to a plan. Which decisions count is in ../judge.ts. Pure. */
import { settledBy } from '../decision-state.js';
import type { DecisionPoint, DecisionRecord, DecisionRequest } from '../decisions.js';
import { isLimitName } from '../judge.js';
import type { Limits } from '../limits.js';
import { emit } from '../transitions.js';
import { left } from './phase-end.js';
import { settleChanged, settleLeft } from './read.js';
import { settleMerge } from './side-by-side.js';
import { settleRevising } from './revising.js';
import { phaseOf, withPhase } from './state.js';
import type { PhaseId, PlanState } from './types.js';

const recordOf = (request: DecisionRequest, now: number): DecisionRecord => ({
  answer: request.answer,
  files: [],
  note: request.note ?? null,
  by: request.by,
  at: now,
  requestId: request.requestId,
});

/** Limits that the answer sets hold from then on, for the children too; `retry` at a reached limit without a number raises it by as much again. */
function withSettings(state: PlanState, open: DecisionPoint, request: DecisionRequest): PlanState {
  const said = Object.fromEntries(
    Object.entries(request.set ?? {}).filter(([name, value]) => isLimitName(name) && typeof value === 'number'),
  ) as Partial<Limits>;
  const reached = open.subject;
  const first = state.plan?.limits ?? null;
  if (open.reason === 'budget' && reached !== null && isLimitName(reached) && said[reached] === undefined)
    said[reached] = (state.limits?.[reached] ?? 0) + (first?.[reached] ?? 0);
  if (Object.keys(said).length === 0 || state.limits === null) return state;
  const overrides = { ...state.input.overrides, ...said } as typeof state.input.overrides;
  return { ...state, limits: { ...state.limits, ...said }, input: { ...state.input, overrides } };
}

const closedWith = (state: PlanState, open: DecisionPoint, record: DecisionRecord, now: number): PlanState => ({
  ...state,
  ...settledBy(state, open, [record], now),
});

/** Folds a request that counts (see `judge`) into the state. */
export function applyPlanDecision(state: PlanState, request: DecisionRequest, now: number): PlanState {
  const open = state.decision;
  const record = recordOf(request, now);
  const seen = { ...state, seenRequests: [...state.seenRequests, request.requestId].slice(-200) };
  const by = `${request.by.name} (${request.by.from})`;
  if (request.answer === 'abort') return abortPlan(open === null ? seen : closedWith(seen, open, record, now), by, now);
  if (open === null) return seen;
  const decided = { type: 'decided', decision: open.id, answer: request.answer, files: 0, by } as const;
  const told = emit(withSettings(closedWith(seen, open, record, now), open, request), now, decided);
  const settledEvent = { type: 'decision_settled', decision: open.id, reason: open.reason } as const;
  return settle(emit(told, now, settledEvent), open, request, now);
}

function settle(state: PlanState, open: DecisionPoint, request: DecisionRequest, now: number): PlanState {
  const { asked } = state;
  if (open.reason === 'test_command') return settleTestCommand(state, open, request);
  if (open.reason === 'estimate') return { ...state, estimateAsked: null };
  if (open.reason === 'resume') return settleLeft(state, request.answer === 'resume', now);
  if (open.reason === 'plan_changed') return settleChanged(state, request.answer === 'take_new');
  // On the merged tree: kept as it is, or mended by hand and tested again.
  if (open.reason === 'tests_failed') return request.answer === 'keep' ? { ...state, stage: 'marking' } : state;
  // Reading, or a host that is back: the same move again.
  if (asked === null) return state;
  const revised = settleRevising({ ...state, asked: null }, request.answer, now);
  if (revised !== null && revised !== 'skip') return revised;
  return settlePhase({ ...state, asked: null }, asked, request, now);
}

/** `retry`, `manual` and `skip` of a phase. One that had been committed is only not marked: its mark is what is asked about. */
function settlePhase(state: PlanState, id: PhaseId, request: DecisionRequest, now: number): PlanState {
  if (state.stage === 'marking') {
    const { marks } = phaseOf(state, id);
    return withPhase(state, id, request.answer === 'retry' ? { marks: marks + 1 } : { marked: true });
  }
  if (state.stage === 'merging') return settleMerge(state, id, request);
  // Its worktree, or the tests before it begins: the same move again.
  if (state.stage === 'worktrees' && request.answer === 'retry') return state;
  switch (request.answer) {
    case 'manual':
      return left(withPhase(state, id, { job: null }), id, 'completed', 'done by hand', now);
    case 'skip':
      return left(withPhase(state, id, { job: null }), id, 'skipped', request.note ?? 'skipped by a person', now);
    default:
      return {
        ...withPhase(state, id, { status: 'pending', why: null, job: null, note: request.note ?? null }),
        stage: 'jobs',
      };
  }
}

function settleTestCommand(state: PlanState, open: DecisionPoint, request: DecisionRequest): PlanState {
  const command = request.answer === 'other' ? request.set?.command : open.subject;
  const answered = { ...state, testAnswered: true };
  if (request.answer === 'no_tests' || typeof command !== 'string') return { ...answered, testCommands: [] };
  return { ...answered, testCommands: [command], rememberTest: request.answer === 'run' ? command : null };
}

/** Ends the plan; its children have ended before. What is committed stays, and is marked by the next run of the plan. */
export const abortPlan = (state: PlanState, by: string, now: number): PlanState => {
  const told = emit({ ...state, abortedBy: by, ask: null, decision: null }, now, { type: 'abort_requested', by });
  return emit({ ...told, stage: 'closed', outcome: 'aborted' }, now, { type: 'plan_finished', outcome: 'aborted' });
};
