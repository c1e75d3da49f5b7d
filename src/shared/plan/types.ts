/**
 * A plan's run: what it is started with, what is read of the document, and its state. Plain data; texts travel as blob references.
 * Phase ids (`p1`, `p2`... by first sight) never change and stand in no document.
 */
import type {
  PhaseId,
  PhaseMarker,
  PhaseScore,
  PhaseEstimate,
  PlanThresholds,
  ComplexityRecord,
  PhaseStatus,
  KeptCommits,
  PlanOutcome,
} from '../plan.js';
import type { StepUsage } from '../usage.js';
import type { DecisionState } from '../decision-state.js';
import type { EventLog } from '../events.js';
import type { Limits } from '../limits.js';
import type { Problem } from '../problems.js';
import type { OpenOnHost, RunInput, StepResult } from '../protocol.js';
import type { BlobRef, StepKey } from '../refs.js';

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
/** `workspace` is a git working tree. */
export interface PlanInput extends RunInput {
  /** Workspace-relative, without its level: `plans/010_demo` for `plans/010_demo.md` and `plans/010_demo/010_demo.md`. */
  readonly planPath: string;
  readonly options: PlanOptions;
  /** The earlier run of this plan that saved the newest checkpoint; absent: none is known. */
  readonly left?: StepKey;
  /** Of a run that goes on where the one before it was (continue-as-new). */
  readonly carried?: { readonly v: 1; readonly state: PlanState; readonly told: number };
}

// ----------------------------------------------------------------------------------------------------------------------- reading
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
  /** Of the first reading: how often a mark that is gone is written again before a person is asked; absent: always (an earlier build). */
  readonly lostMarks?: number;
  /** Configuration for the plan's own model calls (JSON blob). */
  readonly settings?: BlobRef;
  /** Of the first reading; absent: nothing is left, or nothing that makes a difference. */
  readonly left?: LeftPlan;
}

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
  /** Tasks that its commit leaves undone; absent: none is known. */
  readonly undone?: number;
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
  /** Where it began side by side with others: made again under this name from this base. Absent: it did not, or an earlier build made it. */
  readonly tree?: { readonly name: string; readonly base: string } | null;
  /** Its branch is merged into the plan's own. */
  readonly merged: boolean;
  /** Marks begun: the next one's record and commit are named after their number. */
  readonly marks: number;
  /** How often its mark was written and found gone. */
  readonly marksLost?: number;
  /** A person goes on without its mark. */
  readonly markLeft?: true;
  /** Somebody cancelled its last run. */
  readonly cancelled?: boolean;
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

export interface PlanState extends DecisionState, EventLog {
  readonly v: 1;
  readonly input: PlanInput;
  readonly stage: PlanStage;
  readonly startedAt: number;
  readonly outcome: PlanOutcome | null;
  readonly problem: Problem | null;
  readonly abortedBy: string | null;
  /** Aborted without its host, which cleans up once it is there again. */
  readonly openOnHost?: OpenOnHost;

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
  /** Commits of removed worktrees that nothing else held. */
  readonly kept?: readonly KeptCommits[];
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

  /** The phase that the open question is about. */
  readonly asked: PhaseId | null;
  /** `move`: what is asked about is an activity that failed; `retry` and the like make its move again. `reading`: the next one's texts take the place of lost ones. */
  readonly again?: 'move' | 'reading' | null;
}
