/**
 * A plan's run: its state, and what crosses between its workflow and its activities. Plain data; texts travel as blob references.
 * Phase ids (`p1`, `p2`... by first sight) never change and stand in no document.
 */
import type { DecisionPoint, DecisionRecord, SettledDecision } from '../decisions.js';
import type { StepEvent } from '../events.js';
import type { LimitName, Limits, Timings } from '../limits.js';
import type { Pause } from '../state.js';
import type { Problem } from '../problems.js';
import type { Queues, StepResult, StepUsage } from '../protocol.js';
import type { BlobRef, StepKey } from '../refs.js';

export type PhaseId = string;

// ------------------------------------------------------------------------------------------------------------------------- input
export interface PlanOptions {
  /** Begin with this phase: those before it are taken as done. Null: with the first that is not done. */
  readonly phase: number | null;
  /** `auto`: waves where a phase declares dependencies, else one after the other. */
  readonly mode: 'auto' | 'sequential' | 'waves';
  /** Replan past the limit (resets the counter, logged). */
  readonly forceReplan: boolean;
  /** What a person reports as out of the plan's scope (`--report-scope-drift`). */
  readonly drift: string | null;
  /** Is a person asked about the estimate before the first phase? `approved`: only where it is over a budget. Absent (earlier versions): never. */
  readonly estimate?: 'ask' | 'approved';
  /** Go by the markers alone, whatever an earlier run left; absent: no. */
  readonly restart?: boolean;
}
export interface PlanInput {
  readonly v: 1;
  readonly stepKey: StepKey;
  /** Absolute real path on the host that `queues.host` names; a git working tree. */
  readonly workspace: string;
  /** Workspace-relative, without its level: `plans/010_demo` for `plans/010_demo.md` and `plans/010_demo/010_demo.md`. */
  readonly planPath: string;
  readonly title: string;
  readonly queues: Queues;
  readonly timings: Timings;
  readonly overrides: Partial<Record<LimitName, number>>;
  /** `auto`: phases are approved by policy; absent: as `emend.yaml` says. */
  readonly approval?: 'ask' | 'auto';
  readonly hints: readonly string[];
  readonly searchAttributes: boolean;
  readonly options: PlanOptions;
  /** The earlier run of this plan that saved the newest checkpoint; absent: none is known. */
  readonly left?: StepKey;
  /** Of a run that goes on where the one before it was (continue-as-new). */
  readonly carried?: { readonly v: 1; readonly state: PlanState; readonly told: number };
}

// ----------------------------------------------------------------------------------------------------------------------- reading
export type PhaseMarker = 'completed' | 'incomplete' | 'skipped';
export type PhaseCategory = 'code' | 'documentation' | 'test' | 'debug';

/** The score of a phase with its addends: `keywords` by word, the rest as values. */
export interface PhaseScore {
  readonly score: number;
  readonly keywords: Readonly<Record<string, number>>;
  readonly tasks: number;
  readonly files: number;
  readonly tests: number;
  /** Each threshold that the phase is above, in words; empty: none. */
  readonly above: readonly string[];
}
export interface PhaseEstimate {
  readonly calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Null: the price of a model is not known. */
  readonly usd: number | null;
}
/** A phase as one reading of the documents found it. */
export interface PhaseReading {
  readonly id: PhaseId;
  readonly number: number;
  readonly name: string;
  readonly marker: PhaseMarker | null;
  readonly expanded: boolean;
  /** Ids of the phases that it waits for. */
  readonly dependsOn: readonly PhaseId[];
  readonly tasks: { readonly total: number; readonly done: number };
  readonly score: PhaseScore;
  readonly category: PhaseCategory;
  /** What it is expected to take; absent where it was read later than first. */
  readonly estimate?: PhaseEstimate;
  /** The same where its tests fail up to the limit of its replans; absent: nothing is tested, or it was read by an earlier build. */
  readonly most?: PhaseEstimate;
  /** A model's second score is wanted, by the rules of the build that read it. */
  readonly second?: boolean;
  /** sha-256 of name and text without marks of tasks and markers, first 16 hex digits: changes when a person changes what is to be done. */
  readonly text: string;
}
export interface PlanThresholds {
  readonly expansion: number;
  readonly tasks: number;
  readonly fileReferences: number;
  readonly replanLimit: number;
}
export interface ReadPlanInput {
  readonly v: 1;
  readonly stepKey: StepKey;
  readonly log: readonly StepEvent[];
  readonly workspace: string;
  readonly planPath: string;
  /** The result is recorded under (stepKey, reading) and returned unchanged ever after. */
  readonly reading: number;
  /** Ids given so far, by the heading's name without markers. */
  readonly known: readonly { readonly id: PhaseId; readonly name: string; readonly number: number }[];
  readonly overrides: Partial<Record<LimitName, number>>;
  readonly approval: 'ask' | 'auto' | null;
  /** With the first reading: look for what earlier runs of the plan left. `checkpoint`: the run whose checkpoint counts. */
  readonly left?: { readonly checkpoint: StepKey | null };
}
/** What runs before this one used of the plan's budgets. */
export interface PlanSpent {
  readonly usage: StepUsage;
  /** Without the time that waited for a person. */
  readonly time_ms: number;
}
/** What earlier runs left that the documents do not say. */
export interface LeftPlan {
  /** The run whose checkpoint it is; null: it comes from commits alone. */
  readonly run: StepKey | null;
  /** Why a person is asked whether it counts; empty: it counts. */
  readonly why: readonly string[];
  readonly phases: readonly LeftPhase[];
  readonly failures: readonly PhaseFailure[];
  readonly replans: readonly ReplanRecord[];
  readonly commits: readonly string[];
  /** By the checkpoint's run and those that it went on from; absent: by none that is known. */
  readonly spent?: PlanSpent;
}
export interface LeftPhase {
  readonly id: PhaseId;
  /** It is committed and its mark is missing; `tests`: what its commit says of them. Null: it is still to be done, or marked. */
  readonly landed: { readonly commit: string; readonly tests: 'pass' | 'no_tests' } | null;
  readonly replans: number;
  readonly forceSpent: boolean;
  /** In a row, since it was last replanned. */
  readonly failures: readonly PhaseFailure[];
  /** With a model's second score, which is not paid for again; null: there is none, or the phase reads otherwise now. */
  readonly complexity: ComplexityRecord | null;
}
export interface ReadyPlan {
  readonly v: 1;
  readonly outcome: 'ready';
  readonly title: string;
  /** sha-256 of what the documents ask for (all `text`s, in order), first 16 hex digits. */
  readonly hash: string;
  readonly level: 0 | 1 | 2;
  readonly phases: readonly PhaseReading[];
  /** A phase has a `**Dependencies**` line. */
  readonly declared: boolean;
  /** Waves of ids, each in sub-waves of at most `BOUNDS.planWave`. */
  readonly waves: readonly (readonly (readonly PhaseId[])[])[];
  readonly thresholds: PlanThresholds;
  readonly limits: Limits;
  readonly approval: 'ask' | 'auto';
  readonly test: { readonly commands: readonly string[]; readonly found: string | null };
  /** What each phase asks for, as it was read (JSON blob, `PhaseTexts`). */
  readonly texts: BlobRef;
  /** Configuration for the plan's own model calls (JSON blob). */
  readonly settings?: BlobRef;
  /** Of the first reading; absent: nothing is left, or nothing that makes a difference. */
  readonly left?: LeftPlan;
}
/** By phase id. */
export interface PhaseTexts {
  readonly v: 1;
  readonly phases: Readonly<
    Record<
      PhaseId,
      {
        readonly objective: string | null;
        readonly prerequisites: readonly string[];
        readonly tasks: readonly { readonly text: string; readonly done: boolean; readonly depth: number }[];
        /** Its Markdown, that of its stages' own files behind it. */
        readonly text: string;
        /** File references, workspace-relative where they lead to a place in it. */
        readonly files: readonly string[];
      }
    >
  >;
}
export type ReadPlanResult = ReadyPlan | { readonly v: 1; readonly outcome: 'refused'; readonly problem: Problem };

// --------------------------------------------------------------------------------------------------------------------- the phases
/** One failed verification of a phase: it has been rolled back, nothing of it is committed. */
export interface PhaseFailure {
  readonly phase: PhaseId;
  /** Number of the phase's run (child) that failed, from 1. */
  readonly run: number;
  /** As the verification classified it (`syntax`, `test_failure`, ...); null: unknown. */
  readonly kind: string | null;
  readonly signature: string | null;
  readonly summary: string;
  readonly output: BlobRef | null;
  /** What helps with failures of that kind. */
  readonly suggestions: readonly string[];
  /** Workflow time, ms since the epoch. */
  readonly at: number;
}
export interface ReplanRecord {
  readonly phase: PhaseId;
  readonly trigger: 'complexity' | 'test_failure_pattern' | 'scope_drift' | 'person';
  readonly action: 'expand_phase' | 'add_phase' | 'split_phase' | 'update_tasks' | 'collapse_phase';
  readonly oldStructure: string;
  readonly newStructure: string;
  readonly complexityBefore: number;
  readonly complexityAfter: number;
  readonly forced: boolean;
  readonly at: number;
}
export interface ComplexityRecord {
  readonly score: number;
  readonly method: 'threshold' | 'agent' | 'reconciled';
  readonly reasoning: string | null;
}
export type PhaseStatus = 'pending' | 'running' | 'completed' | 'incomplete' | 'skipped' | 'failed';

export interface PhaseEntry extends PhaseReading {
  readonly status: PhaseStatus;
  /** Children started for it; the stepKey of the n-th is `<plan's key>-<id>-<n>`. */
  readonly runs: number;
  /** The job of the next or running child. */
  readonly job: { readonly ref: BlobRef; readonly path: string; readonly title: string } | null;
  /** How its last child ended; null: none has. */
  readonly result: StepResult | null;
  readonly commits: readonly string[];
  /** Of a phase that an earlier run committed: what that commit says of its tests. */
  readonly tests?: 'pass' | 'no_tests';
  /** The document says how it ended. */
  readonly marked: boolean;
  /** Failed verifications since it was last (re)planned. */
  readonly failures: readonly PhaseFailure[];
  /** What the next child's job says beside the phase: a person's note, a debugging report. */
  readonly note: string | null;
  readonly report: BlobRef | null;
  /** The next child asks a person itself where its tests fail (the tiers are spent). */
  readonly asksItself: boolean;
  /** It failed by its tests, and what comes next is not yet judged. */
  readonly testsFailed: boolean;
  /** A second score was asked for. */
  readonly secondAsked: boolean;
  /** `--force-replan` was made use of: it holds once for a phase and what was added for it. */
  readonly forceSpent: boolean;
  /** The trigger of complexity was judged. */
  readonly complexityJudged: boolean;
  readonly replans: number;
  readonly complexity: ComplexityRecord;
  /** Why it is skipped, failed or incomplete. */
  readonly why: string | null;
  /** Where its run works, where it runs beside others; null: in the plan's workspace. */
  readonly worktree: { readonly name: string; readonly workspace: string } | null;
  /** Its branch is merged into the plan's own. */
  readonly merged: boolean;
  /** Marks begun: the next one's record and commit are named after their number. */
  readonly marks: number;
}

/** A trigger that is being dealt with. */
export interface Revising {
  readonly phase: PhaseId;
  readonly trigger: ReplanRecord['trigger'];
  /** `asked`: a person is. */
  readonly step: 'judge' | 'debug' | 'propose' | 'apply' | 'asked';
  /** What a person reports; '' otherwise. */
  readonly words: string;
  /** A replan past the limit is wanted. */
  readonly forced: boolean;
  /** It is past the limit. */
  readonly past: boolean;
  readonly actions: readonly string[];
  readonly why: string;
  readonly proposal: { readonly ref: BlobRef | null; readonly action: string; readonly why: string } | null;
}

export type PlanStage =
  'reading' | 'choosing' | 'worktrees' | 'jobs' | 'running' | 'merging' | 'marking' | 'checkpoint' | 'closed';
/** `incomplete`: it came to its end, with phases that are skipped or incomplete. */
export type PlanOutcome = 'completed' | 'incomplete' | 'stopped' | 'aborted' | 'refused' | 'failed';

export interface PlanState {
  readonly v: 1;
  readonly input: PlanInput;
  readonly stage: PlanStage;
  readonly startedAt: number;
  readonly outcome: PlanOutcome | null;
  readonly problem: Problem | null;
  readonly abortedBy: string | null;

  /** Number of the next reading. */
  readonly reading: number;
  readonly plan: ReadyPlan | null;
  /** The document as a person changed it, while they are asked which of the two counts. */
  readonly changed: ReadyPlan | null;
  /** Groups done in this run. */
  readonly groups: number;
  readonly limits: Limits | null;
  readonly phases: readonly PhaseEntry[];
  /** The phases under way: one, or a sub-wave. */
  readonly group: readonly PhaseId[];
  /** Names of the worktrees that were made and not removed yet. */
  readonly worktrees: readonly string[];
  /** The tests pass where the group began; and, after merges, on the merged tree. */
  readonly baseTested: boolean;
  readonly mergedTested: boolean;
  /** The estimate, in words, as long as a person is to be asked about it. */
  readonly estimateAsked?: string | null;
  readonly testAnswered: boolean;
  readonly testCommands: readonly string[];
  readonly rememberTest: string | null;

  /** Checkpoints saved. */
  readonly checkpoints: number;
  readonly failures: readonly PhaseFailure[];
  readonly replans: readonly ReplanRecord[];
  /** Of phases, in the order in which they landed. */
  readonly commits: readonly string[];
  readonly usage: StepUsage;
  /** Counts against the budgets beside `usage`; absent: nothing does. */
  readonly spentBefore?: PlanSpent;

  /** Wanted by a person; taken up between phases. */
  readonly revising: Revising | null;
  /** What people report as out of the plan's scope; taken up before the next phase. */
  readonly drifts: readonly { readonly text: string; readonly by: string }[];
  /** Reports and proposals asked for: each has its own draw. */
  readonly advice: number;
  /** The next reading takes over a replan; new phases begin with these counts of the phase that it was for. Null: none is to be taken over. */
  readonly adopt: Pick<PhaseEntry, 'replans' | 'forceSpent'> | null;

  readonly pausedBy: string | null;
  readonly stopAfterPhase: string | null;
  /** Another run holds the workspace: how often it was asked for, and whether the next move is to wait. */
  readonly busyTries: number;
  readonly waiting: boolean;

  readonly ask: Pause | null;
  /** The phase that the open question is about. */
  readonly asked: PhaseId | null;
  readonly decision: DecisionPoint | null;
  readonly pendingRecords: readonly DecisionRecord[];
  readonly nextDecision: number;
  readonly settled: readonly SettledDecision[];
  readonly seenRequests: readonly string[];
  readonly ignored: readonly string[];
  readonly pausedFor_ms: number;

  readonly events: readonly StepEvent[];
  readonly nextSeq: number;
}

// -------------------------------------------------------------------------------------------------------------------- activities
interface PlanActivityBase {
  readonly v: 1;
  readonly stepKey: StepKey;
  readonly log: readonly StepEvent[];
  readonly workspace: string;
  readonly planPath: string;
}
export interface PhaseJobInput extends PlanActivityBase {
  readonly phase: Pick<PhaseReading, 'id' | 'number' | 'name' | 'category'>;
  readonly total: number;
  /** Number of the child that the job is for, and its workflow id. */
  readonly run: number;
  readonly child: string;
  readonly texts: BlobRef;
  readonly score: number;
  readonly queues: Queues;
  readonly approval: 'ask' | 'auto';
  readonly commands: readonly string[];
  readonly rememberTest: string | null;
  readonly overrides: Partial<Record<LimitName, number>>;
  readonly note: string | null;
  readonly report: BlobRef | null;
  readonly failure: PhaseFailure | null;
}
export type PhaseJobResult =
  | {
      readonly v: 1;
      readonly outcome: 'ready';
      readonly job: BlobRef;
      readonly path: string;
      readonly title: string;
      /** After a failed attempt: the other model or format that is asked, in words. */
      readonly fallback?: string;
    }
  | { readonly v: 1; readonly outcome: 'refused'; readonly problem: Problem };

export interface PrepareWorktreeInput extends PlanActivityBase {
  /** `p2-1`: of the phase and its run. */
  readonly name: string;
  readonly timeout_s: number;
  readonly maxOutput_bytes: number;
}
export type PrepareWorktreeResult =
  | { readonly v: 1; readonly outcome: 'ready'; readonly workspace: string }
  | { readonly v: 1; readonly outcome: 'failed'; readonly why: string };
export interface RemoveWorktreeInput extends PlanActivityBase {
  readonly name: string;
}
export interface RemoveWorktreeResult {
  readonly v: 1;
  /** Commit of its branch that no other branch holds; null: none. */
  readonly dropped: string | null;
}
export interface MergePhaseInput extends PlanActivityBase {
  readonly phase: Pick<PhaseReading, 'id' | 'number' | 'name'>;
  readonly run: number;
  readonly commit: string;
  readonly workflowId: string;
  readonly namespace: string;
}
export type MergePhaseResult =
  /** `commit` null: the branch held it already. */
  | { readonly v: 1; readonly outcome: 'merged'; readonly commit: string | null }
  | { readonly v: 1; readonly outcome: 'busy'; readonly holder: string }
  | { readonly v: 1; readonly outcome: 'conflict'; readonly files: readonly string[] }
  | { readonly v: 1; readonly outcome: 'failed'; readonly why: string };

export interface MarkPhaseInput extends PlanActivityBase {
  readonly phase: Pick<PhaseReading, 'id' | 'number' | 'name'>;
  readonly marker: PhaseMarker;
  /** The number of this mark of the phase; its records and its commit are named after it. */
  readonly mark: number;
  readonly commit: string | null;
  readonly why: string | null;
  readonly verification: string | null;
  /** Phases done (with this one) and all. */
  readonly done: number;
  readonly total: number;
  readonly workflowId: string;
  readonly namespace: string;
}
export type MarkPhaseResult =
  | { readonly v: 1; readonly outcome: 'marked'; readonly commit: string | null; readonly files: readonly string[] }
  | { readonly v: 1; readonly outcome: 'busy'; readonly holder: string }
  | { readonly v: 1; readonly outcome: 'conflict'; readonly why: string };

/** The checkpoint, with the seed's field names; a file in the archive (`checkpoint-NNNNNN.json` beside the plan's log). */
export interface PlanCheckpoint {
  readonly v: 1;
  readonly workflow_description: 'plan';
  readonly plan_path: string;
  readonly plan_hash: string;
  readonly step_key: StepKey;
  readonly current_phase: number | null;
  readonly total_phases: number;
  readonly completed_phases: readonly number[];
  readonly status: 'in_progress' | 'paused' | PlanOutcome;
  readonly tests_passing: boolean;
  readonly last_error: string | null;
  readonly phase_replan_count: Readonly<Record<string, number>>;
  readonly replan_history: readonly Readonly<Record<string, unknown>>[];
  readonly test_failure_history: readonly Readonly<Record<string, unknown>>[];
  readonly complexity_evaluations: Readonly<Record<string, ComplexityRecord>>;
  readonly last_commit: string | null;
  readonly commit_history: readonly string[];
  readonly timestamp: string;
  /** Of the plan's budgets, by this run and by those that it went on from; absent in checkpoints of Emend before it counted on. */
  readonly spent?: { readonly own: PlanSpent; readonly before: PlanSpent | null };
  /** By their ids; absent in checkpoints of Emend before it read them. `text` as in PhaseReading. */
  readonly phases?: readonly {
    readonly id: PhaseId;
    readonly number: number;
    readonly name: string;
    readonly text: string;
    readonly force_spent: boolean;
  }[];
}
export interface CheckpointInput extends PlanActivityBase {
  readonly checkpoint: PlanCheckpoint;
  /** Rises by one per checkpoint of a run: a late attempt does not put an older one over a newer. */
  readonly number: number;
}
export interface CheckpointResult {
  readonly v: 1;
  readonly path: string;
}
/** Waits for a child that was started already, a bounded time; asked again while it is open. */
export interface AwaitPhaseInput {
  readonly v: 1;
  readonly stepKey: StepKey;
  readonly log: readonly StepEvent[];
  readonly child: string;
}
export type AwaitPhaseResult =
  | { readonly v: 1; readonly outcome: 'open' }
  /** `result` null: it was terminated, cancelled or failed; `status` is Temporal's word. */
  | { readonly v: 1; readonly outcome: 'closed'; readonly status: string; readonly result: StepResult | null };

export interface PlanActivities {
  readPlan(input: ReadPlanInput): Promise<ReadPlanResult>;
  makePhaseJob(input: PhaseJobInput): Promise<PhaseJobResult>;
  markPhase(input: MarkPhaseInput): Promise<MarkPhaseResult>;
  prepareWorktree(input: PrepareWorktreeInput): Promise<PrepareWorktreeResult>;
  mergePhase(input: MergePhaseInput): Promise<MergePhaseResult>;
  removeWorktree(input: RemoveWorktreeInput): Promise<RemoveWorktreeResult>;
  saveCheckpoint(input: CheckpointInput): Promise<CheckpointResult>;
  awaitPhase(input: AwaitPhaseInput): Promise<AwaitPhaseResult>;
}

// ----------------------------------------------------------------------------------------------------------------------- queries
/** What a plan says of itself beside what every run says. Fields that may be absent: workers of earlier builds do not tell them. */
export interface PlanProgress {
  readonly phases: readonly {
    readonly id: PhaseId;
    readonly number: number;
    readonly name: string;
    readonly status: PhaseStatus;
    readonly tasks: number;
    /** Checked in the document when it was read last. */
    readonly tasksDone?: number;
    /** As it stood in the document when it was read last. */
    readonly marker?: PhaseMarker | null;
    /** Numbers of the phases that it waits for. */
    readonly dependsOn?: readonly number[];
    readonly score: number;
    /** What the score is made of; where a model scored too, how the two were made one. */
    readonly scored?: PhaseScore & Pick<ComplexityRecord, 'method' | 'reasoning'>;
    /** stepKey of its newest child; null: none was started. */
    readonly run: StepKey | null;
    readonly commit: string | null;
    readonly verification: string | null;
    readonly failures: number;
    readonly replans: number;
    readonly why: string | null;
  }[];
  readonly mode?: 'sequential' | 'waves';
  /** Numbers of the phases, by wave. */
  readonly waves?: readonly (readonly number[])[];
  /** Null: the plan has not been read yet. */
  readonly thresholds?: PlanThresholds | null;
  readonly budget?: PlanBudget;
  readonly pausedBy: string | null;
  readonly stopAfterPhase: string | null;
}
/** The limits of the plan as a whole (null: none), and what counts for them beside `usage.usd`. */
export interface PlanBudget extends Pick<Limits, 'budget_tokens' | 'budget_usd'> {
  /** Absent: a worker of an earlier build. */
  readonly budget_calls?: number | null;
  readonly wallClock_s: number | null;
  /** With those of earlier runs that it went on from, as all that is used here. */
  readonly used_tokens: number;
  /** Absent: a worker of an earlier build; `used_usd` null: the price of a model is not known. */
  readonly used_calls?: number;
  readonly used_usd?: number | null;
  /** Of earlier runs, without the time that waited for a person. */
  readonly usedBefore_ms?: number;
  /** Workflow time, ms since the epoch. Time that passed while the plan waited for a person does not count. */
  readonly startedAt: number;
  readonly pausedFor_ms: number;
}
