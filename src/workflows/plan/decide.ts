/** What a person's decision does to a plan. Which decisions count is in shared/validate-decision.ts. Pure. */
import type { PhaseId } from '../../shared/plan.js';
import { recordOf, seenWith, resolvedBy, waitsForHost } from '../frame/decision-state.js';
import type { Answer, DecisionPoint, DecisionRequest } from '../../shared/decisions.js';
import type { Limits } from '../../shared/limits.js';
import { isLimitName } from '../../shared/rules.js';
import { hostOfQueue } from '../../shared/names.js';
import { decidedBy, emit, leftOnHost, tryNow } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { spentOf } from './budget.js';
import { closePhase, groupEnded } from './phase-end.js';
import { resolveChanged, resolveLeft } from './reading.js';
import { resolveMerge } from './worktrees.js';
import { onReported, withoutCurrent } from './reports.js';
import { resolveRevision } from './revising.js';
import { resolveStart, withTests } from './start.js';
import {
  closePlan,
  groupOf,
  isDone,
  phaseOf,
  readAfterWait,
  readAgain,
  withPhase,
  type PlanState,
} from './state.js';

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
  open: DecisionPoint,
  request: DecisionRequest,
): Partial<Limits> {
  const requested = Object.fromEntries(
    Object.entries(request.set ?? {}).filter(
      ([name, value]) => isLimitName(state.input.rules, name) && typeof value === 'number',
    ),
  ) as Partial<Limits>;
  const reached = open.subject;
  if (open.reason !== 'budget' || reached === null || !isLimitName(state.input.rules, reached))
    return requested;
  // What cannot be counted is not limited any more, whatever the answer sets.
  if (reached === 'budget_usd' && spentOf(state, 0).usage.usd === null) requested[reached] = null;
  else requested[reached] ??= raisedLimit(state, reached);
  return requested;
}

/** Returns the limit raised by as much as it was at the start of the plan. */
function raisedLimit(state: PlanState, name: keyof Limits): number {
  const fallback = name === 'budget_usd' ? (state.expected?.budget?.usd ?? 0) : 0;
  const limit = state.limits?.[name] ?? fallback;
  return limit + (state.reading.plan?.limits[name] ?? fallback);
}

/** What a request that counts (see `validateDecision`) does to the state. */
export function applyPlanDecision(
  state: PlanState,
  request: DecisionRequest,
  now: number,
): PlanState {
  const open = state.decision;
  const seen = { ...state, seenRequests: seenWith(state, request.requestId) };
  const closed =
    open === null ? seen : { ...seen, ...resolvedBy(seen, open, [recordOf(request, now)], now) };
  const by = `${request.by.name} (${request.by.from})`;
  if (request.answer === 'abort') return abortPlan(closed, by, now, waitsForHost(state));
  if (open === null) return tryNow(seen, request, now);
  const told = emit(withSettings(closed, open, request), now, decidedBy(request, open.id));
  const resolvedEvent = {
    type: 'decision_resolved',
    decision: open.id,
    reason: open.reason,
  } as const;
  const resolved = resolve(emit(told, now, resolvedEvent), open, request, now);
  // What failed is made again as it was.
  return state.again ? resolved : readAfterWait(resolved);
}

function resolve(
  before: PlanState,
  open: DecisionPoint,
  request: DecisionRequest,
  now: number,
): PlanState {
  const { asked, again } = before;
  const state = { ...before, again: false };
  if (again && MADE_AGAIN.has(request.answer))
    return makeAgain({ ...state, asked: null }, asked, request);
  if (open.reason === 'configuration')
    return request.answer === 'trust' ? trustConfiguration(state) : state;
  if (open.reason === 'test_command') return withTests(state, request, open.subject);
  if (open.reason === 'plan_start') return resolveStart(state, open, request);
  if (open.reason === 'estimate') return { ...state, estimateAsked: null };
  if (open.reason === 'runaway') return { ...state, mayExceedEstimate: true };
  if (open.reason === 'resume') return resolveLeft(state, request.answer === 'resume', now);
  if (open.reason === 'plan_changed') return resolveChanged(state, request.answer === 'take_new');
  if (open.reason === 'tests_failed' && request.answer !== 'skip')
    return resolveTests({ ...state, asked: null }, asked, request, now);
  // Reading, or a host that is back: the same move again.
  if (asked === null) return state;
  const next = { ...state, asked: null };
  return resolveRevision(next, request, now) ?? resolvePhase(next, asked, request, now);
}

/** On the merged tree (`id` null) or before phases begin: as it is, with the plan revised after that, or mended by hand and tested again. */
function resolveTests(
  state: PlanState,
  id: PhaseId | null,
  { answer, note = '', by }: DecisionRequest,
  now: number,
) {
  const report = {
    text: note.slice(0, state.input.rules.bounds.reason_chars),
    by: by.name,
    trigger: 'person',
  } as const;
  const told = answer === 'revise' ? onReported(state, report, now) : state;
  if (id === null)
    return answer === 'manual' ? told : { ...told, stage: { at: 'marking' } as const };
  if (answer === 'continue')
    return { ...within(told, 'group', { baseTested: true }), stage: { at: 'jobs' } as const };
  // The group begins anew, in worktrees of the branch as it is then; those that were made go first.
  const none = { worktree: null, tree: null, job: null };
  const left = groupOf(told).reduce(
    (next, phase) => (isDone(phase) ? next : withPhase(next, phase.id, none)),
    told,
  );
  return { ...within(left, 'group', { ids: [] }), stage: { at: 'marking' } as const };
}

/** The next reading accepts the contents that the question was about. */
function trustConfiguration(state: PlanState): PlanState {
  const { untrusted = [], trusts = [] } = state.reading;
  return within(state, 'reading', { trusts: [...trusts, ...untrusted], untrusted: [] });
}

const MADE_AGAIN: ReadonlySet<Answer> = new Set(['retry', 'wait', 'regenerate']);

/** The activity failed, and not what it is for: the state still says which move comes next. */
function makeAgain(
  before: PlanState,
  id: PhaseId | null,
  { answer, note }: DecisionRequest,
): PlanState {
  const state = id === null || note === undefined ? before : withPhase(before, id, { note });
  const { stage } = state;
  if (answer !== 'regenerate' || (stage.at !== 'choosing' && stage.at !== 'jobs')) return state;
  // Something stored is gone: the plan is read again, and what was being revised comes up again with what is there then.
  const lost = id === null ? [] : phaseOf(state, id).failures;
  const without = { report: null, failures: lost.map((failure) => ({ ...failure, output: null })) };
  return withoutCurrent(
    readAgain(id === null ? state : withPhase(state, id, without), { renew: true }),
  );
}
function resolvePhase(
  state: PlanState,
  id: PhaseId,
  request: DecisionRequest,
  now: number,
): PlanState {
  // It was committed and is only not marked: its mark is what is asked about.
  const { at } = state.stage;
  if (at === 'marking') {
    if (request.answer === 'retry') return withPhase(state, id, { marksLost: 0 });
    return withPhase(state, id, { marked: true, markSkipped: true });
  }
  if (at === 'merging') return resolveMerge(state, id, request);
  // Its worktree, or the tests before it begins: the same move again.
  if (at === 'worktrees' && request.answer === 'retry') return state;
  const jobless = withPhase(state, id, { job: null });
  switch (request.answer) {
    case 'manual':
      return closePhase(jobless, id, { as: 'completed', why: 'done manually' }, now);
    case 'skip':
      return closePhase(
        jobless,
        id,
        { as: 'skipped', why: request.note ?? 'skipped by a person' },
        now,
      );
    default: {
      const { tree: made, worktree: last } = phaseOf(state, id);
      const worktree = made === null ? last : null;
      const wanted = {
        status: 'pending',
        why: null,
        job: null,
        note: request.note ?? null,
        worktree,
      } as const;
      const next = withPhase(state, id, { ...wanted, cancelled: false });
      // Each of the others that failed is asked about, too, before any runs again.
      const asks = groupOf(next).some(({ cancelled, tree }) => cancelled || tree !== null);
      if (asks) return groupEnded(next, now);
      // ◆ Before a group has begun there is none to run: at stage `jobs` the plan would run no phase, again and again.
      return state.group.ids.length === 0 ? next : { ...next, stage: { at: 'jobs' } };
    }
  }
}

/** Ends the plan; its children have ended before. What is committed stays, and is marked by the next run of the plan. */
export const abortPlan = (
  state: PlanState,
  by: string,
  now: number,
  withoutHost = waitsForHost(state),
): PlanState => {
  const told = emit({ ...state, abortedBy: by }, now, { type: 'abort_requested', by });
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
    open ? { ...told, openOnHost } : told,
    'aborted',
    now,
    open ? leftOnHost(openOnHost) : null,
  );
};

/** Of the plan as a whole; taken up between phases. */
export function onControl(
  state: PlanState,
  control: 'pause' | 'resume' | 'stop',
  by: string,
  now: number,
): PlanState {
  const { pausedBy, stopAfterPhase } = state.controls;
  switch (control) {
    case 'pause':
      if (pausedBy !== null) return state;
      return emit(within(state, 'controls', { pausedBy: by }), now, { type: 'plan_paused', by });
    case 'resume':
      if (pausedBy === null && stopAfterPhase === null) return state;
      return readAfterWait(
        emit({ ...state, controls: { pausedBy: null, stopAfterPhase: null } }, now, {
          type: 'plan_resumed',
          by,
        }),
      );
    case 'stop':
      return emit(within(state, 'controls', { stopAfterPhase: by }), now, {
        type: 'plan_stop_wanted',
        by,
      });
  }
}
