/** Takes up answers, and messages that do not count. Steps and plans take them up in the same way. Pure. */
import type { DecisionPoint, DecisionRecord, DecisionRequest } from '../../../shared/decisions.js';
import type { EventBody } from '../../../shared/events.js';
import type { FoundTests } from '../../../shared/test-plan.js';
import { cut } from '../../../shared/rules.js';
import type { DecisionContext } from '../../../shared/validate-decision.js';
import { emit } from '../log.js';
import type { RunState } from '../machine.js';
import type { DecisionState } from './state.js';

/** Returns the record of an answer that is kept with its decision. */
export const recordOf = (
  { answer, note, select, by, requestId }: DecisionRequest,
  currentTime_ms: number,
  files: readonly string[] = [],
): DecisionRecord => ({
  answer,
  files,
  note: note ?? null,
  ...(select === undefined ? {} : { select }),
  by,
  at: currentTime_ms,
  requestId,
});

/** Returns the last requests that were counted, with this one. Each counts once. */
export const seenWith = (
  { input, seenRequests }: Pick<DecisionContext, 'input' | 'seenRequests'>,
  requestId: string,
): readonly string[] => [...seenRequests, requestId].slice(-input.rules.bounds.requestsKept);

/** Returns the change that resolves the open decision. It keeps who answered, when, from where and why. */
export const resolvedBy = (
  state: DecisionState,
  { id, n, reason, proposalId, openedAt }: DecisionPoint,
  answers: readonly DecisionRecord[],
  currentTime_ms: number,
) => ({
  decision: null,
  pendingRecords: [],
  pausedFor_ms: state.pausedFor_ms + (currentTime_ms - openedAt),
  resolved: [
    ...state.resolved,
    { id, n, reason, proposalId, answers, openedAt, resolvedAt: currentTime_ms },
  ],
});

/** The parts of an answer that choose the tests. */
export type TestsSaid = Pick<DecisionRequest, 'answer' | 'set'>;

/** Returns the tests that run by the answer to `test_command`. */
export const testsBy = ({ answer, set }: TestsSaid, subject: string | null, from?: FoundTests) => {
  const command = answer === 'other' ? set?.command : subject;
  if (answer === 'no_tests' || typeof command !== 'string') return { commands: [] };
  if (answer === 'other' || from === undefined) return { commands: [command], remember: null };
  return { commands: from.commands, remember: [from.key] };
};

/** Returns the event of an answer that counts. */
export const decidedBy = (
  { answer, by }: DecisionRequest,
  decision: string,
  files = 0,
): EventBody => ({
  type: 'decided',
  decision,
  answer,
  files,
  skipped: [],
  by: `${by.name} (${by.from})`,
});

/** Ends the wait for a model on `retry`: the next try comes at once. If it fails, the waits begin with the first again. */
export const tryNow = <S extends RunState>(
  state: S,
  request: DecisionRequest,
  currentTime_ms: number,
): S => {
  const { outage } = state;
  if (outage?.id !== request.decision || request.answer !== 'retry') return state;
  const again = { ...state, outage: { ...outage, tries: 0, waited_ms: 0, next: currentTime_ms } };
  return emit(again, currentTime_ms, decidedBy(request, outage.id));
};

/** Records a message that does not count. It counts all, keeps the last and emits events for the first ones only, so a flood stays small. */
export const recordIgnored = <S extends RunState>(
  state: S,
  { what, why }: { readonly what: string; readonly why: string },
  currentTime_ms: number,
): S => {
  const { ignoredKept } = state.input.rules.bounds;
  const ignoredCount = state.ignoredCount + 1;
  const ignored = [...state.ignored, cut(state.input.rules, `${what}: ${why}`)].slice(-ignoredKept);
  const kept = { ...state, ignored, ignoredCount };
  const event = {
    type: 'decision_ignored',
    what: cut(state.input.rules, what),
    why: cut(state.input.rules, why),
  } as const;
  return ignoredCount > ignoredKept ? kept : emit(kept, currentTime_ms, event);
};
