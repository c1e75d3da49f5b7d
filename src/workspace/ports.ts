/** The port of the tree that is edited: who holds it, and how files in it change. Its adapter is `apply`, for a directory. */
import type { StepKey } from '../shared/ids.js';
import type {
  ApplyResult,
  ConflictFile,
  HeldLock,
  RollbackResult,
  StagedByHook,
} from '../shared/proposal-activities.js';
import type { SandboxSettings } from '../documents/job/index.js';
import type { Problem } from '../shared/problems.js';
import type { Proposal, ProposalFile } from './proposal.js';

export type { ConflictFile };

/** A value or an expected failure. */
export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: Problem };

/** A step's hold on a workspace, from apply to commit or rollback. Held by stepKey, not by a process. */
export interface WorkspaceLock extends HeldLock {
  readonly stepKey: StepKey;
  readonly workflowId: string;
  readonly namespace: string;
  /** Token of an earlier lock of this step whose applications this one holds on to. */
  readonly continues?: number;
}
/**
 * What can be said of the run that holds a workspace. `finished`: it ended normally. `elsewhere`: it worked from another
 * `EMEND_HOME`, and only there is known what it applied.
 */
export type HolderState =
  | { readonly state: 'open' }
  /** `undo`: it was aborted or moved while its host was unreachable; what it applied is to be put back. */
  | {
      readonly state: 'ended';
      readonly how: string;
      readonly finished: boolean;
      readonly undo: boolean;
      readonly elsewhere: boolean;
    }
  /** `not_known`: the server has no such run; else what a person is told: why no server answers now. */
  | { readonly state: 'unknown'; readonly why: 'other_namespace' | 'not_known' | Problem };
/** What became of the lock of a run that has ended. */
export type LockEnd =
  | { readonly outcome: 'ended'; readonly because: 'nothing_applied' | 'committed' | 'finished' }
  /** Applied and neither committed nor rolled back: a person must say. */
  | { readonly outcome: 'kept'; readonly files: readonly string[] }
  /** A live process still works on its files. */
  | { readonly outcome: 'at_work' }
  /** Its open transaction could not be recovered; `recover` says why. */
  | { readonly outcome: 'unrecovered' }
  /** It holds the workspace no longer. */
  | { readonly outcome: 'not_held' };
export type LockAttempt = { readonly outcome: 'held'; readonly lock: WorkspaceLock } | Busy;
/** `advice`: the holder's run has ended, or nobody knows it, and a person must say what becomes of what it applied. */
export interface Busy {
  readonly outcome: 'busy';
  readonly holder: WorkspaceLock;
  readonly advice?: string;
}

export interface ApplyRequest {
  readonly stepKey: StepKey;
  readonly workspace: string;
  readonly proposalId: string;
  readonly proposal: Proposal;
  /** Number of the decision that approved; with stepKey and proposalId the key of the record. */
  readonly decision: number;
  /** Which of the proposal's files to apply (approved and not applied before). */
  readonly files: readonly string[];
  readonly holder: { readonly workflowId: string; readonly namespace: string };
  /**
   * Asked under the lock before anything is written: do the tests of the change still hold on the other files? If not, the outcome is
   * `base_changed` without a conflict. Absent: they do.
   */
  readonly isStillTested?: () => Promise<boolean>;
}
/** What a rollback needs to know of the application that it takes back. */
export type RollbackRequest = Pick<
  ApplyRequest,
  'stepKey' | 'workspace' | 'proposalId' | 'decision' | 'holder'
>;
export type ApplyOutcome =
  | Exclude<
      ApplyResult<WorkspaceLock>,
      { readonly outcome: 'busy' | 'base_moved' | 'already_committed' }
    >
  | Busy;

export type RollbackOutcome =
  | (Omit<RollbackResult, 'commit'> & { readonly outcome: 'rolled_back' })
  /** The step's commit is there already: nothing was put back. */
  | { readonly outcome: 'committed'; readonly commit: string };

/** Throws where this attempt was given up meanwhile: asked before what a late attempt must not do any more. */
export type AssertCurrent = () => void;

/** A file as it should be on disk; `result` null: there is none. */
export type ExpectedFile = Pick<ProposalFile, 'path' | 'result'>;
/** Files that are not as they should be, with what stands there as a file now (kept as a blob); null: no file. */
export type Found = readonly (ExpectedFile & { readonly now: ProposalFile['result'] })[];

/** Applications of a step that are in its commit, and a lock under which one of them was made. */
export interface CommittedWork {
  readonly lock: WorkspaceLock;
  readonly applications: readonly (Pick<ApplyRequest, 'proposalId' | 'decision'> & {
    readonly files: readonly string[];
  })[];
}

export interface Workspace {
  /** Where its files lie on this machine, for whoever reads them or runs commands there; `workspace` is what a run's input names. */
  root(workspace: string): Promise<string>;
  apply(request: ApplyRequest, assertCurrent?: AssertCurrent): Promise<ApplyOutcome>;
  /**
   * Puts the files of a closed record back to their base, only those that are at their result; from then on no late attempt can apply
   * the record or commit it. Idempotent. Throws ProblemError `busy` where another step holds the workspace.
   */
  rollback(request: ApplyRequest, assertCurrent?: AssertCurrent): Promise<RollbackOutcome>;
  differing(workspace: string, files: readonly ExpectedFile[]): Promise<Found>;
  /** Puts them as they should be where still stands what was found; else throws ProblemError `conflict`. Null: nobody else works here. */
  putBack(
    workspace: string,
    stepKey: StepKey | null,
    found: Found,
    assertCurrent?: AssertCurrent,
  ): Promise<void>;
  /** Ends the step's lock; with a token only the taking of that token. */
  releaseLock(workspace: string, stepKey: StepKey, number?: number | null): Promise<void>;
  /** Takes the lock, or gives the step its own back; `taken`: this call took it. An attempt that `assertCurrent` gives up leaves none behind. */
  acquireLock(
    workspace: string,
    stepKey: StepKey,
    holder: ApplyRequest['holder'],
    assertCurrent?: AssertCurrent,
  ): Promise<LockAttempt & { readonly taken: boolean }>;
  readLock(workspace: string): Promise<WorkspaceLock | null>;
  /** Returns what the step applied and then committed, if the branch has its commit; null: it made none, or `apply` finds it. */
  committedWork(workspace: string, stepKey: StepKey): Promise<CommittedWork | null>;
  /** Returns the number of the newest lock of the workspace that another step took; null: none is known. */
  newestOtherLock(workspace: string, stepKey: StepKey): Promise<number | null>;
  /** Other runs that had locked the workspace, as far as is known; newest first. */
  earlierRuns(workspace: string, stepKey: StepKey): Promise<readonly StepKey[]>;
}
/** The adapter for directories, with what workers and the command line do with the records in a home. */
export interface ApplyEngine extends Workspace {
  /**
   * Recovers the transactions of a step whose run has ended, and ends its lock where nothing of it was applied and not committed.
   * `finished`: the run came to its own end, so what it left is as it should be.
   */
  releaseEnded(workspace: string, holder: WorkspaceLock, finished: boolean): Promise<LockEnd>;
  /** As `rollback`, for an application that was found in this home's own records: they say all that is needed, without its proposal. */
  rollbackRecorded(request: RollbackRequest): Promise<RollbackOutcome>;
  /** Finishes or reverts every open transaction of `EMEND_HOME` that belongs to no live process (ours excepted). */
  recover(steps?: readonly StepKey[]): Promise<readonly RecoveredTransaction[]>;
  /** As `recover`, but looks only at steps with a mark of an open transaction, once all were looked at in this boot. For starts. */
  recoverMarked(): Promise<readonly RecoveredTransaction[]>;
}
export interface RecoveredTransaction {
  readonly stepKey: StepKey;
  readonly workspace: string;
  readonly record: string;
  /** `failed`: the disk refused, or the record is of another version; still open, `conflicts` says why. */
  readonly did: 'finished' | 'reverted' | 'left_to_live_process' | 'workspace_missing' | 'failed';
  /** Processes that are at work on it. */
  readonly pids?: readonly number[];
  readonly conflicts: readonly ConflictFile[];
}

/** Is a commit signed? Null: as git is configured (`commit.gpgsign`). */
export type Signing = boolean | null;

export interface CommitRequest extends Pick<Proposal, 'stepKey' | 'renames'> {
  readonly workspace: string;
  /** First base and last result of every applied file, in path order. */
  readonly files: readonly ProposalFile[];
  /** Marks of a plan, applied before and in no commit, in order: they go along, named by the message, where nothing speaks against it. */
  readonly marks?: readonly Proposal[];
  readonly message: string;
  /** Parent and branch when the lock was taken. */
  readonly lock: WorkspaceLock;
  /** ISO time used as author and committer date: the same input gives the same commit id. */
  readonly date: string;
  readonly hooks: boolean;
  /** Names of variables of the worker's that hooks get. */
  readonly env: readonly string[];
  readonly sign: Signing;
  /** For the hooks. */
  readonly sandbox: SandboxSettings | 'off';
  /** Names of the apply records that the commit is made of: where one of them was rolled back meanwhile, nothing is committed. */
  readonly records?: readonly string[];
  /** Does the step still hold the workspace, and is this attempt still the one that counts? Asked right before the branch moves. */
  readonly mayMove?: () => Promise<boolean>;
}
/** Bytes that a hook staged for a file of the step, workspace-relative. */
export type StagedFile = Omit<StagedByHook['files'][number], 'disk'>;
export type CommitOutcome =
  /** Hooks would run, and there is nothing to shut them in with. */
  | { readonly outcome: 'no_sandbox'; readonly why: string }
  /** `marks`: they went along. `note`: what a person should know, for example which content of theirs stays staged. */
  | {
      readonly outcome: 'committed';
      readonly commit: string;
      readonly note?: string;
      readonly marks: boolean;
    }
  | { readonly outcome: 'nothing' }
  /** HEAD is elsewhere than when the lock was taken, or a file's committed bytes changed. */
  | { readonly outcome: 'conflict'; readonly why: string }
  /** The pre-commit hook staged other bytes than were approved; `why` names the files. */
  | {
      readonly outcome: 'hook_changed';
      readonly why: string;
      /** What it staged for files of the request, as it would stand in the working tree. */
      readonly staged: readonly StagedFile[];
    }
  | {
      readonly outcome: 'failed';
      readonly problem: Problem;
      /** What a pre-commit hook made of files of the request in the working tree that it saw, before it failed; absent: nothing. */
      readonly staged?: readonly StagedFile[];
    };
