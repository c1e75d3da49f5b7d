/** What crosses between a plan's workflow and its activities. Plain data; texts travel as blob references. */
import type {
  PhaseId,
  PhaseMarker,
  PlanCheckpoint,
  PhaseFailure,
  PhaseReading,
  ReadyPlan,
} from './plan.js';
import type { Overrides } from './limits.js';
import type { Problem } from './problems.js';
import type { ActivityBase, ApplyInput } from './proposal-activities.js';
import type { Queues } from './names.js';
import type { StepResult } from './run.js';
import type { UntrustedConfiguration } from './step-activities.js';
import type { BlobRef, StepKey } from './ids.js';

interface PlanActivityBase extends ActivityBase {
  readonly workspace: string;
  readonly planPath: string;
  /** Configuration as the plan was read (JSON blob); absent: it was not. */
  readonly settings?: BlobRef;
}
/** Of what is written for a phase: by which run. */
export interface PhaseWriteInput
  extends PlanActivityBase, Pick<ApplyInput, 'workflowId' | 'namespace'> {
  readonly phase: Pick<PhaseReading, 'id' | 'number' | 'name'>;
}
export interface ReadPlanInput extends PlanActivityBase, PlanReading {}
/** How a plan is read: with what the run knows of it. */
export interface PlanReading {
  /** The result is recorded under (stepKey, reading) and returned unchanged ever after. */
  readonly reading: number;
  /** Ids given so far, by the heading's name without markers. `text`: a hash, as in `PhaseReading`. `open`: still to be done, so a marker that says otherwise is a person's. */
  readonly known: readonly (Pick<PhaseReading, 'id' | 'name' | 'number'> & {
    readonly text?: string;
    readonly open?: boolean;
  })[];
  /** As the run knows the plan: where it is still that, only what may differ is told (`same`). Absent: all of it is wanted. */
  readonly hash?: string;
  readonly overrides: Overrides;
  readonly approval: 'ask' | 'auto' | null;
  /** With the first reading: look for what earlier runs of the plan left. `checkpoint`: the run whose checkpoint counts. */
  readonly resume?: { readonly checkpoint: StepKey | null };
  /** Commit that configuration is read from; absent: it is read from the workspace. */
  readonly configurationCommit?: string;
  /** SHA-256 of configuration that was accepted in this run; absent: none was. */
  readonly trusts?: readonly string[];
}
export type ReadPlanResult =
  | UntrustedConfiguration
  | ReadyPlan
  | SamePlan
  | { readonly outcome: 'refused'; readonly problem: Problem };
/** What is asked for is what the run knows under this hash. */
export interface SamePlan extends Pick<ReadyPlan, 'hash' | 'level'> {
  readonly outcome: 'same';
  readonly phases: readonly Pick<PhaseReading, 'id' | 'number' | 'marker' | 'expanded' | 'tasks'>[];
}

/** What a phase asks for. */
export interface PhaseText {
  readonly objective: string | null;
  readonly prerequisites: readonly string[];
  readonly tasks: readonly {
    readonly text: string;
    readonly done: boolean;
    readonly depth: number;
  }[];
  /** Its Markdown, that of its stages' own files behind it. */
  readonly text: string;
  /** File references, workspace-relative where they lead to a place in it. */
  readonly files: readonly string[];
  /** Absent: it has no stages. */
  readonly stages?: true;
}
export type PhaseTexts = { readonly phases: Readonly<Record<PhaseId, PhaseText>> };

export interface PhaseJobInput extends PlanActivityBase, Pick<ReadyPlan, 'texts' | 'approval'> {
  readonly phase: Pick<PhaseReading, 'id' | 'number' | 'name' | 'category'>;
  readonly total: number;
  /** Its place among them. */
  readonly place: number;
  /** Number of the child that the job is for, and its workflow id. */
  readonly run: number;
  readonly child: string;
  readonly settings: BlobRef;
  readonly score: number;
  readonly queues: Queues;
  readonly commands: readonly string[];
  readonly rememberTest: readonly string[] | null;
  readonly overrides: Overrides;
  readonly note: string | null;
  readonly report: BlobRef | null;
  readonly failure: PhaseFailure | null;
}
export type PhaseJobResult =
  | {
      readonly outcome: 'ready';
      readonly job: BlobRef;
      readonly path: string;
      readonly title: string;
      /** After a failed attempt: the other model or format that is asked, in words. */
      readonly fallback?: string;
    }
  | { readonly outcome: 'refused'; readonly problem: Problem };

export interface PrepareWorktreeInput extends PlanActivityBase {
  /** `p2-1`: of the phase and its run. */
  readonly name: string;
  /** The plan made it before, from this commit; absent: it is made from HEAD. */
  readonly base?: string;
  readonly timeout_s: number;
  readonly maxOutput_bytes: number;
}
export type PrepareWorktreeResult =
  /** `base`: the commit that it was made from. */
  | { readonly outcome: 'ready'; readonly workspace: string; readonly base: string }
  | { readonly outcome: 'failed'; readonly why: string };
export interface RemoveWorktreeInput extends PlanActivityBase {
  readonly name: string;
}
export interface RemoveWorktreeResult {
  /** Commit of its branch that nothing else holds; null: none. */
  readonly dropped: string | null;
  /** The ref that keeps it; null: there is none. */
  readonly kept: string | null;
}
export interface MergePhaseInput extends PhaseWriteInput {
  readonly run: number;
  readonly commit: string;
  /** The commit that its worktree was made from. */
  readonly base: string;
}
export type MergePhaseResult =
  /** `commit` null: the branch held it already. */
  | { readonly outcome: 'merged'; readonly commit: string | null }
  | { readonly outcome: 'busy'; readonly holder: string }
  | { readonly outcome: 'conflict'; readonly files: readonly string[] }
  | { readonly outcome: 'failed'; readonly why: string };

export interface MarkPhaseInput extends PhaseWriteInput {
  readonly marker: PhaseMarker;
  /** The number of this mark of the phase; its records and its commit are named after it. */
  readonly mark: number;
  readonly commit: string | null;
  /** Paths that the commit leaves out, as they were skipped. */
  readonly skipped: readonly string[];
  /** Written before and in no commit: this one's commit takes them along. */
  readonly marks: readonly BlobRef[];
  /** Written and not committed: the next phase's commit takes it along. */
  readonly hold: boolean;
  readonly why: string | null;
  readonly verification: string | null;
  /** What the phases ask for, as they were read; null: the plan was not read. */
  readonly texts: BlobRef | null;
  /** Phases done (with this one) and all. */
  readonly done: number;
  readonly total: number;
}
/** `marks`: they went into the commit. Null: there was nothing to commit. */
export interface Landed {
  readonly commit: string | null;
  readonly marks?: boolean;
}
export type MarkPhaseResult =
  | ({
      readonly outcome: 'marked';
      readonly files: readonly string[];
      /** What is written and not committed (JSON blob, a proposal). */
      readonly held?: BlobRef | null;
      /** Tasks that are not done, by which the phase is incomplete; absent: none is known. */
      readonly unfinished?: readonly { readonly text: string; readonly why: string }[];
    } & Landed)
  | { readonly outcome: 'busy'; readonly holder: string }
  /** `marks`: those written before are committed all the same. */
  | { readonly outcome: 'conflict'; readonly why: string; readonly marks?: boolean };

export interface CheckpointInput extends PlanActivityBase {
  readonly checkpoint: PlanCheckpoint;
  /** Rises by one per checkpoint of a run: a late attempt does not put an older one over a newer. */
  readonly number: number;
}
export interface CheckpointResult {
  readonly path: string;
}
/** Waits for a child that was started already, a bounded time; asked again while it is open. */
export interface AwaitPhaseInput extends ActivityBase {
  readonly child: string;
}
export type AwaitPhaseResult =
  | { readonly outcome: 'open' }
  /** `result` null: it was terminated, cancelled or failed; `status` is Temporal's word. */
  | { readonly outcome: 'closed'; readonly status: string; readonly result: StepResult | null };

export interface PlanActivities {
  readPlan(input: ReadPlanInput): Promise<ReadPlanResult>;
  writePhaseJob(input: PhaseJobInput): Promise<PhaseJobResult>;
  markPhase(input: MarkPhaseInput): Promise<MarkPhaseResult>;
  prepareWorktree(input: PrepareWorktreeInput): Promise<PrepareWorktreeResult>;
  mergePhase(input: MergePhaseInput): Promise<MergePhaseResult>;
  removeWorktree(input: RemoveWorktreeInput): Promise<RemoveWorktreeResult>;
  saveCheckpoint(input: CheckpointInput): Promise<CheckpointResult>;
  awaitChild(input: AwaitPhaseInput): Promise<AwaitPhaseResult>;
}
