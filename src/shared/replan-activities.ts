/** What a plan asks a model for itself: types of the three activities. Answers are data; what cannot be used is a value with its reason. */
import type { StepUsage } from './usage.js';
import type { ModelDown } from './outage.js';
import type { BlobRef } from './ids.js';
import type {
  ComplexityRecord,
  PhaseFailure,
  PhaseReading,
  ReadyPlan,
  ReplanAction,
  ReplanMeasures,
  ReplanTrigger,
} from './plan.js';
import type { Landed, PhaseWriteInput, PlanReading, ReadPlanResult } from './plan-activities.js';
import type { ActivityBase } from './proposal-activities.js';
import type { BriefResult, Unanswered } from './step-activities.js';

export interface PlanCallInput extends ActivityBase, Pick<ReadyPlan, 'settings' | 'texts'> {
  readonly phase: Pick<PhaseReading, 'id' | 'number' | 'name'>;
  /** Rises when a new answer is wanted for the phase and role. */
  readonly regeneration: number;
}

export interface ScorePhaseInput extends PlanCallInput {
  /** The threshold score. */
  readonly first: number;
}
export interface ScorePhaseResult extends ComplexityRecord {
  /** The two scores where they are more than 2.0 apart. */
  readonly discrepancy: { readonly threshold: number; readonly agent: number } | null;
  /** Why there is no second score; null: there is one. */
  readonly message: string | null;
  readonly usage: StepUsage;
  /** No answer: what was paid only the journal knows. */
  readonly down?: Pick<ModelDown, 'mayBePaid'>;
}

export interface DebugPhaseInput extends PlanCallInput {
  readonly failures: readonly PhaseFailure[];
}
export interface DebugPhaseResult extends Pick<BriefResult, 'message' | 'usage' | 'down'> {
  /** Text for the next attempt; null: there is none, `message` says why. */
  readonly report: BlobRef | null;
  /** Where the archive keeps it. */
  readonly path: string | null;
}

export interface ProposeReplanInput extends PlanCallInput {
  readonly trigger: string;
  /** What may be proposed. */
  readonly actions: readonly string[];
  /** Phases that may be changed instead of this one. */
  readonly others?: readonly PlanCallInput['phase'][];
  readonly score: number;
  /** A person's words; '' where there are none. */
  readonly words: string;
  readonly failures: readonly PhaseFailure[];
  readonly report: BlobRef | null;
  /** One line a phase: number, name, what became of it. */
  readonly outline: readonly string[];
}
export type ProposeReplanResult =
  /** `replan`: JSON of a checked proposal. */
  | {
      readonly outcome: 'proposed';
      readonly replan: BlobRef;
      readonly action: string;
      /** Id of the phase that it changes. */
      readonly phase: string;
      readonly why: string;
      readonly usage: StepUsage;
    }
  | Omit<Unanswered, 'reason'>;

export interface PlanCallActivities {
  scorePhase(input: ScorePhaseInput): Promise<ScorePhaseResult>;
  debugPhase(input: DebugPhaseInput): Promise<DebugPhaseResult>;
  proposeReplan(input: ProposeReplanInput): Promise<ProposeReplanResult>;
}

export interface ApplyReplanInput extends PhaseWriteInput {
  readonly settings: BlobRef;
  /** What the phases ask for, as they were read when it was proposed. */
  readonly texts: BlobRef;
  /** As those of a mark. */
  readonly marks: readonly BlobRef[];
  /** Counts the replans of the run: records and commit are named after it. */
  readonly number: number;
  readonly trigger: ReplanTrigger;
  /** JSON of the checked proposal; null: the action alone says it. */
  readonly replan: BlobRef | null;
  readonly action: string;
  readonly why: string;
  readonly forced: boolean;
  /** Workflow time, ms since the epoch: the entry's time. */
  readonly at: number;
  /** How the changed plan is read afterwards. */
  readonly read: PlanReading;
}
export type ApplyReplanResult =
  | ({
      readonly outcome: 'replanned';
      readonly action: ReplanAction;
      /** The changed plan; null: it could not be read, so the run reads it next. */
      readonly plan: ReadPlanResult | null;
    } & Landed &
      ReplanMeasures)
  | { readonly outcome: 'busy'; readonly holder: string }
  /** The documents do not take it. Nothing was changed. */
  | { readonly outcome: 'refused'; readonly why: string }
  /** It could not be written: somebody saves, a disk, a hook. Nothing was changed. */
  | { readonly outcome: 'conflict'; readonly why: string };

export interface RevisingActivities {
  applyReplan(input: ApplyReplanInput): Promise<ApplyReplanResult>;
}
