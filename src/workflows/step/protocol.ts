/** The effects that an edit step can want, the facts that come of them, and the shape of its stages. Types, and the one effect that asks. */
import type { ResultOf } from '../../shared/activities.js';
import type { PauseReason } from '../../shared/decisions.js';
import type { BlobRef } from '../../shared/ids.js';
import type { ProposeResult } from '../../shared/step-activities.js';
import type { TestSubject } from '../../shared/test-activities.js';
import type { ActivityFailed, FactOf, FrameEffect, FrameFacts } from '../frame/machine.js';
import type { CallProgress } from './state.js';

export interface Chunk {
  /** Path, or `*` for the whole step. */
  readonly file: string;
  readonly seq: number;
  readonly total: number;
  readonly attempt: CallProgress;
  /** Heads of the chain of accepted results when it started. */
  readonly heads: readonly BlobRef[];
}

export type Effect = FrameEffect | OwnEffect;

type OwnEffect =
  | { readonly kind: 'preflight' }
  | { readonly kind: 'pick' }
  | { readonly kind: 'brief' }
  | { readonly kind: 'propose'; readonly chunks: readonly Chunk[] }
  | { readonly kind: 'build' }
  | { readonly kind: 'approve_by_policy' }
  | { readonly kind: 'apply'; readonly files: readonly string[]; readonly releaseAfter: boolean }
  | { readonly kind: 'rebase' }
  /** Tests in the workspace after the apply. */
  | { readonly kind: 'verify' }
  /** Tests on the base, side by side with the call that comes next; null: alone. */
  | {
      readonly kind: 'try_base';
      readonly beside: Extract<Effect, { kind: 'brief' | 'propose' }> | null;
    }
  /** Tests on these files of the proposal before they are applied; `isFresh`: right before that. */
  | {
      readonly kind: 'test_proposal';
      readonly files: readonly string[];
      readonly isFresh: boolean;
    }
  | { readonly kind: 'audit'; readonly calls: number }
  | { readonly kind: 'release' | 'roll_back' }
  | { readonly kind: 'commit' };

export const pause = (
  reason: PauseReason,
  message: string,
  paths: readonly string[] = [],
  subject: string | null = null,
): Effect => ({
  kind: 'pause',
  pause: { reason, message, files: paths.map((path) => ({ path, reason, message })), subject },
});

/** By their type. */
export interface Facts extends FrameFacts {
  preflighted: { result: ResultOf<'preflight'> };
  picked: { result: ResultOf<'pickFiles'> };
  briefed: { result: ResultOf<'writeBrief'> };
  chunk_started: { chunk: Chunk };
  proposed: Proposed;
  proposal_built: { result: ResultOf<'buildProposal'> };
  approved_by_policy: object;
  applied: { result: ResultOf<'applyProposal'> };
  rebased: { result: ResultOf<'rebaseProposal'> };
  tested: { on: TestSubject; result: ResultOf<'runTests'> };
  audited: { result: ResultOf<'auditChange'> };
  /** The lock is ended. */
  released: object;
  rolled_back: { result: ResultOf<'rollBack'> };
  committed: { result: ResultOf<'commit'> };
  activity_failed: ActivityFailed & { chunk: Chunk | null };
  finished: object;
}

export type Fact = FactOf<Facts>;

export interface Proposed {
  readonly chunk: Chunk;
  readonly result: ProposeResult;
}
