/**
 * Everything that crosses the boundary between client, workflow and activities: names, types, versions.
 * ◆ Every input carries `v`. File contents and answers travel as blob references only.
 */
import type { PlanProgress } from './plan.js';
import type { StepUsage } from './usage.js';
import type { Rules } from './rules.js';
import type { DecisionPoint, PauseReason } from './decisions.js';
import type { StepEvent } from './events.js';
import type { Bucket, Finding, Format } from './formats.js';
import type { LimitName, Limits, Timings } from './limits.js';
import type { Problem } from './problems.js';
import type { ModelDown, Outage } from './outage.js';
import type { BlobRef, StepKey } from './refs.js';

// ------------------------------------------------------------------------------------------------------------------------- names
export const WORKFLOWS = { editStep: 'editStep', plan: 'plan' } as const;
export const UPDATES = { decide: 'decide' } as const;
/** `decide` takes a DecisionRequest; the short ones take `{"decision": "<id>", "files"?, "note"?, "set"?}`. */
export const SIGNALS = { decide: 'decide', approve: 'approve', skip: 'skip', retry: 'retry', abort: 'abort' } as const;
/** To a plan; the body is `{"by": "<name>"}` or nothing. They take effect between phases. */
export const PLAN_SIGNALS = { pause: 'pause', resume: 'resume', stop: 'stopAfterPhase', drift: 'drift' } as const;
export const QUERIES = { status: 'status', ledger: 'ledger', events: 'events', proposal: 'proposal' } as const;
/** Metadata of a payload that answers a query. */
export const QUERY_ANSWER = 'emend-query-answer';
export const SEARCH_ATTRIBUTES = {
  state: 'EmendState',
  reason: 'EmendReason',
  stepKey: 'EmendStepKey',
  workspace: 'EmendWorkspace',
} as const;

/** Task queues: workflows, model calls, and one per workspace host (◆ named by an id file, not by host name). */
export interface Queues {
  readonly workflow: string;
  readonly model: string;
  readonly host: string;
}
export const queueNames = (prefix: string, hostId: string): Queues => ({
  workflow: prefix,
  model: `${prefix}-model`,
  host: `${prefix}-host-${hostId}`,
});
/** The home's id in the name of its queue, whose prefix a person may choose. */
export const hostOfQueue = (queue: string): string => queue.slice(queue.lastIndexOf('-') + 1);
const DEFAULT_QUEUE_PREFIX = 'emend';
/** Prefix of the task queues (`EMEND_QUEUE`): one set of workers serves one prefix. */
export const queuePrefix = (env: Readonly<Record<string, string | undefined>>): string =>
  env.EMEND_QUEUE === undefined || env.EMEND_QUEUE === '' ? DEFAULT_QUEUE_PREFIX : env.EMEND_QUEUE;

// ------------------------------------------------------------------------------------------------------------------------ inputs
/** What a step and a plan are started with alike. */
export interface RunInput {
  readonly v: 1;
  readonly stepKey: StepKey;
  /** Absolute real path on the host that `queues.host` names. */
  readonly workspace: string;
  readonly title: string;
  readonly queues: Queues;
  readonly timings: Timings;
  /** What replay goes by; a plan's phases have their plan's. Absent: `FIRST_RULES`. */
  readonly rules?: Rules;
  /** Limits given on the command line. */
  readonly overrides: Partial<Record<LimitName, number>>;
  /** `auto`: approved by policy, a plan's phases too; absent: as `emend.yaml` says. */
  readonly approval?: 'ask' | 'auto';
  /** Run hints given on the command line; they go into the prompts. */
  readonly hints: readonly string[];
  /** Are the search attributes registered? Without them runs go without. */
  readonly searchAttributes: boolean;
}
export interface EditStepInput extends RunInput {
  readonly job: BlobRef;
  /** As shown to people; relative to the workspace where it is inside. */
  readonly jobPath: string;
  /** `return`: a failed verification ends the step once it is rolled back (`tests_failed`), and whoever started it says what comes next. */
  readonly testsFailed?: 'return';
  /** Of a run that goes on where the one before it was (continue-as-new). */
  readonly carried?: {
    readonly v: 1;
    /** A StepState. */
    readonly state: unknown;
    readonly told: number;
    readonly count: UsageOwed;
  };
}
/** What a step still has to count: nothing, its usage now, or at its end; and whether it was counted before. */
export interface UsageOwed {
  readonly owed: 'no' | 'now' | 'at_the_end';
  readonly counted: boolean;
}

export type StepOutcome =
  | 'committed'
  | 'applied'
  | 'unchanged'
  | 'skipped'
  | 'aborted'
  | 'refused'
  | 'failed'
  // of a plan's phases, and of plans
  | 'tests_failed'
  | 'completed'
  | 'incomplete'
  | 'stopped';
export interface StepResult {
  readonly v: 1;
  readonly stepKey: StepKey;
  readonly outcome: StepOutcome;
  readonly files: readonly string[];
  /** Paths that were skipped; absent: none, or a result of an earlier build. */
  readonly skipped?: readonly string[];
  readonly wasSplit: boolean;
  readonly usage: StepUsage;
  readonly commit: string | null;
  readonly proposalId: string | null;
  readonly verification: string | null;
  readonly problem: Problem | null;
  /** Of a plan. */
  readonly plan?: PlanProgress;
  /** Time that it waited for people; absent in results of earlier builds. */
  readonly pausedFor_ms?: number;
  /** With `tests_failed`. */
  readonly failure?: VerificationFailure;
  /** Its host took no work: what is (or may be) applied there is put back by `emend recover` on that host. Absent: nothing is open. */
  readonly openOnHost?: OpenOnHost;
}
export interface OpenOnHost {
  /** The id of the host's home. */
  readonly host: string;
  readonly workspace: string;
  readonly files: readonly string[];
}
export interface VerificationFailure {
  readonly kind: string | null;
  readonly signature: string | null;
  readonly summary: string;
  readonly output: BlobRef | null;
  /** What helps with failures of that kind; absent in results of earlier builds. */
  readonly suggestions?: readonly string[];
}

/** What every activity input has: who it works for, and the events to append to the archive. */
export interface ActivityBase {
  readonly v: 1;
  readonly stepKey: StepKey;
  readonly log: readonly StepEvent[];
}

// -------------------------------------------------------------------------------------------------------------------- activities
export interface PreflightInput extends ActivityBase {
  readonly workspace: string;
  readonly job: BlobRef;
  readonly jobPath: string;
  /** ◆ The result is recorded under (stepKey, snapshotNumber) and returned unchanged ever after. */
  readonly snapshotNumber: number;
  readonly overrides: Partial<Record<LimitName, number>>;
  readonly approval: 'ask' | 'auto' | null;
  readonly hints: readonly string[];
  /** Paths that a model picked, where the job names none. */
  readonly picked: readonly string[] | null;
  /** Only these targets get a new base (`regenerate`); null: all. */
  readonly only: readonly string[] | null;
}
export interface Target {
  readonly path: string;
  readonly isNew: boolean;
  readonly format: Format;
  readonly bucket: Bucket;
  readonly lines: number;
  readonly bytes: number;
  readonly outputBudget_tokens: number;
  /** The job says that it goes: no call is made for it. */
  readonly deletes?: true;
}
export interface TestPlan {
  readonly commands: readonly string[];
  /** Commands found in the project that nobody approved yet: asked for once (`test_command`). */
  readonly found: string | null;
}
export type PreflightResult =
  | {
      readonly v: 1;
      readonly outcome: 'ready';
      /** Full snapshot (JSON blob): targets with base hashes, context, rules, resolved configuration. */
      readonly snapshot: BlobRef;
      readonly limits: Limits;
      readonly approval: 'ask' | 'auto';
      readonly requireMarker: boolean;
      readonly targets: readonly Target[];
      readonly shouldSplit: boolean;
      readonly splitReason: string;
      readonly complexity: 'low' | 'medium' | 'high';
      /** For an unsplit step: one call over all targets. */
      readonly whole: { readonly format: Format; readonly outputBudget_tokens: number } | null;
      readonly briefWanted: boolean;
      readonly test: TestPlan;
      /** Commit message without trailer; null: no commit asked. */
      readonly commitMessage: string | null;
      readonly estimate: {
        readonly chunks: number;
        readonly input_tokens: number;
        readonly output_tokens: number;
        readonly usd: number | null;
      };
      /** Said before paying; not empty: the step asks (`estimate`). */
      readonly overEstimate: readonly string[];
      readonly warnings: readonly string[];
    }
  | { readonly v: 1; readonly outcome: 'pick'; readonly snapshot: BlobRef }
  | { readonly v: 1; readonly outcome: 'refused'; readonly problem: Problem };

export interface PickInput extends ActivityBase {
  readonly snapshot: BlobRef;
  readonly draw: number;
  /** Limits that decisions changed since preflight; absent: none. */
  readonly limits?: Partial<Limits>;
}
export type PickResult =
  | { readonly v: 1; readonly outcome: 'picked'; readonly paths: readonly string[]; readonly usage: StepUsage }
  | {
      readonly v: 1;
      readonly outcome: 'failed';
      readonly reason: PauseReason;
      readonly message: string;
      readonly usage: StepUsage;
      /** With `model_unavailable`: the run waits and asks again. */
      readonly down?: ModelDown;
    };

export interface BriefInput extends ActivityBase {
  readonly snapshot: BlobRef;
  /** Limits that decisions changed since preflight; absent: none. */
  readonly limits?: Partial<Limits>;
}
export interface BriefResult {
  readonly v: 1;
  /** Null: no usable answer; the chunks go without. */
  readonly brief: BlobRef | null;
  readonly usage: StepUsage;
  readonly message: string | null;
  readonly down?: ModelDown;
}

export interface ProposeInput extends ActivityBase {
  readonly snapshot: BlobRef;
  /** `*`: all targets in one call. */
  readonly file: string;
  /** Number of this chunk in the step; later results of a file replace earlier ones. */
  readonly seq: number;
  readonly draw: number;
  readonly format: Format;
  readonly outputBudget_tokens: number;
  /** Null: routed by category and complexity. */
  readonly model: string | null;
  readonly brief: BlobRef | null;
  /** Heads of the chain of accepted results. */
  readonly accepted: readonly BlobRef[];
  /** The person's note (`revise`, `retry`). */
  readonly note: string | null;
  /** What was refused last, with the edit. */
  readonly refusal: BlobRef | null;
  /** Limits that decisions changed since preflight; absent: none. */
  readonly limits?: Partial<Limits>;
  /** Absent: the call is for whole files. */
  readonly region?: RegionPart;
  /** Absent: nothing was asked for. */
  readonly lines?: LinesAsked;
}
/** A file that is edited in regions, one call each: which of them comes next. */
export interface RegionPart {
  /** Blob with the regions (`RegionPlan`). */
  readonly plan: BlobRef;
  /** 0-based. */
  readonly index: number;
  /** Blob with what the regions before said (`RegionWork`); null at the first. */
  readonly work: BlobRef | null;
}
/** Lines that a model asked to be shown: a blob with ranges, and how often it has asked. */
export interface LinesAsked {
  readonly ranges: BlobRef;
  readonly asked: number;
}
/** The next rung for a truncated answer: computed by the activity, so that a better ladder breaks no paused run. */
export type LadderStep =
  | { readonly kind: 'split' }
  | { readonly kind: 'budget'; readonly outputBudget_tokens: number }
  | { readonly kind: 'format'; readonly format: Format; readonly outputBudget_tokens: number }
  | {
      readonly kind: 'regions';
      readonly format: Format;
      readonly outputBudget_tokens: number;
      readonly region: RegionPart;
      /** In words, for the events. */
      readonly to: string;
    }
  | { readonly kind: 'exhausted' };
export type ProposeResult = { readonly v: 1; readonly usage: StepUsage } & (
  | { readonly outcome: 'edited' | 'unchanged'; readonly accepted: BlobRef; readonly changed: readonly string[] }
  | {
      readonly outcome: 'truncated';
      readonly reason: string;
      readonly stopReason: string | null;
      readonly partialLength: number;
      readonly next: LadderStep;
    }
  /** A region is done, and another one follows. */
  | { readonly outcome: 'region_done'; readonly region: RegionPart; readonly to: string }
  /** No edit: the next call shows these lines, too. */
  | { readonly outcome: 'needs_lines'; readonly lines: LinesAsked; readonly to: string }
  /** Counted attempts: the next one is told `refusal`. */
  | { readonly outcome: 'invalid' | 'refused' | 'unmarked'; readonly message: string; readonly refusal: BlobRef }
  /** Not tried again without a person. */
  | { readonly outcome: 'declined' | 'prompt_cut' | 'call_lost'; readonly message: string }
  /** `down` absent: the file fails, as in results of earlier builds. */
  | { readonly outcome: 'model_unavailable'; readonly message: string; readonly down?: ModelDown }
);

/** The usage of all of a step's calls by the journal; wanted where an activity ended without telling. */
export type TallyInput = ActivityBase;
export interface TallyResult {
  readonly v: 1;
  readonly usage: StepUsage;
  /** Calls that had not ended; counted as cut off. */
  readonly open: number;
}

export interface SealInput extends ActivityBase, RetriesBusy {
  readonly workspace: string;
  readonly snapshot: BlobRef;
  readonly accepted: readonly BlobRef[];
  /** Paths left out: skipped or failed. */
  readonly exclude: readonly string[];
  /** Paths that a person changed by hand. */
  readonly manual: readonly string[];
  /** Files taken from an earlier proposal, whole or in part, instead of from the accepted results; absent: none. */
  readonly pinned?: readonly PinnedFiles[];
  /** What a commit hook staged for some of them (JSON blob, `StagedByHook`): taken where the file itself is as it was then. */
  readonly staged?: BlobRef;
}
/** A person chose among the changes of a sealed proposal: its files are taken as it has them. */
export interface PinnedFiles {
  readonly proposal: BlobRef;
  /** The sealed diff, whose changes were numbered. */
  readonly diff: BlobRef;
  /** `changes` null: all of the file. */
  readonly files: readonly { readonly path: string; readonly changes: readonly number[] | null }[];
}
/** Kept as a blob from the commit that a hook stopped to the seal that follows. */
export interface StagedByHook {
  readonly v: 1;
  readonly files: readonly {
    readonly path: string;
    /** What the hook staged. */
    readonly ref: BlobRef;
    readonly mode: number;
    /** What was in the working tree at that moment; null: no file. */
    readonly disk: { readonly ref: BlobRef; readonly mode: number } | null;
  }[];
}
export interface SealedFile {
  readonly path: string;
  readonly change: 'edit' | 'create' | 'delete' | 'move';
  readonly by: 'model' | 'person';
  readonly added: number;
  readonly removed: number;
  /**
   * Changes that can be chosen one by one: runs of added and removed lines, numbered from 1 in the order of the diff. Absent where the
   * file can only be taken whole (made, deleted, moved, not UTF-8), and in proposals of earlier builds.
   */
  readonly changes?: number;
  /** Short hash of base, result and mode: a verdict stands while this is the same. */
  readonly key: string;
}
export interface SealedProposal {
  /** Hash of paths, base and result hashes, modes and moves, hex. */
  readonly id: string;
  readonly ref: BlobRef;
  readonly diff: BlobRef;
  readonly files: readonly SealedFile[];
  readonly findings: readonly Finding[];
  /** `rung path` of every tolerance used. */
  readonly rungs: readonly string[];
  /** Why a person must look even under `approval: auto`; empty: nothing. */
  readonly mustAsk: readonly string[];
}
/** The turn of what it was to run did not come in time; nothing was done. Given only to workflows that say `retriesBusy`. */
export interface NotYet {
  readonly v: 1;
  readonly outcome: 'busy';
}
/** The workflow knows `NotYet` and tries again; absent: an older one, for which Temporal does. */
export interface RetriesBusy {
  readonly retriesBusy?: true;
}
export type SealResult =
  | { readonly v: 1; readonly outcome: 'sealed'; readonly proposal: SealedProposal }
  | { readonly v: 1; readonly outcome: 'empty' }
  | {
      readonly v: 1;
      readonly outcome: 'refused';
      readonly files: readonly { readonly path: string; readonly message: string; readonly refusal: BlobRef }[];
    };

export interface ApplyInput extends ActivityBase {
  readonly workspace: string;
  readonly proposal: BlobRef;
  readonly decision: number;
  /** Null: every file of the proposal. */
  readonly files: readonly string[] | null;
  readonly workflowId: string;
  readonly namespace: string;
  /** No verify and no commit follow: end the lease when done. */
  readonly releaseAfter: boolean;
}
export interface HeldLease {
  readonly number: number;
  readonly head: string | null;
  readonly headRef: string | null;
  readonly takenAt: string;
}
export interface ConflictFile {
  readonly path: string;
  readonly why: string;
}
export type ApplyResult =
  | { readonly v: 1; readonly outcome: 'applied'; readonly files: readonly string[]; readonly lease: HeldLease }
  /** `advice`: the holder has ended, and a person must say what becomes of what it applied. */
  | {
      readonly v: 1;
      readonly outcome: 'busy';
      readonly holder: string;
      readonly since: string;
      readonly advice?: string;
    }
  /** Nothing was written. */
  | { readonly v: 1; readonly outcome: 'base_changed'; readonly conflicts: readonly ConflictFile[] }
  | {
      readonly v: 1;
      readonly outcome: 'conflict';
      readonly conflicts: readonly ConflictFile[];
      readonly files: readonly string[];
      readonly lease: HeldLease;
    }
  | { readonly v: 1; readonly outcome: 'failed'; readonly problem: Problem };

/** One closed application of (part of) a proposal. */
export interface Application {
  readonly proposal: BlobRef;
  readonly decision: number;
  readonly files: readonly string[];
}

export interface RebaseInput extends ActivityBase {
  readonly workspace: string;
  readonly proposal: BlobRef;
  /** Files to carry over to the bytes that are there now; null: all. */
  readonly files: readonly string[] | null;
  readonly exclude: readonly string[];
  readonly decision: number;
  /** What guards go by; absent in workflows of 0.1.0 and earlier, whose rebased proposals are not guarded again. */
  readonly snapshot?: BlobRef;
}
export type RebaseResult =
  | { readonly v: 1; readonly outcome: 'sealed'; readonly proposal: SealedProposal }
  | { readonly v: 1; readonly outcome: 'conflict'; readonly conflicts: readonly ConflictFile[] }
  | { readonly v: 1; readonly outcome: 'empty' };

export interface VerifyInput extends ActivityBase, RetriesBusy {
  readonly workspace: string;
  readonly commands: readonly string[];
  readonly timeout_s: number;
  readonly maxOutput_bytes: number;
  readonly files: readonly string[];
  /** No commit follows a pass: end the lease then. */
  readonly releaseOnPass: boolean;
  /** The person approved this found command now: remember it. */
  readonly remember: string | null;
  /** Number of the lease to end; absent (in older histories): whichever the step holds. */
  readonly lease?: number;
}
export interface VerifyResult {
  readonly v: 1;
  readonly outcome: 'pass' | 'pass_with_warnings' | 'fail_soft' | 'fail_hard' | 'no_tests';
  readonly kind: string | null;
  readonly transient: boolean;
  /** The same failure has the same signature. */
  readonly signature: string | null;
  readonly summary: string;
  readonly output: BlobRef | null;
  readonly seconds: number;
  /** What helps with a failure of that kind; absent in results of earlier builds. */
  readonly suggestions?: readonly string[];
}

export interface RollbackInput extends ActivityBase {
  readonly workspace: string;
  readonly applications: readonly Application[];
  readonly workflowId: string;
  readonly namespace: string;
  /** Number of the lease to end; absent: whichever the step holds. */
  readonly lease?: number;
}
export interface RollbackResult {
  readonly v: 1;
  readonly files: readonly string[];
  readonly kept: readonly ConflictFile[];
  /** The step's commit was there already: nothing was put back, the step is committed. */
  readonly commit?: string;
}

export interface CommitInput extends ActivityBase, RetriesBusy {
  readonly workspace: string;
  readonly snapshot: BlobRef;
  readonly applications: readonly Application[];
  readonly message: string;
  readonly lease: HeldLease;
  /** Decision number of a `rebase` onto the current HEAD; null: HEAD must be where it was. */
  readonly ontoCurrent: number | null;
}
export type CommitResult =
  | { readonly v: 1; readonly outcome: 'committed'; readonly commit: string; readonly note: string | null }
  | { readonly v: 1; readonly outcome: 'nothing' }
  | {
      readonly v: 1;
      readonly outcome: 'conflict';
      readonly reason: 'conflict' | 'hook_changed';
      readonly why: string;
      /** With `hook_changed`: what the hook staged, see SealInput. */
      readonly staged?: BlobRef;
    }
  | { readonly v: 1; readonly outcome: 'failed'; readonly problem: Problem };

/**
 * Where a workflow tells its worker what no activity follows to tell: the events up to a pause or the end. Best effort and idempotent:
 * the next activity tells them again.
 */
export interface ArchiveSink {
  append(stepKey: StepKey, events: readonly StepEvent[]): void;
}

/** The activities as workflows see them. `createActivities` in src/activities is checked against this. */
export interface StepActivities {
  preflight(input: PreflightInput): Promise<PreflightResult>;
  pick(input: PickInput): Promise<PickResult>;
  brief(input: BriefInput): Promise<BriefResult>;
  propose(input: ProposeInput): Promise<ProposeResult>;
  tally(input: TallyInput): Promise<TallyResult>;
  seal(input: SealInput): Promise<SealResult | NotYet>;
  apply(input: ApplyInput): Promise<ApplyResult>;
  rebase(input: RebaseInput): Promise<RebaseResult>;
  verify(input: VerifyInput): Promise<VerifyResult | NotYet>;
  rollback(input: RollbackInput): Promise<RollbackResult>;
  commit(input: CommitInput): Promise<CommitResult | NotYet>;
}

// ----------------------------------------------------------------------------------------------------------------------- queries
export type FileStatus = 'pending' | 'in_progress' | 'done' | 'failed' | 'skipped';
export interface LedgerRow {
  readonly path: string;
  readonly status: FileStatus;
  readonly attempts: number;
  readonly format: Format;
  readonly bucket: Bucket;
  readonly lines: number;
  readonly isNew: boolean;
  /** The job says that it goes; absent: it is edited. */
  readonly deletes?: true;
  readonly outputBudget_tokens: number;
  /** Why it failed or was skipped; null otherwise. */
  readonly reason: string | null;
  readonly verdict: 'approve' | 'skip' | null;
}
export type RunState = 'running' | 'waiting' | 'done' | 'failed' | 'aborted';
export interface StepStatus {
  readonly v: 1;
  readonly stepKey: StepKey;
  readonly workspace: string;
  readonly jobPath: string;
  readonly title: string;
  readonly state: RunState;
  /** What it is doing, in words: `file 2/5: src/a.ts`, `waiting for approval`… */
  readonly doing: string;
  readonly stage: string;
  readonly counts: Readonly<Record<FileStatus, number>>;
  readonly decision: DecisionPoint | null;
  /** The model is down, and the run waits by itself; absent: it does not. */
  readonly outage?: Outage;
  readonly proposalId: string | null;
  readonly usage: StepUsage;
  readonly wasSplit: boolean;
  /** Decisions and signals that did not count. */
  readonly ignored: readonly string[];
  /** All of them; absent: `ignored` has them all. */
  readonly ignoredCount?: number;
  readonly lastSeq: number;
  readonly result: StepResult | null;
  /** Of a plan: its phases. */
  readonly plan?: PlanProgress;
}
export interface EventsQuery {
  readonly after?: number;
  readonly limit?: number;
}
