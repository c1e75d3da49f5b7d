/** The protocol of a plan: the effects that it can want, the facts that come of them, and the shape that all its stages have. */
import type { ActivityName, ResultOf } from '../../shared/activities.js';
import type { DecisionPoint, DecisionRequest, PauseReason } from '../../shared/decisions.js';
import type { PhaseId, PlanOutcome, Report } from '../../shared/plan.js';
import type { StepResult } from '../../shared/run.js';
import type { StepUsage } from '../../shared/usage.js';
import type {
  ActivityFailed,
  FactOf,
  Folds,
  FrameEffect,
  FrameFacts,
  RunIo,
} from '../frame/machine.js';
import type { PlanStage, PlanState, Revising } from './state.js';

/** What the workflow does next. `workflow.ts` has the work of each move. */
export type PlanEffect = FrameEffect | PlanMove;

export interface PlanMoves {
  read: object;
  /** Debugs a phase, proposes a replan or writes one. */
  revise: { revising: Revising };
  begin_revising: { phase: PhaseId; trigger: Revising['trigger']; words: string };
  score: { phase: PhaseId };
  /** Waits until somebody resumes, stops or aborts the plan. */
  await_resume: object;
  begin: { group: readonly PhaseId[] };
  job: { phase: PhaseId };
  run: { phases: readonly PhaseId[] };
  worktree: { phase: PhaseId };
  /** Tests in the worktree of this phase, before a call is paid for; null: on the merged tree. */
  verify: { phase: PhaseId | null };
  merge: { phase: PhaseId };
  clean: { name: string };
  mark: { phase: PhaseId };
  checkpoint: object;
  /** The history of the run has become long: the plan goes on in a new run. */
  continue: object;
  close: { outcome: PlanOutcome };
}
export type PlanMove<K extends keyof PlanMoves = keyof PlanMoves> = {
  [N in K]: { readonly kind: N } & Readonly<PlanMoves[N]>;
}[K];

interface OfPhase<N extends ActivityName> {
  phase: PhaseId;
  result: ResultOf<N>;
}
interface OfRevising<N extends ActivityName> {
  revising: Revising;
  result: ResultOf<N>;
}

/** Facts of a plan, by their type. */
export interface PlanFacts extends FrameFacts {
  plan_read: { result: ResultOf<'readPlan'> };
  begun: { group: readonly PhaseId[] };
  job_made: OfPhase<'writePhaseJob'>;
  phases_started: { phases: readonly PhaseId[] };
  phase_ended: { ended: EndedPhase };
  worktree_ready: OfPhase<'prepareWorktree'> & { name: string };
  worktree_removed: { name: string; result: ResultOf<'removeWorktree'> };
  group_verified: { base: boolean; result: ResultOf<'runTests'> };
  /** There is no test command, so nothing is tested. */
  group_untested: { base: boolean };
  phase_merged: OfPhase<'mergePhase'>;
  phase_marked: OfPhase<'markPhase'>;
  scored: OfPhase<'scorePhase'>;
  revise: { phase: PhaseId; trigger: Revising['trigger']; words: string };
  debugged: OfRevising<'debugPhase'>;
  proposed: OfRevising<'proposeReplan'>;
  replanned: OfRevising<'applyReplan'>;
  reported: { report: Report };
  checkpointed: { result: ResultOf<'saveCheckpoint'> };
  /** Phases that run side by side have no worktrees: each gets its own before it runs. */
  worktrees_wanted: object;
  control_received: { control: 'pause' | 'resume' | 'stop'; by: string };
  activity_failed: ActivityFailed & { phase: PhaseId | null };
  closed: { outcome: PlanOutcome };
}
export type PlanFact<T extends keyof PlanFacts = keyof PlanFacts> = FactOf<PlanFacts, T>;

export interface EndedPhase {
  readonly phase: PhaseId;
  /** Null: it was terminated, cancelled or failed; `how` is Temporal's word or its message. */
  readonly result: StepResult | null;
  readonly how: string;
  /** Somebody else than its plan cancelled it. */
  readonly cancelled?: boolean;
  /** Its plan cancelled it, as the plan is being aborted. */
  readonly withPlan?: boolean;
  /** Usage according to the journal, if there is no result. */
  readonly usage?: StepUsage;
}

/** What the moves of a plan are made with; each is about a phase, or about the plan as a whole. */
export type PlanRun = RunIo<PlanState, PlanFact, PhaseId | null>;

/** A place in which a plan has something left to do. */
export type Place = Exclude<PlanStage['at'], 'closed'>;

/** What is known besides the state. `long`: the history of the run should not grow any further. */
export interface Moment {
  readonly currentTime_ms: number;
  readonly long: boolean;
}

/** Gives the next effect at each place of a stage. */
export type Next<P extends Place> = Readonly<
  Record<P, (state: PlanState, moment: Moment) => PlanEffect>
>;

/** Folds each fact of a stage into the state. */
export type On<T extends keyof PlanFacts> = Folds<PlanState, Pick<PlanFacts, T>>;

/** An answer that counts, with the decision that it closes. */
export interface Resolution {
  readonly decision: DecisionPoint;
  readonly request: DecisionRequest;
  /** The phase that the decision is about; null: the plan as a whole. */
  readonly phase: PhaseId | null;
}

/** Takes up the answer to a decision of a stage, by its reason. */
export type Decide<R extends PauseReason> = Readonly<
  Record<R, (state: PlanState, resolution: Resolution, currentTime_ms: number) => PlanState>
>;
