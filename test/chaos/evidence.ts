/** What is found when all is over, as plain data: the invariants are judged on it alone, so that each can be tried on planted findings. */
import type { LedgerRow, StepResult, StepUsage } from '../../src/shared/protocol.js';
import type { StepEvent } from '../../src/shared/events.js';
import type { LeaseHolder } from '../../src/workspace/types.js';
import type { End } from './kind.js';
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
  readonly files: readonly { readonly path: string; readonly base: string | null; readonly result: string | null }[];
  /** Hashes of a person's bytes that lie in the blob store, whole. */
  readonly saved: readonly string[];
}
/** One request to the model, as the journal has it in the end. Times are ms since the epoch. */
export interface FoundCall {
  readonly state: 'open' | 'answered' | 'failed' | 'unknown';
  /** When it was given up for lost; null: it was not. Its owner may have slept, woken, and heard the answer to its end. */
  readonly givenUpAt: number | null;
  /** When it came to its state: the answer's last event or the failure was on disk. Null: it has no end. */
  readonly endedAt: number | null;
}
/** One wanted answer of the model. */
export interface FoundSlot {
  readonly nonce: string;
  /** When its answer was recorded, ms since the epoch; null: it was not. */
  readonly answeredAt: number | null;
  readonly calls: readonly FoundCall[];
}
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
  readonly pauses: readonly string[];
  /** The run has been reset: its log is that of its last run. */
  readonly reset: boolean;
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
  readonly slots: readonly FoundSlot[];
  /** Workflow tasks that failed for anything but a worker's death. */
  readonly taskFailures: readonly string[];
}
export interface FoundCommit {
  readonly id: string;
  /** Values of the trailer Emend-Step. */
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
  readonly lease: LeaseHolder | null;
}
/** A request as it came to the model. */
export interface FoundRequest {
  readonly n: number;
  readonly at: number;
  readonly body: string;
}
export interface Evidence {
  readonly steps: readonly FoundStep[];
  readonly workspaces: readonly FoundWorkspace[];
  readonly requests: readonly FoundRequest[];
  readonly saves: readonly Save[];
  readonly given: readonly Given[];
  /** What processes did that nobody asked of them. */
  readonly strange: readonly string[];
  /** Planned faults, and whether each fired. */
  readonly faults: readonly { readonly name: string; readonly carrier: string; readonly fired: string | null }[];
}
