/** The protocol of an edit step: the effects that it can want, the facts that come of them, and the shape that all its stages have. */
import type { ResultOf } from '../../shared/activities.js';
import type { DecisionPoint, DecisionRequest, PauseReason } from '../../shared/decisions.js';
import type { BlobRef } from '../../shared/ids.js';
import type { ProposeResult } from '../../shared/step-activities.js';
import type { TestSubject } from '../../shared/test-activities.js';
import type { ActivityFailed, FactOf, Folds, FrameEffect, FrameFacts } from '../frame/machine.js';
import type { CallProgress, Stage, StepState } from './state.js';

/** A call of a model for one file, or for all files of the step. */
export interface Chunk {
  /** A path, or `*` for all files. */
  readonly file: string;
  readonly seq: number;
  /** Number of chunks that the step has. */
  readonly total: number;
  readonly attempt: CallProgress;
  /** Heads of the chain of accepted results when the chunk started. */
  readonly heads: readonly BlobRef[];
}

/** Effects of a step, by their kind. `workflow.ts` has the activity of each. */
export interface Effects {
  preflight: object;
  pick: object;
  brief: object;
  propose: { chunks: readonly Chunk[] };
  build: object;
  approve_by_policy: object;
  /** `releaseAfter`: nothing comes after the apply, so it unlocks the workspace. */
  apply: { files: readonly string[]; releaseAfter: boolean };
  rebase: object;
  /** Tests in the workspace after the apply. */
  verify: object;
  /** Tests on the base, side by side with the call that comes next. Null: alone. */
  try_base: { beside: EffectOf<'brief' | 'propose'> | null };
  /** Tests on these files of the proposal before they are applied. `isFresh`: right before that. */
  test_proposal: { files: readonly string[]; isFresh: boolean };
  /** `calls`: number of calls that may be made until one gives an audit. */
  audit: { calls: number };
  release: object;
  roll_back: object;
  commit: object;
}

/** An effect of the step: of one kind, or of one of several. */
export type EffectOf<K extends keyof Effects = keyof Effects> = {
  [N in K]: { readonly kind: N } & Readonly<Effects[N]>;
}[K];

/** What the workflow does next. */
export type Effect = FrameEffect | EffectOf;

/** Facts of a step, by their type. */
export interface Facts extends FrameFacts {
  preflighted: { result: ResultOf<'preflight'> };
  picked: { result: ResultOf<'pickFiles'> };
  briefed: { result: ResultOf<'writeBrief'> };
  chunk_started: { chunk: Chunk };
  proposed: { chunk: Chunk; result: ProposeResult };
  proposal_built: { result: ResultOf<'buildProposal'> };
  approved_by_policy: object;
  applied: { result: ResultOf<'applyProposal'> };
  rebased: { result: ResultOf<'rebaseProposal'> };
  tested: { on: TestSubject; result: ResultOf<'runTests'> };
  audited: { result: ResultOf<'auditChange'> };
  /** The workspace is unlocked. */
  released: object;
  rolled_back: { result: ResultOf<'rollBack'> };
  committed: { result: ResultOf<'commit'> };
  activity_failed: ActivityFailed & { chunk: Chunk | null };
  finished: object;
}

export type Fact = FactOf<Facts>;

/** A place in which a step has something left to do. */
export type Place = Exclude<Stage['at'], 'closed'>;

/** Gives the next effect at each place of a stage. */
export type Next<P extends Place> = Readonly<
  Record<P, (state: StepState, currentTime_ms: number) => Effect>
>;

/** Folds each fact of a stage into the state. */
export type On<T extends keyof Facts> = Folds<StepState, Pick<Facts, T>>;

/** A decision whose files all have an answer. */
export interface Resolution {
  readonly decision: DecisionPoint;
  /** The last answer. */
  readonly request: DecisionRequest;
}

/** Gives what follows each decision of a stage once it is resolved. */
export type Decide<R extends PauseReason> = Readonly<
  Record<R, (state: StepState, resolution: Resolution, currentTime_ms: number) => StepState>
>;

/** Returns the effect that asks about these paths, or about the step as a whole. */
export const pause = (
  reason: PauseReason,
  message: string,
  paths: readonly string[] = [],
  subject: string | null = null,
): Effect => ({
  kind: 'pause',
  pause: { reason, message, files: paths.map((path) => ({ path, reason, message })), subject },
});
