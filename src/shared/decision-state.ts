/** What a run keeps of people's decisions, a step's and a plan's alike. Pure. */
import type { DecisionFile, DecisionPoint, DecisionRecord, PauseReason, SettledDecision } from './decisions.js';

/** What a decision point will be about. */
export interface Pause {
  readonly reason: PauseReason;
  readonly message: string;
  readonly files: readonly DecisionFile[];
  /** The limit that was reached, or the command that was found. */
  readonly subject: string | null;
}

export interface DecisionState {
  /** A pause that the reducer wants; the next move opens it as a decision point. */
  readonly ask: Pause | null;
  readonly decision: DecisionPoint | null;
  /** Answers given to the open decision so far. */
  readonly pendingRecords: readonly DecisionRecord[];
  readonly nextDecision: number;
  readonly settled: readonly SettledDecision[];
  readonly seenRequests: readonly string[];
  readonly ignored: readonly string[];
  /** Time spent waiting for people, ms; not counted against wallClock_s. */
  readonly pausedFor_ms: number;
}

export const NO_DECISIONS: DecisionState = {
  ask: null,
  decision: null,
  pendingRecords: [],
  nextDecision: 1,
  settled: [],
  seenRequests: [],
  ignored: [],
  pausedFor_ms: 0,
};

/** The open decision goes to the settled ones: who, when, from where and why are kept. */
export const settledBy = (
  state: DecisionState,
  { id, n, reason, proposalId, openedAt }: DecisionPoint,
  answers: readonly DecisionRecord[],
  now: number,
) => ({
  decision: null,
  pendingRecords: [],
  pausedFor_ms: state.pausedFor_ms + (now - openedAt),
  settled: [...state.settled, { id, n, reason, proposalId, answers, openedAt, settledAt: now }],
});
