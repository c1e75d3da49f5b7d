/** What is found when all is over, as plain data: the invariants are judged on it alone, so that each can be tried on planted findings. */
import type { StepUsage } from '../../src/shared/usage.js';
import type { DecisionPoint } from '../../src/shared/decisions.js';
import type { LedgerRow, StepResult } from '../../src/shared/run.js';
import type { StepEvent } from '../../src/shared/events.js';
import type { WorkspaceLock } from '../../src/workspace/ports.js';
import type { End, PlanEnd } from './kind.js';
import type { PlannedPhase } from './plans.js';
import type { Given, Save } from './world.js';

/** One application or rollback, from the record on disk. Hashes are sha-256 in hex; null: absent. */
export interface FoundRecord {
  readonly name: string;
  readonly kind: 'apply' | 'rollback';
  readonly proposalId: string;
  readonly decision: number;
  readonly open: boolean;
  readonly outcome: 'applied' | 'conflict' | null;
  /** Paths that came to their result. */
  readonly done: readonly string[];
  readonly files: readonly {
    readonly path: string;
    readonly base: string | null;
    readonly result: string | null;
  }[];
  /** Hashes of a person's bytes that lie in the blob store, whole. */
  readonly saved: readonly string[];
}
/** One request to the model, as the journal has it in the end. Times are ms since the epoch. */
export interface FoundAttempt {
  readonly state: 'open' | 'answered' | 'failed' | 'unknown';
  /** When it was claimed: its request follows. */
  readonly begunAt: number;
  /** When it was given up for lost; null: it was not. Its owner may have slept, woken, and heard the answer to its end. */
  readonly givenUpAt: number | null;
  /** When it came to its state: the answer's last event or the failure was on disk. Null: it has no end. */
  readonly endedAt: number | null;
}
/** One wanted answer of the model. */
export interface FoundCall {
  readonly nonce: string;
  /** When its answer was recorded, ms since the epoch; null: it was not. */
  readonly answeredAt: number | null;
  readonly attempts: readonly FoundAttempt[];
}
/** What a run asked its person. */
export type Pause = Pick<DecisionPoint, 'reason' | 'message'>;
export interface FoundStep {
  readonly carrier: string;
  readonly kind: string;
  readonly ends: readonly End[];
  readonly workspace: string;
  readonly paths: readonly string[];
  readonly base: Readonly<Record<string, string>>;
  readonly wanted: Readonly<Record<string, string>>;
  readonly stepKey: string;
  /** Temporal's word; null: still open. */
  readonly status: string | null;
  readonly rounds: number;
  readonly pauses: readonly Pause[];
  /** The run has been reset: its log is that of its last run. */
  readonly reset: boolean;
  /** A phase that was committed in a worktree, and its plan ended before the merge: the branch is gone. */
  readonly dropped: boolean;
  readonly result: StepResult | null;
  readonly ledger: readonly LedgerRow[];
  readonly events: readonly StepEvent[];
  /** As `emend show` tells it. */
  readonly usage: StepUsage;
  /** When the run last counted all its calls anew from the journal, ms since the epoch; null: it had no need to. */
  readonly talliedAt: number | null;
  /** From the archive alone. */
  readonly archived: {
    readonly status: string | null;
    readonly outcome: string | null;
    readonly commit: string | null;
    readonly files: readonly string[];
    /** Names of the people whose answers it holds. */
    readonly deciders: readonly string[];
  };
  readonly records: readonly FoundRecord[];
  readonly calls: readonly FoundCall[];
  /** Workflow tasks that failed for anything but a worker's death. */
  readonly taskFailures: readonly string[];
}
/** One run of a plan; its phases' runs are steps. */
export interface FoundPlanRun {
  readonly stepKey: string;
  readonly status: string | null;
  readonly outcome: string | null;
  readonly reset: boolean;
  readonly pauses: readonly Pause[];
  readonly events: readonly StepEvent[];
  readonly archived: Pick<FoundStep['archived'], 'status' | 'outcome' | 'deciders'>;
  readonly phases: readonly {
    /** As the commits name it: `p2`. */
    readonly id: string;
    readonly number: number;
    readonly status: string;
    /** stepKeys of its runs. */
    readonly runs: readonly string[];
  }[];
  readonly taskFailures: readonly string[];
}
export interface FoundPlan {
  readonly carrier: string;
  readonly kind: string;
  readonly ends: readonly PlanEnd[];
  /** How all its runs but the last may end. */
  readonly cuts: readonly string[];
  readonly workspace: string;
  /** The document's path, and its bytes at the beginning, with what a person wrote into it since. */
  readonly document: string;
  readonly text: string;
  readonly phases: readonly PlannedPhase[];
  /** Oldest first. */
  readonly runs: readonly FoundPlanRun[];
  /** Worktrees, branches and records of theirs that are still there. */
  readonly left: readonly string[];
}
export interface FoundCommit {
  readonly id: string;
  /** Values of the trailers Emend-Step and Emend-Mark. */
  readonly steps: readonly string[];
  /** Contents of the changed paths. */
  readonly changed: Readonly<Record<string, string>>;
}
export interface FoundWorkspace {
  readonly path: string;
  /** All files outside .git. */
  readonly files: Readonly<Record<string, string>>;
  /** Oldest first, the first one left out. */
  readonly commits: readonly FoundCommit[];
  /** Lines of `git status --porcelain --ignored`. */
  readonly status: readonly string[];
  /** What `git fsck` complains of. */
  readonly fsck: readonly string[];
  /** Names of lock files in the git directory. */
  readonly locks: readonly string[];
  readonly lock: WorkspaceLock | null;
}
/** A request as it came to the model. */
export interface FoundRequest {
  readonly n: number;
  readonly at: number;
  readonly body: string;
  /** It was answered with an error's status, so it is on no bill. */
  readonly refused: boolean;
}
export interface Evidence {
  readonly steps: readonly FoundStep[];
  readonly plans: readonly FoundPlan[];
  readonly workspaces: readonly FoundWorkspace[];
  readonly requests: readonly FoundRequest[];
  readonly saves: readonly Save[];
  readonly given: readonly Given[];
  /** What processes did that nobody asked of them. */
  readonly strange: readonly string[];
  /** Planned faults, and whether each fired. */
  readonly faults: readonly {
    readonly name: string;
    readonly carrier: string;
    readonly fired: string | null;
  }[];
}
