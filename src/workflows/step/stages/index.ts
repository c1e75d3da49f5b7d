/** The seven stages of a step, in order. Each place, each fact and each decision belongs to one of them. */
import type { PauseReason } from '../../../shared/decisions.js';
import type { FrameFacts } from '../../frame/machine.js';
import {
  type Decide,
  type Effect,
  type Facts,
  type Next,
  type On,
  pause,
  type Place,
} from '../protocol.js';
import type { StepState } from '../state.js';
import * as apply from './apply.js';
import * as build from './build.js';
import * as commit from './commit.js';
import * as preflight from './preflight.js';
import * as propose from './propose/index.js';
import * as review from './review.js';
import { baseQuestion } from './verify/base.js';
import * as verify from './verify/index.js';

/** Facts of the stages. Those that can come at any stage are in `reduce.ts`. */
type StageFact = Exclude<keyof Facts, keyof FrameFacts | 'activity_failed' | 'finished'>;

/** Reasons for which only plans ask. */
type PlanReason =
  | 'expansion'
  | 'replan_limit'
  | 'plan_changed'
  | 'merge_conflict'
  | 'resume'
  | 'cancelled'
  | 'plan_start';

/** Reasons for which a step asks. */
export type StepReason = Exclude<PauseReason, PlanReason>;

/** Reasons of decisions that can come at any stage. `decide.ts` takes up their answers. */
export type GeneralReason = 'workspace_unreachable' | 'blob_lost';

const NEXT: Next<Place> = {
  ...preflight.next,
  ...propose.next,
  ...build.next,
  ...review.next,
  ...apply.next,
  ...verify.next,
  ...commit.next,
};

export const ON: On<StageFact> = {
  ...preflight.on,
  ...propose.on,
  ...build.on,
  ...review.on,
  ...apply.on,
  ...verify.on,
  ...commit.on,
};

export const DECIDE: Decide<Exclude<StepReason, GeneralReason>> = {
  ...preflight.decide,
  ...propose.decide,
  ...build.decide,
  ...review.decide,
  ...apply.decide,
  ...verify.decide,
  ...commit.decide,
  // The one question that two stages ask.
  conflict: (state, resolution, currentTime_ms) =>
    (state.stage.at === 'commit' ? commit : apply).decide.conflict(
      state,
      resolution,
      currentTime_ms,
    ),
};

/** Places at which the tests of the base may have ended, and at which an answer about them loses nothing. */
const ASKS_ABOUT_BASE: readonly StepState['stage']['at'][] = ['propose', 'review', 'apply'];

/** Returns the next effect of a step: a question first, then what the stage of its place needs. */
export function nextEffect(state: StepState, currentTime_ms: number): Effect {
  const { stage, decision, ask } = state;
  if (stage.at === 'closed') return { kind: 'finish' };
  if (decision !== null) return { kind: 'await_decision' };
  if (ask !== null) return { kind: 'pause', pause: ask };
  const question = ASKS_ABOUT_BASE.includes(stage.at) ? baseQuestion(state) : null;
  if (question !== null) return pause(...question);
  return NEXT[stage.at](state, currentTime_ms);
}
