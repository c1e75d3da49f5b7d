/** Worktrees: gives each phase of a group its own, tests there before a call is paid for, and records which are removed. */
import type { PhaseId } from '../../../shared/plan.js';
import type { PrepareWorktreeResult } from '../../../shared/plan-activities.js';
import { emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import type { Next, On, PlanEffect, PlanFacts } from '../protocol.js';
import { groupOf, isDone, phaseOf } from '../selectors.js';
import type { PlanState } from '../state.js';
import { askAbout, withPhase } from '../ways.js';

export const next: Next<'worktrees'> = { worktrees: worktreesEffect };

export const on: On<'worktree_ready' | 'worktree_removed' | 'worktrees_wanted'> = {
  worktree_ready: (state, { phase, name, result }) => onWorktree(state, phase, name, result),
  worktree_removed: onWorktreeRemoved,
  worktrees_wanted: (state) => ({ ...state, stage: { at: 'worktrees' } }),
};

function worktreesEffect(state: PlanState): PlanEffect {
  const open = groupOf(state).filter((phase) => !isDone(phase));
  const without = open.find(({ worktree }) => worktree === null);
  if (without !== undefined) return { kind: 'worktree', phase: without.id };
  return { kind: 'verify', phase: open[0]?.id ?? null };
}

function onWorktree(
  state: PlanState,
  id: PhaseId,
  name: string,
  result: PrepareWorktreeResult,
): PlanState {
  const { made: names } = state.worktrees;
  const known = names.includes(name)
    ? state
    : within(state, 'worktrees', { made: [...names, name] });
  if (result.outcome === 'ready') {
    const { workspace, base } = result;
    return withPhase(known, id, { worktree: { name, workspace }, tree: { name, base } });
  }
  const message = `the worktree of Phase ${phaseOf(state, id).number}: ${result.why}`;
  return askAbout(known, id, 'engine_failed', message);
}

function onWorktreeRemoved(
  state: PlanState,
  { name, result }: PlanFacts['worktree_removed'],
  currentTime_ms: number,
): PlanState {
  const { dropped, kept: ref } = result;
  const { made: names, kept } = state.worktrees;
  const remaining = within(state, 'worktrees', { made: names.filter((known) => known !== name) });
  const removed = emit(remaining, currentTime_ms, {
    type: 'worktree_removed',
    name,
    dropped,
    ...(ref === null ? {} : { kept: ref }),
  });
  if (dropped === null || ref === null) return removed;
  return within(removed, 'worktrees', { kept: [...kept, { name, ref, commit: dropped }] });
}
