/** What a run keeps of people's decisions, a step's and a plan's alike. Pure. */
import type {
  DecisionPoint,
  DecisionRecord,
  DecisionRequest,
  Pause,
} from '../../shared/decisions.js';
import type { FoundTests } from '../../shared/test-plan.js';
import type { OutageState } from '../../shared/outage.js';
import { shownKey, type BlobRef, type StepKey } from '../../shared/ids.js';
import type { Rules } from '../../shared/rules.js';
import type { DecisionContext } from '../../shared/validate-decision.js';

export interface DecisionState
  extends
    OutageState,
    Pick<DecisionContext, 'decision' | 'resolved' | 'pendingRecords' | 'seenRequests'> {
  /** A pause that the reducer wants; the next move opens it as a decision point. */
  readonly ask: Pause | null;
  readonly nextDecision: number;
  /** The last ones, and how many there were. */
  readonly ignored: readonly string[];
  readonly ignoredCount: number;
  /** Time spent waiting for people, ms; not counted against wallClock_s. */
  readonly pausedFor_ms: number;
  /** Who must sign what is decided, as the first look at the base commit found it; absent: nobody. */
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

/** Those of the first look stay, whatever is committed meanwhile. */
export const approversFirst = (
  state: Pick<DecisionState, 'approvers'>,
  found: Pick<DecisionState, 'approvers'>,
): Pick<DecisionState, 'approvers'> => {
  const approvers = state.approvers ?? found.approvers;
  return approvers === undefined ? {} : { approvers };
};

/** A person is (or is about to be) asked about a host that takes no work: an abort now leaves its files as they are. */
export const waitsForHost = ({ decision, ask }: DecisionState): boolean =>
  (decision ?? ask)?.reason === 'workspace_unreachable';

interface Numbered {
  readonly input: { readonly stepKey: StepKey; readonly rules: Rules };
  readonly nextDecision: number;
}
/** Of the decision that is opened next. */
export const decisionId = (state: Numbered, proposalId: string | null = null): string => {
  const run = shownKey(state.input.stepKey, state.input.rules.bounds.shownKey_chars);
  return [
    String(state.nextDecision),
    run,
    ...(proposalId === null ? [] : [proposalId.slice(0, 8)]),
  ].join('-');
};

/** A person is to be asked, about no file in particular. */
export const asking = <S extends DecisionState>(
  state: S,
  reason: Pause['reason'],
  message: string,
  subject: string | null = null,
): S => ({ ...state, ask: { reason, message, files: [], subject } });

export const recordOf = (
  { answer, note, select, by, requestId }: DecisionRequest,
  now: number,
  files: readonly string[] = [],
): DecisionRecord => ({
  answer,
  files,
  note: note ?? null,
  ...(select === undefined ? {} : { select }),
  by,
  at: now,
  requestId,
});

export type TestsSaid = Pick<DecisionRequest, 'answer' | 'set'>;
/** Which tests run, by the answer to `test_command`. */
export const testsBy = ({ answer, set }: TestsSaid, subject: string | null, from?: FoundTests) => {
  const command = answer === 'other' ? set?.command : subject;
  if (answer === 'no_tests' || typeof command !== 'string') return { commands: [] };
  if (answer === 'other' || from === undefined) return { commands: [command], remember: null };
  return { commands: from.commands, remember: [from.key] };
};

/** The last requests that were counted: each counts once. */
export const seenWith = (
  { input, seenRequests }: Pick<DecisionContext, 'input' | 'seenRequests'>,
  requestId: string,
): readonly string[] => [...seenRequests, requestId].slice(-input.rules.bounds.requestsKept);

/** The open decision goes to the resolved ones: who, when, from where and why are kept. */
export const resolvedBy = (
  state: DecisionState,
  { id, n, reason, proposalId, openedAt }: DecisionPoint,
  answers: readonly DecisionRecord[],
  now: number,
) => ({
  decision: null,
  pendingRecords: [],
  pausedFor_ms: state.pausedFor_ms + (now - openedAt),
  resolved: [...state.resolved, { id, n, reason, proposalId, answers, openedAt, resolvedAt: now }],
});
