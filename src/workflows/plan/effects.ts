/** What a plan does next, from its state alone. */
import type { PhaseId, PlanOutcome } from '../../shared/plan.js';
import { busyWait_ms } from '../frame/log.js';
import type { FrameEffect } from '../frame/machine.js';
import { outageEffect } from '../../shared/outage.js';
import { spendingPause } from './budget.js';
import { groupOf, inWaves, isDone, unmarkedOf, type PlanState, type Revising } from './state.js';
import { reportedFor } from './reports.js';
import { dueBefore } from './revising.js';
export interface PlanMoves {
  read: object;
  /** A trigger is dealt with: judged, debugged, proposed for, carried out. */
  revise: { revising: Revising };
  begin_revising: { phase: PhaseId; trigger: Revising['trigger']; words: string };
  score: { phase: PhaseId };
  /** Until a person says resume (or stop, or abort). */
  await_resume: object;
  begin: { group: readonly PhaseId[] };
  job: { phase: PhaseId };
  run: { phases: readonly PhaseId[] };
  worktree: { phase: PhaseId };
  /** In the worktree of this phase, before a call is paid for; null: on the merged tree. */
  verify: { phase: PhaseId | null };
  merge: { phase: PhaseId };
  clean: { name: string };
  mark: { phase: PhaseId };
  checkpoint: object;
  /** The run's history has become long: the plan goes on in a new run. */
  continue: object;
  close: { outcome: PlanOutcome };
}
export type PlanMove<K extends keyof PlanMoves = keyof PlanMoves> = {
  [N in K]: { readonly kind: N } & Readonly<PlanMoves[N]>;
}[K];
export type PlanEffect = FrameEffect | PlanMove;

/** The next phases to run together; none: all are done. The order is that of the waves. */
const nextGroup = (state: PlanState): readonly PhaseId[] => {
  const open = new Set(state.phases.flatMap((phase) => (isDone(phase) ? [] : [phase.id])));
  const next =
    state.reading.plan?.waves.flat().find((wave) => wave.some((id) => open.has(id))) ?? [];
  const group = next.filter((id) => open.has(id));
  return inWaves(state) ? group : group.slice(0, 1);
};

/** Done in a worktree, and not in the plan's own branch yet. */
const toMerge = (state: PlanState): PhaseId | null =>
  groupOf(state).find(
    (phase) =>
      phase.worktree !== null && !phase.merged && phase.commits.length > 0 && isDone(phase),
  )?.id ?? null;

const endOf = (state: PlanState): PlanOutcome =>
  state.phases.every(({ status }) => status === 'completed') ? 'completed' : 'incomplete';
const estimateWanted = ({ estimateAsked: message }: PlanState): FrameEffect | null =>
  message === null
    ? null
    : { kind: 'pause', pause: { reason: 'estimate', message, files: [], subject: null } };

/** Steps of a revision that ask a model. */
const PAID: readonly Revising['step'][] = ['debug', 'propose'];

/** `long`: the history of the run should not grow any further. */
export function nextPlanEffect(state: PlanState, now: number, long: boolean): PlanEffect {
  const { stage, busy, revision, controls, counts } = state;
  const { timings } = state.input;
  if (stage.at === 'closed') return { kind: 'finish' };
  if (state.decision !== null) return { kind: 'await_decision' };
  if (state.ask !== null) return { kind: 'pause', pause: state.ask };
  if (busy.waiting) return { kind: 'wait', ms: busyWait_ms(timings.lockPoll_ms, busy.tries) };
  if (revision.current !== null) {
    const pause = PAID.includes(revision.current.step) ? spendingPause(state, now) : null;
    return outageEffect(state, now) ?? pause ?? { kind: 'revise', revising: revision.current };
  }
  switch (stage.at) {
    case 'reading':
      return { kind: 'read' };
    case 'choosing': {
      const group = nextGroup(state);
      if (group.length === 0 && revision.drifts.length === 0)
        return { kind: 'close', outcome: endOf(state) };
      if (controls.stopAfterPhase !== null) return { kind: 'close', outcome: 'stopped' };
      if (controls.pausedBy !== null) return { kind: 'await_resume' };
      const pause = estimateWanted(state) ?? spendingPause(state, now);
      if (pause !== null) return pause;
      return counts.groups > 0 && (long || counts.groups >= timings.planRun_groups)
        ? { kind: 'continue' }
        : beginEffect(state, group);
    }
    case 'worktrees': {
      const open = groupOf(state).filter((phase) => !isDone(phase));
      const without = open.find(({ worktree }) => worktree === null);
      if (without !== undefined) return { kind: 'worktree', phase: without.id };
      return { kind: 'verify', phase: open[0]?.id ?? null };
    }
    case 'merging': {
      const phase = toMerge(state);
      return phase === null ? { kind: 'verify', phase: null } : { kind: 'merge', phase };
    }
    case 'jobs': {
      const open = groupOf(state).filter((phase) => !isDone(phase));
      const first = open.find((phase) => phase.job === null);
      if (first !== undefined) return { kind: 'job', phase: first.id };
      return spendingPause(state, now) ?? { kind: 'run', phases: open.map(({ id }) => id) };
    }
    case 'running':
      return {
        kind: 'run',
        phases: groupOf(state).flatMap((phase) => (phase.status === 'running' ? [phase.id] : [])),
      };
    case 'marking': {
      const [first] = unmarkedOf(state);
      if (first !== undefined) return { kind: 'mark', phase: first.id };
      const [name] = state.worktrees.made;
      return name === undefined ? { kind: 'checkpoint' } : { kind: 'clean', name };
    }
  }
}
function beginEffect(state: PlanState, group: readonly PhaseId[]): PlanEffect {
  const due = dueBefore(state, group);
  if (due === null) return { kind: 'begin', group };
  if (due === 'drift') {
    const { text: words = '', trigger = 'scope_drift' as const } = state.revision.drifts[0] ?? {};
    return { kind: 'begin_revising', phase: reportedFor(state, group), trigger, words };
  }
  if ('failed' in due)
    return {
      kind: 'begin_revising',
      phase: due.failed,
      trigger: 'test_failure_pattern',
      words: '',
    };
  if ('score' in due) return { kind: 'score', phase: due.score };
  return { kind: 'begin_revising', phase: due.judge, trigger: 'complexity', words: '' };
}
