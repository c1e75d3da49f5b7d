/** Phases that run beside each other: their worktrees, the merges into the plan's own branch, the tests of what came together. Pure. */
import type { PhaseId } from '../../shared/plan.js';
import type { DecisionRequest } from '../../shared/decisions.js';
import { PASSED, type RunTestsResult, type TestRun } from '../../shared/test-activities.js';
import { emit, warnOfWrites } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { cut } from '../../shared/rules.js';
import {
  askAbout,
  busyAgain,
  FREE,
  groupOf,
  phaseOf,
  withPhase,
  type PhaseEntry,
  type PlanState,
} from './state.js';
import type { MergePhaseResult, PrepareWorktreeResult } from '../../shared/plan-activities.js';

export const worktreeName = ({
  id,
  runs,
  tree,
}: Pick<PhaseEntry, 'id' | 'runs' | 'tree'>): string => tree?.name ?? `${id}-${runs + 1}`;

/** A phase beside others works in a worktree of its own and nowhere else. */
export const lacksWorktree = ({ group }: PlanState, { worktree, tree }: PhaseEntry): boolean =>
  worktree === null && (group.ids.length > 1 || tree !== null);

export function onWorktree(
  state: PlanState,
  id: PhaseId,
  name: string,
  result: PrepareWorktreeResult,
): PlanState {
  const { made: names } = state.worktrees;
  const made = names.includes(name)
    ? state
    : within(state, 'worktrees', { made: [...names, name] });
  if (result.outcome === 'ready') {
    const { workspace, base } = result;
    return withPhase(made, id, { worktree: { name, workspace }, tree: { name, base } });
  }
  return askAbout(
    made,
    id,
    'engine_failed',
    `the worktree of Phase ${phaseOf(state, id).number}: ${result.why}`,
  );
}

const passed = ({ outcome }: TestRun): boolean => PASSED.includes(outcome);

/** Before the phases begin (`base`): where the tests fail already nothing is paid for. After the merges: do they still pass together? */
export function onGroupVerified(
  state: PlanState,
  base: boolean,
  result: RunTestsResult,
  now: number,
): PlanState {
  if (result.outcome === 'no_sandbox')
    return askAbout(
      state,
      base ? (groupOf(state)[0]?.id ?? null) : null,
      'engine_failed',
      result.why,
    );
  if (!('on' in result) || result.on !== 'workspace') return state;
  if (base) {
    const tested = warnOfWrites(state, 'the tests before the phases', result, now);
    if (passed(result))
      return { ...within(tested, 'group', { baseTested: true }), stage: { at: 'jobs' } };
    const first = groupOf(state)[0]?.id ?? null;
    return askAbout(
      tested,
      first,
      'tests_failed',
      `the tests fail before the phases start: ${result.summary}`,
    );
  }
  const { outcome, summary } = result;
  const tested = emit(state, now, {
    type: 'merged_tested',
    outcome,
    summary: cut(state.input.rules, summary),
  });
  const warned = warnOfWrites(tested, 'the tests of the merged phases', result, now);
  if (passed(result))
    return { ...within(warned, 'group', { mergedTested: true }), stage: { at: 'marking' } };
  return askAbout(warned, null, 'tests_failed', `the merged phases fail their tests: ${summary}`);
}

export function onMerged(
  state: PlanState,
  id: PhaseId,
  result: MergePhaseResult,
  now: number,
): PlanState {
  const { number } = phaseOf(state, id);
  const free = { ...state, busy: FREE };
  switch (result.outcome) {
    case 'busy':
      return busyAgain(state);
    case 'merged': {
      const { commits: known } = state.records;
      const commits = result.commit === null ? known : [...known, result.commit];
      const merged = within(withPhase(free, id, { merged: true }), 'group', {
        mergedTested: false,
      });
      return emit(within(merged, 'records', { commits }), now, {
        type: 'phase_merged',
        phase: number,
        commit: result.commit,
      });
    }
    case 'conflict': {
      const message = `Phase ${number} changed the same lines as a parallel phase: ${result.files.join(', ')}`;
      return askAbout(free, id, 'merge_conflict', message);
    }
    case 'failed':
      return askAbout(
        free,
        id,
        'engine_failed',
        `Phase ${number} could not be merged: ${result.why}`,
      );
  }
}

/** `regenerate`: once more, from the branch as it is after the other merges. `manual`: a person has merged it. */
export function resolveMerge(state: PlanState, id: PhaseId, request: DecisionRequest): PlanState {
  const phase = phaseOf(state, id);
  const commits = state.records.commits.filter((commit) => !phase.commits.includes(commit));
  const unfinished = {
    commits: [],
    worktree: null,
    tree: null,
    merged: false,
    job: null,
    result: null,
  };
  const without = (change: Partial<PhaseEntry>): PlanState =>
    within(withPhase(state, id, { ...unfinished, ...change }), 'records', { commits });
  switch (request.answer) {
    case 'regenerate':
      return without({ status: 'pending', note: request.note ?? null });
    case 'skip':
      return without({
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
