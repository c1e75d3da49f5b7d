/** What crosses between an edit step's workflow and its activities from the proposal to the commit. */
import type { StepEvent } from './events.js';
import type { AuditReport } from './audit.js';
import type { Finding } from './formats.js';
import type { Problem } from './problems.js';
import type { BlobRef, StepKey } from './ids.js';
import type { RepositoryBase } from './repository.js';

/** What every activity input has: who it works for, and the events to append to the archive. */
export interface ActivityBase {
  readonly stepKey: StepKey;
  readonly log: readonly StepEvent[];
  /** Its workflow asks again where the worker stops in the middle (`HANDED_BACK`); absent: Temporal does, which counts the attempt. */
  readonly handsBack?: true;
  /** Its work is done in a checkout of this host's own, with what was applied on a commit, or a plan's marks over its branch's tip. */
  readonly repository?: RepositoryBase;
  readonly held?: { readonly commit: string; readonly applications: readonly Application[] };
  readonly marked?: readonly BlobRef[];
}
/** What decisions said of the sandbox of a step's commands; absent: nothing, it is as configured. */
export interface SandboxChoice {
  /** A person's consent: they run without. */
  readonly without?: true;
  /** `emend.yaml` counts as it is now: they were asked to change it. */
  readonly reread?: true;
}
/** There is no sandbox here, and nobody has said that the commands may run without: none was begun. */
export interface NoSandbox {
  readonly outcome: 'no_sandbox';
  readonly why: string;
}
/** What fails in the sandbox passes without it on the untouched base, or says itself that the sandbox refused it. */
export interface SandboxBlocks {
  readonly outcome: 'sandbox_blocks';
  readonly why: string;
}
export interface BuildProposalInput extends ActivityBase {
  readonly workspace: string;
  readonly snapshot: BlobRef;
  readonly accepted: readonly BlobRef[];
  /** Paths left out: skipped or failed. */
  readonly exclude: readonly string[];
  /** Paths that a person changed by hand. */
  readonly manual: readonly string[];
  /** Files taken from an earlier proposal, whole or in part, instead of from the accepted results; absent: none. */
  readonly selected?: readonly SelectedFiles[];
  /** What a commit hook staged for some of them (JSON blob, `StagedByHook`): taken where the file itself is as it was then. */
  readonly staged?: BlobRef;
  /** Paths that the model may be asked about once more, before the proposal; absent: none. */
  readonly repairable?: readonly string[];
  readonly sandbox?: SandboxChoice;
}
/** A person chose among the changes of a proposal: its files are taken as it has them. */
export interface SelectedFiles {
  readonly proposal: BlobRef;
  /** The proposal's diff, whose changes were numbered. */
  readonly diff: BlobRef;
  /** `changes` null: all of the file. */
  readonly files: readonly { readonly path: string; readonly changes: readonly number[] | null }[];
}
/** Kept as a blob from the commit that a hook stopped to the proposal that follows. */
export interface StagedByHook {
  readonly files: readonly {
    readonly path: string;
    /** What the hook staged. */
    readonly ref: BlobRef;
    readonly mode: number;
    /** What was in the working tree at that moment; null: no file. */
    readonly disk: { readonly ref: BlobRef; readonly mode: number } | null;
  }[];
  /** Files that the tested proposal removes, which are still in the working tree; absent: none. */
  readonly removed?: readonly string[];
}
export interface ProposalFileSummary {
  readonly path: string;
  readonly change: 'edit' | 'create' | 'delete' | 'move';
  /** The path before, of a file that moves; absent: it does not. */
  readonly from?: string;
  /** The path after. The entry is that of the old path: nothing is shown of it, and the verdict on the new path counts for it too. */
  readonly to?: string;
  readonly by: 'model' | 'person';
  readonly added: number;
  readonly removed: number;
  /**
   * Changes that can be chosen one by one: runs of added and removed lines, numbered from 1 in the order of the diff. Absent where the
   * file can only be taken whole (made, deleted, moved, not UTF-8).
   */
  readonly changes?: number;
  /** Short hash of base, result and mode: a verdict stands while this is the same. */
  readonly key: string;
}
/** A proposed change; `ref` and `diff` name blobs of the store. */
export interface ProposalSummary {
  /** Hash of paths, base and result hashes, modes and moves, hex. */
  readonly id: string;
  readonly ref: BlobRef;
  readonly diff: BlobRef;
  readonly files: readonly ProposalFileSummary[];
  readonly findings: readonly Finding[];
  /** `tolerance path` of every tolerance used. */
  readonly tolerances: readonly string[];
  /** Why a person must look even under `approval: auto`; empty: nothing. */
  readonly mustAsk: readonly string[];
}
export type BuildProposalResult =
  | NoSandbox
  | { readonly outcome: 'built'; readonly proposal: ProposalSummary }
  | { readonly outcome: 'empty' }
  | {
      readonly outcome: 'refused';
      readonly files: readonly {
        readonly path: string;
        readonly message: string;
        readonly refusal: BlobRef;
        /** What it holds may be meant: the model is asked once more, and what is there stands where nothing better comes. */
        readonly findings?: true;
      }[];
    };

export interface ApplyInput extends ActivityBase {
  readonly workspace: string;
  readonly proposal: BlobRef;
  readonly decision: number;
  /** Null: every file of the proposal. */
  readonly files: readonly string[] | null;
  readonly workflowId: string;
  readonly namespace: string;
  /** No tests and no commit follow: end the lock when done. */
  readonly releaseAfter: boolean;
  /** What the passed tests of these files are bound to; absent: they are not bound, or run afterwards. */
  readonly tested?: {
    readonly baseHash: string;
    /** What was on disk of the change then. */
    readonly applications: readonly Application[];
    /** Paths that the hash leaves out, as the tests may write them. */
    readonly writes: readonly string[];
  };
  /** The job's file is no part of the base. */
  readonly jobPath?: string;
  /** Files that `approval: auto` or a review policy approved; absent: none. */
  readonly unapproved?: readonly string[];
}
export interface HeldLock {
  /** Rises with every taking. */
  readonly token: number;
  /** HEAD commit when taken; the commit's parent. Null outside git or in a repository without commits. */
  readonly head: string | null;
  /** Branch ref HEAD pointed to (`refs/heads/x`), null when detached or outside git. */
  readonly headRef: string | null;
  readonly takenAt: string;
}
export interface ConflictFile {
  readonly path: string;
  /** In words: what was expected, what was found. */
  readonly why: string;
}
export type ApplyResult<Lock = HeldLock> =
  /** All files of the request are at their result. */
  | { readonly outcome: 'applied'; readonly files: readonly string[]; readonly lock: Lock }
  /** `advice`: the holder has ended, and a person must say what becomes of what it applied. */
  | {
      readonly outcome: 'busy';
      readonly holder: string;
      readonly since: string;
      readonly advice?: string;
    }
  /** Files were not at their base before anything was written: nothing was written. */
  | { readonly outcome: 'base_changed'; readonly conflicts: readonly ConflictFile[] }
  /** A person saved in between (their bytes stand), the rest is applied; or a closed record was undone by someone. */
  | {
      readonly outcome: 'conflict';
      readonly conflicts: readonly ConflictFile[];
      readonly files: readonly string[];
      readonly lock: Lock;
    }
  /**
   * The run made a commit, and this proposal is older than the commit: its records on the server were put back (a reset). Nothing was
   * written. `applications` are in the commit, and `lock` was theirs.
   */
  | {
      readonly outcome: 'already_committed';
      readonly lock: Lock;
      readonly applications: readonly Application[];
    }
  /** Files changed since the tests passed. Nothing was written. `otherLock`: number of the newest lock that another run took here; null: none. */
  | { readonly outcome: 'base_moved'; readonly otherLock: number | null }
  /** Disk full, permission…: reverted, nothing changed. */
  | { readonly outcome: 'failed'; readonly problem: Problem };

/** One closed application of (part of) a proposal. */
export interface Application {
  readonly proposal: BlobRef;
  readonly decision: number;
  readonly files: readonly string[];
}

export interface RebaseInput
  extends ActivityBase, Pick<ApplyInput, 'workspace' | 'proposal' | 'decision'> {
  /** Files to carry over to the bytes that are there now; null: all. */
  readonly files: readonly string[] | null;
  readonly exclude: readonly string[];
  /** What guards go by. */
  readonly snapshot: BlobRef;
}
export type RebaseResult =
  | { readonly outcome: 'built'; readonly proposal: ProposalSummary }
  | { readonly outcome: 'conflict'; readonly conflicts: readonly ConflictFile[] }
  | { readonly outcome: 'empty' };

/** Files of the proposal are not what was applied: untested bytes, or bytes that nobody approved. */
export interface ChangedFiles {
  readonly outcome: 'changed_files';
  readonly files: readonly string[];
  /** `tests`: they wrote them, and what was applied is back. `others`: since it was applied, before any test ran. */
  readonly by: 'tests' | 'others';
  /** What the tests wrote (JSON blob, `StagedByHook`); absent: nothing that could be proposed. */
  readonly staged?: BlobRef;
}
export interface RollbackInput
  extends ActivityBase, Pick<ApplyInput, 'workspace' | 'workflowId' | 'namespace'> {
  readonly applications: readonly Application[];
  /** Fencing token of the lock to end; null: whichever the step holds. */
  readonly token: number | null;
}
export interface RollbackResult {
  readonly files: readonly string[];
  /** Files no longer at our result, as somebody changed them meanwhile. */
  readonly leftAlone: readonly ConflictFile[];
  /** The step's commit was there already: nothing was put back, the step is committed. */
  readonly commit?: string;
}

export interface CommitInput
  extends ActivityBase, Pick<BuildProposalInput, 'workspace' | 'snapshot' | 'sandbox'> {
  readonly applications: readonly Application[];
  readonly message: string;
  readonly lock: HeldLock;
  /** Decision number of a `rebase` onto the current HEAD; null: HEAD must be where it was. */
  readonly ontoCurrent: number | null;
  /** Of a plan's phase: marks that are to go along (JSON blobs, proposals of their own). */
  readonly marks?: readonly BlobRef[];
  /** For the message's trailer; absent: nothing was audited. */
  readonly audit?: AuditReport;
}
export type CommitResult =
  | NoSandbox
  | SandboxBlocks
  | {
      readonly outcome: 'committed';
      readonly commit: string;
      readonly note: string | null;
      readonly marks?: boolean;
    }
  | { readonly outcome: 'nothing' }
  | {
      readonly outcome: 'conflict';
      readonly reason: 'conflict' | 'hook_changed';
      readonly why: string;
      /** With `hook_changed`: what the hook staged, see BuildProposalInput. */
      readonly staged?: BlobRef;
    }
  | { readonly outcome: 'failed'; readonly problem: Problem };

export interface ProposalActivities {
  buildProposal(input: BuildProposalInput): Promise<BuildProposalResult>;
  applyProposal(input: ApplyInput): Promise<ApplyResult>;
  rebaseProposal(input: RebaseInput): Promise<RebaseResult>;
  rollBack(input: RollbackInput): Promise<RollbackResult>;
  commit(input: CommitInput): Promise<CommitResult>;
}
