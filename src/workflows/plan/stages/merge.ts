/** Merge: brings the commits of phases that ran side by side into the plan's own branch, one after the other. */
import type { DecisionRequest } from '../../../shared/decisions.js';
import type { PhaseId } from '../../../shared/plan.js';
import type { MergePhaseResult } from '../../../shared/plan-activities.js';
import { emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import type { Next, On, PlanEffect } from '../protocol.js';
import { groupOf, isDone, phaseOf } from '../selectors.js';
import { FREE, type PhaseEntry, type PlanState } from '../state.js';
import { askAbout, busyAgain, withPhase } from '../ways.js';

export const next: Next<'merging'> = { merging: mergeEffect };

export const on: On<'phase_merged'> = {
  phase_merged: (state, { phase, result }, currentTime_ms) =>
    onMerged(state, phase, result, currentTime_ms),
};

/** Merges what is done in a worktree and not in the plan's own branch yet, then tests all together. */
function mergeEffect(state: PlanState): PlanEffect {
  const unmerged = groupOf(state).find(
    (phase) =>
      phase.worktree !== null && !phase.merged && phase.commits.length > 0 && isDone(phase),
  );
  return unmerged === undefined
    ? { kind: 'verify', phase: null }
    : { kind: 'merge', phase: unmerged.id };
}

function onMerged(
  state: PlanState,
  id: PhaseId,
  result: MergePhaseResult,
  currentTime_ms: number,
): PlanState {
  const { number } = phaseOf(state, id);
  const free = { ...state, busy: FREE };
  switch (result.outcome) {
    case 'busy':
      return busyAgain(state);
    case 'merged': {
      const { commit } = result;
      const { commits: known } = state.records;
      const merged = within(withPhase(free, id, { merged: true }), 'group', {
        mergedTested: false,
      });
      const commits = commit === null ? known : [...known, commit];
      return emit(within(merged, 'records', { commits }), currentTime_ms, {
        type: 'phase_merged',
        phase: number,
        commit,
      });
    }
    case 'conflict': {
      const message = `Phase ${number} changed the same lines as a parallel phase: ${result.files.join(', ')}`;
      return askAbout(free, id, 'merge_conflict', message);
    }
    case 'failed': {
      const message = `Phase ${number} could not be merged: ${result.why}`;
      return askAbout(free, id, 'engine_failed', message);
    }
  }
}

/** `regenerate`: runs the phase once more, from the branch as it is after the other merges. `manual`: you have merged it. */
export function resolveMerge(state: PlanState, id: PhaseId, request: DecisionRequest): PlanState {
  switch (request.answer) {
    case 'regenerate':
      return withoutWork(state, id, { status: 'pending', note: request.note ?? null });
    case 'skip':
      return withoutWork(state, id, {
        status: 'skipped',
        why: 'its merge was skipped by a person',
        marked: false,
      });
    case 'manual':
      return within(withPhase(state, id, { merged: true }), 'group', { mergedTested: false });
    default:
      return state;
  }
}

/** Forgets the commits of the phase and where it ran. */
function withoutWork(state: PlanState, id: PhaseId, change: Partial<PhaseEntry>): PlanState {
  const phase = phaseOf(state, id);
  const commits = state.records.commits.filter((commit) => !phase.commits.includes(commit));
  const unstarted: Partial<PhaseEntry> = {
    commits: [],
    worktree: null,
    tree: null,
    merged: false,
    job: null,
    result: null,
  };
  return within(withPhase(state, id, { ...unstarted, ...change }), 'records', { commits });
}
