/** The stages of a plan, in order. Each place, each fact and each decision belongs to one of them. */
import type { FrameFacts } from '../../frame/machine.js';
import { busyWait_ms } from '../../frame/log.js';
import type { Decide, Next, On, Place, PlanEffect, PlanFacts } from '../protocol.js';
import type { PlanState } from '../state.js';
import * as choose from './choose.js';
import * as jobs from './jobs.js';
import * as mark from './mark.js';
import * as merge from './merge.js';
import * as phases from './phases.js';
import * as read from './read/index.js';
import * as revise from './revise/index.js';
import * as start from './start.js';
import * as tests from './tests.js';
import * as worktrees from './worktrees.js';

/** Facts of the stages. Those that can come at any stage are in `reduce.ts`. */
type StageFact = Exclude<
  keyof PlanFacts,
  keyof FrameFacts | 'activity_failed' | 'reported' | 'control_received' | 'closed'
>;

/** Reasons of decisions that one stage asks. All others can come at any stage; `decide.ts` takes up their answers. */
export type StageReason =
  | 'configuration'
  | 'resume'
  | 'plan_changed'
  | 'plan_start'
  | 'test_command'
  | 'estimate'
  | 'runaway'
  | 'expansion'
  | 'replan_limit'
  | 'tests_failed'
  | 'cancelled'
  | 'merge_conflict';

const NEXT: Next<Place> = {
  ...read.next,
  ...choose.next,
  ...jobs.next,
  ...worktrees.next,
  ...phases.next,
  ...merge.next,
  ...mark.next,
};

export const ON: On<StageFact> = {
  ...read.on,
  ...choose.on,
  ...revise.on,
  ...jobs.on,
  ...worktrees.on,
  ...tests.on,
  ...phases.on,
  ...merge.on,
  ...mark.on,
};

export const DECIDE: Decide<StageReason> = {
  ...read.decide,
  ...start.decide,
  ...choose.decide,
  ...revise.decide,
  ...tests.decide,
  ...phases.decide,
};

/** Returns the next effect of a plan: a question first, then what it revises, then what the stage of its place needs. */
export function nextPlanEffect(
  state: PlanState,
  currentTime_ms: number,
  long: boolean,
): PlanEffect {
  const { stage, decision, ask, busy, revision, input } = state;
  if (stage.at === 'closed') return { kind: 'finish' };
  if (decision !== null) return { kind: 'await_decision' };
  if (ask !== null) return { kind: 'pause', pause: ask };
  if (busy.waiting) return { kind: 'wait', ms: busyWait_ms(input.timings.lockPoll_ms, busy.tries) };
  if (revision.current !== null)
    return revise.reviseEffect(state, revision.current, currentTime_ms);
  return NEXT[stage.at](state, { currentTime_ms, long });
}
