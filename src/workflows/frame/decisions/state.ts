/** The part of a run's state that holds its decisions, of a step and of a plan. Pure. */
import type { Pause } from '../../../shared/decisions.js';
import { type BlobRef, shownKey, type StepKey } from '../../../shared/ids.js';
import type { OutageState } from '../../../shared/outage.js';
import type { Rules } from '../../../shared/rules.js';
import type { DecisionContext } from '../../../shared/validate-decision.js';

export interface DecisionState
  extends
    OutageState,
    Pick<DecisionContext, 'decision' | 'resolved' | 'pendingRecords' | 'seenRequests'> {
  /** The pause that the reducer asks for. The next effect opens it as a decision. */
  readonly ask: Pause | null;
  readonly nextDecision: number;
  /** The last messages that did not count, and the number of all. */
  readonly ignored: readonly string[];
  readonly ignoredCount: number;
  /** Time that the run waited for answers, in ms. It does not count against wallClock_s. */
  readonly pausedFor_ms: number;
  /** The approvers who must sign answers, as the first read of the base commit found them. Absent: answers need no signature. */
  readonly approvers?: BlobRef;
}

export const NO_DECISIONS: DecisionState = {
  ask: null,
  decision: null,
  pendingRecords: [],
  nextDecision: 1,
  resolved: [],
  seenRequests: [],
  ignored: [],
  ignoredCount: 0,
  pausedFor_ms: 0,
  outage: null,
};

/** Returns the approvers that were found first. Later commits do not change them. */
export const approversFirst = (
  state: Pick<DecisionState, 'approvers'>,
  found: Pick<DecisionState, 'approvers'>,
): Pick<DecisionState, 'approvers'> => {
  const approvers = state.approvers ?? found.approvers;
  return approvers === undefined ? {} : { approvers };
};

/** Returns whether the question is about a host that takes no work. An abort then leaves the host's files as they are. */
export const waitsForHost = ({ decision, ask }: DecisionState): boolean =>
  (decision ?? ask)?.reason === 'workspace_unreachable';

/** The parts of a state that name its next decision. */
interface Numbered {
  readonly input: { readonly stepKey: StepKey; readonly rules: Rules };
  readonly nextDecision: number;
}

/** Returns the id of the decision that is opened next. */
export const decisionId = (state: Numbered, proposalId: string | null = null): string => {
  const run = shownKey(state.input.stepKey, state.input.rules.bounds.shownKey_chars);
  return [
    String(state.nextDecision),
    run,
    ...(proposalId === null ? [] : [proposalId.slice(0, 8)]),
  ].join('-');
};
