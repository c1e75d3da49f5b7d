/** A plan in the words that its run, its status and its events share. Types only. */
import type { Limits } from './limits.js';
import type { StepKey } from './refs.js';

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
  /** Commits of phases that were not merged, and the refs that keep them; absent: there are none. */
  readonly kept?: readonly (KeptCommits & { readonly phase: number })[];
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
export interface PhaseEstimate {
  readonly calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Null: the price of a model is not known. */
  readonly usd: number | null;
}
export interface PlanThresholds {
  readonly expansion: number;
  readonly tasks: number;
  readonly fileReferences: number;
  readonly replanLimit: number;
}
export interface ComplexityRecord {
  readonly score: number;
  readonly method: 'threshold' | 'agent' | 'reconciled';
  readonly reasoning: string | null;
}
export type PhaseStatus = 'pending' | 'running' | 'completed' | 'incomplete' | 'skipped' | 'failed';
export interface KeptCommits {
  /** Of the worktree: the phase's id and the number of its run. */
  readonly name: string;
  readonly ref: string;
  readonly commit: string;
}
/** `incomplete`: it came to its end, with phases that are skipped or incomplete. */
export type PlanOutcome = 'completed' | 'incomplete' | 'stopped' | 'aborted' | 'refused' | 'failed';
