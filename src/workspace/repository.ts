/** The port of what stands behind a workspace: head, commits, merges, worktrees. Its adapter is git in the workspace's directory (landing). */
import type { Problem } from '../shared/problems.js';
import type { SandboxSettings } from '../documents/job/index.js';
import type { CommandRequest, CommandRunner } from './commands/index.js';
import type {
  ApplyRequest,
  CommitOutcome,
  CommitRequest,
  ConflictFile,
  WorkspaceLock,
  Result,
  AssertCurrent,
} from './ports.js';

/** `workspace` is what a run's input names, as for the port `Workspace`. */
export interface Repository {
  /** Null: the workspace is in no repository. Throws ProblemError `git_failed` where that cannot be told. */
  head(workspace: string): Promise<Pick<WorkspaceLock, 'head' | 'headRef'> | null>;
  /** Returns whether hooks run before a commit there. */
  hasHooks(workspace: string): Promise<boolean>;
  /** A file of the commit that HEAD names, by its path in the workspace, as UTF-8; null: there is none. */
  committed(workspace: string, path: string): Promise<string | null>;
  /** Did a commit that is not ours bring the command, as code or a whole item, into these files? The oldest tells; false: none is known. */
  isPersons(workspace: string, command: string, paths: readonly string[]): Promise<boolean>;
  message(workspace: string, commit: string): Promise<string>;
  /** Does the branch hold the commit? */
  holds(workspace: string, commit: string): Promise<boolean>;
  /** Newest first, a bounded number; `planPath` as the messages of phases and marks name it. */
  planCommits(workspace: string, planPath: string): Promise<readonly PlanCommit[]>;
  /** The same request makes the same commit: a retry finds it done. */
  commit(request: CommitRequest, signal?: AbortSignal): Promise<CommitOutcome>;
  /** Expected failures are outcomes; `failed` with `busy` where `assertCurrent` threw, as this attempt was given up: to be tried again. */
  merge(request: MergeRequest, assertCurrent: AssertCurrent): Promise<MergeOutcome>;
  /** Commits that HEAD contains and a run made, by their trailer; newest first, at most `limit`. */
  runCommits(
    workspace: string,
    limit: number,
  ): Promise<readonly Pick<PlanCommit, 'commit' | 'subject'>[]>;
  readonly worktrees: Worktrees;
}

export interface PlanCommit {
  readonly commit: string;
  /** Of the run that made it, and the phase's id in that run. */
  readonly plan: string;
  readonly phase: string;
  readonly kind: 'phase' | 'mark';
  readonly subject: string;
  readonly body: string;
  /** A later commit of the branch says that it reverts this one. */
  readonly reverted: boolean;
}

export interface MergeRequest
  extends Pick<CommitRequest, 'message' | 'sign'>, Pick<ApplyRequest, 'holder'> {
  /** 32 hex digits, of this merge alone: who holds the workspace for it, and its commit's trailer. */
  readonly stepKey: string;
  /** The plan's workspace. */
  readonly workspace: string;
  /** Commit of the phase. */
  readonly theirs: string;
  /** What the phase began on: only a branch that holds it is merged into. A revert has none. */
  readonly base?: string;
  /** One parent: what `theirs` changed is committed as a change of its own. */
  readonly plain?: boolean;
}
export type MergeOutcome =
  | {
      readonly outcome: 'merged';
      readonly commit: string;
      readonly parent: string;
      readonly note?: string;
    }
  /** The branch holds that commit already. */
  | { readonly outcome: 'nothing' }
  | { readonly outcome: 'busy'; readonly holder: WorkspaceLock }
  /** The two sides do not go together. Nothing was changed. */
  | { readonly outcome: 'conflict'; readonly ours: string; readonly files: readonly ConflictFile[] }
  /** Files that the merge changes hold something that is not committed. Nothing was changed, or what was is put back. */
  | { readonly outcome: 'dirty'; readonly files: readonly ConflictFile[] }
  /** Somebody moved the branch meanwhile; what was applied is put back. To be tried again as a new merge. */
  | { readonly outcome: 'moved'; readonly why: string }
  | { readonly outcome: 'failed'; readonly problem: Problem };

/** ◆ What is recorded before a worktree is made. */
export interface Worktree {
  readonly plan: string;
  /** Its name among the plan's: a phase's id and the number of the attempt, `p2-1`. */
  readonly name: string;
  /** The git directory that all worktrees of the repository share. */
  readonly commonDir: string;
  /** Top of the worktree. In the record: what the names of all attempts begin with. */
  readonly path: string;
  /** The directory in it that stands for the plan's workspace. */
  readonly workspace: string;
  /** Full name of its branch, `refs/heads/emend/…`. */
  readonly branch: string;
  /** Commit that it began at. */
  readonly base: string;
}
export interface WorktreeWanted extends Pick<Worktree, 'plan' | 'name' | 'base'> {
  /** The plan's workspace: a repository's top or a directory in it. */
  readonly workspace: string;
  /** It was made before: a branch of its name is its own. */
  readonly again?: boolean;
}
export interface RemovedWorktree extends Pick<Worktree, 'name' | 'branch'> {
  /** The branch's last commit where nothing else holds it, and the ref that keeps it now. */
  readonly dropped: string | null;
  readonly kept: string | null;
}
export interface SetUp extends Pick<
  CommandRequest,
  'env' | 'timeout_s' | 'maxOutput_bytes' | 'signal'
> {
  /** Of `worktree.setup`: run with `sh -c` in the worktree's workspace. */
  readonly command: string;
  readonly commands: CommandRunner;
  readonly sandbox: SandboxSettings | 'off';
}
export interface Attempt {
  readonly signal?: AbortSignal;
  readonly assertCurrent?: AssertCurrent;
}
export type SetUpOutcome = Readonly<
  { outcome: 'ready' } | { outcome: 'failed'; how: string; output: string }
>;
export interface Worktrees {
  /** Makes the worktree, or gives the one of that name as it is. A failure is a problem: `not_a_repository`, `git_failed`, `conflict`. */
  make(wanted: WorktreeWanted, attempt?: Attempt): Promise<Result<Worktree>>;
  /** Runs the command until it has succeeded once in this worktree; a worker that died in it runs it again. */
  setUp(worktree: Worktree, setUp: SetUp): Promise<SetUpOutcome>;
  /** Removes directory, branch and record. Throws ProblemError `busy` where a step holds it. Null: there is none of that name. */
  remove(plan: string, name: string): Promise<RemovedWorktree | null>;
}
