/** A plan in the words that its run, its status and its events share. Types only. */
import type { Failure } from './failure.js';
import type { Limits } from './limits.js';
import type { StepKey, BlobRef } from './ids.js';
import type { FoundTests, TestPlan } from './test-plan.js';
import type { PhaseEstimate, StepUsage } from './usage.js';

/** What a plan says of itself beside what every run says. */
export interface PlanProgress {
  readonly phases: readonly (Pick<PhaseReading, 'id' | 'number' | 'name'> & {
    readonly status: PhaseStatus;
    readonly tasks: number;
    /** Checked in the document when it was read last. */
    readonly tasksDone: number;
    /** As it stood in the document when it was read last. */
    readonly marker: PhaseMarker | null;
    /** Numbers of the phases that it waits for. */
    readonly dependsOn: readonly number[];
    readonly score: number;
    /** What the score is made of; where a model scored too, how the two were made one. */
    readonly scored: PhaseScore & Pick<ComplexityRecord, 'method' | 'reasoning'>;
    /** stepKey of its newest child; null: none was started. */
    readonly run: StepKey | null;
    readonly commit: string | null;
    readonly verification: string | null;
    readonly failures: number;
    readonly replans: number;
    readonly why: string | null;
  })[];
  /** Commits of phases that were not merged, and the refs that keep them. */
  readonly kept: readonly (KeptRef & { readonly phase: number })[];
  readonly mode: 'sequential' | 'waves';
  /** Numbers of the phases, by wave. */
  readonly waves: readonly (readonly number[])[];
  /** Null: the plan has not been read yet. */
  readonly thresholds: PlanThresholds | null;
  readonly budget: PlanBudget;
  readonly pausedBy: string | null;
  readonly stopAfterPhase: string | null;
  /** What people reported and the plan has not taken up. */
  readonly reports: readonly Report[];
}
/** What a run has not come to. Absent: nothing. */
interface LeftOpen {
  readonly reports?: readonly Report[];
  /** Marks that are in the documents and in no commit (JSON blobs, proposals). */
  readonly marks?: readonly BlobRef[];
}
/** A person's words: work out of the plan's scope, or how it is to be revised. */
export interface Report {
  readonly trigger: 'scope_drift' | 'person';
  readonly text: string;
  readonly by: string;
}
/** The limits of the plan as a whole (null: none), and what counts for them beside `usage.usd`. */
export interface PlanBudget extends Pick<
  Limits,
  'budget_tokens' | 'budget_usd' | 'budget_calls' | 'wallClock_s'
> {
  /** With those of earlier runs that it went on from, as all that is used here. */
  readonly used_tokens: number;
  readonly used_calls: number;
  /** Null: the price of a model is not known. */
  readonly used_usd: number | null;
  /** Of earlier runs, without the time that waited for a person. */
  readonly usedBefore_ms: number;
  /** Workflow time, ms since the epoch. Time that passed while the plan waited for a person does not count. */
  readonly startedAt: number;
  readonly pausedFor_ms: number;
}

export type PhaseId = string;
export type PhaseMarker = 'completed' | 'incomplete' | 'skipped';
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
export type { PhaseEstimate };
export interface PlanThresholds {
  /** A score above it calls for expansion. */
  readonly expansion: number;
  /** So do more tasks than this. */
  readonly tasks: number;
  /** More file references than this are told. */
  readonly fileReferences: number;
  /** Replans of one phase. */
  readonly replanLimit: number;
}
export interface ComplexityRecord {
  readonly score: number;
  readonly method: 'threshold' | 'agent' | 'reconciled';
  readonly reasoning: string | null;
}
/** `aborted`: its plan was, while it ran. */
export type PhaseStatus =
  | 'pending'
  | 'running'
  | 'completed'
  | 'incomplete'
  | 'skipped'
  | 'failed'
  | 'aborted';
export interface KeptRef {
  /** Of the worktree: the phase's id and the number of its run. */
  readonly name: string;
  readonly ref: string;
  readonly commit: string;
}
/** `incomplete`: it came to its end, with phases that are skipped or incomplete. */
export type PlanOutcome = 'completed' | 'incomplete' | 'stopped' | 'aborted' | 'refused' | 'failed';

/** Its field names are read by programs and by later runs, so they stay; a file in the archive (`checkpoint-NNNNNN.json` beside the plan's log). */
export interface PlanCheckpoint extends LeftOpen {
  readonly workflow_description: 'plan';
  readonly plan_path: string;
  /** `NNN_` of the file's name; null: it has none. */
  readonly plan_number: string | null;
  readonly plan_hash: string;
  readonly step_key: StepKey;
  /** Of a plan on a repository: what it began at, and what its phases push to. */
  readonly base?: string;
  readonly branch?: string;
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
  /** Of this run, ISO as all its times. */
  readonly started_at: string;
  readonly last_updated: string;
  /** The same: the source document has both names. */
  readonly timestamp: string;
  /** Of the plan's budgets, by this run and by those that it went on from. */
  readonly spent: { readonly own: PlanSpent; readonly before: PlanSpent | null };
  /** By their ids. */
  readonly phases: readonly (Pick<PhaseReading, 'id' | 'number' | 'name' | 'text'> & {
    readonly force_spent: boolean;
  })[];
}

export type PhaseCategory = 'code' | 'documentation' | 'test' | 'debug';

/** A phase as one reading of the documents found it. */
export interface PhaseReading {
  readonly id: PhaseId;
  readonly number: number;
  readonly name: string;
  readonly marker: PhaseMarker | null;
  readonly expanded: boolean;
  /** Ids of the phases that it waits for. */
  readonly dependsOn: readonly PhaseId[];
  /** `shown`: the first texts, each cut short, for people; absent: there are none, or one holds a secret. */
  readonly tasks: {
    readonly total: number;
    readonly done: number;
    readonly shown?: readonly string[];
  };
  readonly score: PhaseScore;
  readonly category: PhaseCategory;
  /** What it is expected to take; absent where it was read later than first. */
  readonly estimate?: PhaseEstimate;
  /** The same where its tests fail up to the limit of its replans; absent: nothing is tested. */
  readonly most?: PhaseEstimate;
  /** A model's second score is wanted, by the rules of the build that read it. */
  readonly second: boolean;
  /** Why its stages are to be expanded, where it is expanded itself; absent: they are not. */
  readonly stages?: string;
  /** Of the first reading: its files with changes that are not committed; absent: none. */
  readonly dirty?: readonly string[];
  /** sha-256 of name and text without marks of tasks and markers, first 16 hex digits: changes when a person changes what is to be done. */
  readonly text: string;
}
export interface PlanSpent {
  readonly usage: StepUsage;
  /** Without the time that waited for a person. */
  readonly time_ms: number;
}
/** What earlier runs left that the documents do not say. */
export interface ResumePoint extends LeftOpen {
  /** The run whose checkpoint it is; null: it comes from commits alone. */
  readonly run: StepKey | null;
  /** Why a person is asked whether it counts; empty: it counts. */
  readonly why: readonly string[];
  readonly phases: readonly ResumePhase[];
  readonly failures: readonly PhaseFailure[];
  readonly replans: readonly ReplanRecord[];
  readonly commits: readonly string[];
  /** By the checkpoint's run and those that it went on from; absent: by none that is known. */
  readonly spent?: PlanSpent;
}
export interface ResumePhase {
  readonly id: PhaseId;
  /** It is committed and its mark is missing; `tests`: what its commit says of them. Null: it is still to be done, or marked. */
  readonly committed: { readonly commit: string; readonly tests: 'pass' | 'no_tests' } | null;
  readonly replans: number;
  /** `--force-replan` was made use of: it holds once for a phase and what was added for it. */
  readonly forceSpent: boolean;
  /** Failed verifications in a row, since it was last (re)planned. */
  readonly failures: readonly PhaseFailure[];
  /** With a model's second score, which is not paid for again; null: there is none, or the phase reads otherwise now. */
  readonly complexity: ComplexityRecord | null;
}
export interface PlanTests extends TestPlan {
  /** Of phases whose own tasks name commands, by their ids: these run there. */
  readonly phases?: Readonly<Record<PhaseId, FoundTests>>;
  /** `test` is not configured, and for a phase that is still to be done nothing was found: a person is asked. */
  readonly unset?: true;
}
export interface ReadyPlan {
  readonly outcome: 'ready';
  readonly title: string;
  /** sha-256 of what the documents ask for (all `text`s, in order), first 16 hex digits. */
  readonly hash: string;
  readonly level: 0 | 1 | 2;
  readonly phases: readonly PhaseReading[];
  /** A phase has a `**Dependencies**` line. */
  readonly declared: boolean;
  /** Waves of ids, each in sub-waves of at most `PLAN_WAVE`. */
  readonly waves: readonly (readonly (readonly PhaseId[])[])[];
  readonly thresholds: PlanThresholds;
  readonly limits: Limits;
  /** As a step's preflight finds it. */
  readonly approvers?: BlobRef;
  readonly approval: 'ask' | 'auto';
  readonly test: PlanTests;
  /** What each phase asks for, as it was read (JSON blob, `PhaseTexts`). */
  readonly texts: BlobRef;
  /** How often a mark that is gone is written again before a decision is needed; the first reading's counts. */
  readonly lostMarks: number;
  /** Configuration for the plan's own model calls (JSON blob). */
  readonly settings: BlobRef;
  /** The repository has hooks that run before a commit. */
  readonly runsHooks?: true;
  /** `worktree.setup` prepares each worktree. */
  readonly setsUp?: true;
  /** What in the documents is text and would be taken for more: for people; absent: nothing. */
  readonly notes?: readonly string[];
  /** Of the first reading; absent: nothing is left, or nothing that makes a difference. */
  readonly resumePoint?: ResumePoint;
}

/** One failed verification of a phase: it has been rolled back, nothing of it is committed. */
export interface PhaseFailure extends Failure {
  readonly phase: PhaseId;
  /** Number of the phase's run (child) that failed, from 1. */
  readonly run: number;
  /** Workflow time, ms since the epoch. */
  readonly at: number;
}
export type ReplanTrigger = 'complexity' | 'test_failure_pattern' | 'scope_drift' | 'person';
export type ReplanAction =
  | 'expand_phase'
  | 'add_phase'
  | 'split_phase'
  | 'update_tasks'
  | 'collapse_phase';
/** What a replan has changed, in words and scores. */
export interface ReplanMeasures {
  readonly oldStructure: string;
  readonly newStructure: string;
  readonly complexityBefore: number;
  readonly complexityAfter: number;
}
export interface ReplanRecord extends ReplanMeasures {
  readonly phase: PhaseId;
  readonly trigger: ReplanTrigger;
  readonly action: ReplanAction;
  readonly forced: boolean;
  readonly at: number;
}
