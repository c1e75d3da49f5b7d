/**
 * Everything that crosses the boundary between client, workflow and activities: names, types, versions.
 * ◆ Every input carries `v`. File contents and answers travel as blob references only.
 */
import type { StepEvent } from './events.js';
import type { Finding } from './formats.js';
import type { Problem } from './problems.js';
import type { BlobRef, StepKey } from './ids.js';

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

export interface BuildProposalInput extends ActivityBase, RetriesBusy {
  readonly workspace: string;
  readonly snapshot: BlobRef;
  readonly accepted: readonly BlobRef[];
  /** Paths left out: skipped or failed. */
  readonly exclude: readonly string[];
  /** Paths that a person changed by hand. */
  readonly manual: readonly string[];
  /** Files taken from an earlier proposal, whole or in part, instead of from the accepted results; absent: none. */
  readonly pinned?: readonly SelectedFiles[];
  /** What a commit hook staged for some of them (JSON blob, `StagedByHook`): taken where the file itself is as it was then. */
  readonly staged?: BlobRef;
}
/** A person chose among the changes of a sealed proposal: its files are taken as it has them. */
export interface SelectedFiles {
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
export interface ProposalFileSummary {
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
export interface ProposalSummary {
  /** Hash of paths, base and result hashes, modes and moves, hex. */
  readonly id: string;
  readonly ref: BlobRef;
  readonly diff: BlobRef;
  readonly files: readonly ProposalFileSummary[];
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
export type BuildProposalResult =
  | { readonly v: 1; readonly outcome: 'sealed'; readonly proposal: ProposalSummary }
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
export interface HeldLock {
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
  | { readonly v: 1; readonly outcome: 'applied'; readonly files: readonly string[]; readonly lease: HeldLock }
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
      readonly lease: HeldLock;
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
  | { readonly v: 1; readonly outcome: 'sealed'; readonly proposal: ProposalSummary }
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
  readonly lease: HeldLock;
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
      /** With `hook_changed`: what the hook staged, see BuildProposalInput. */
      readonly staged?: BlobRef;
    }
  | { readonly v: 1; readonly outcome: 'failed'; readonly problem: Problem };
