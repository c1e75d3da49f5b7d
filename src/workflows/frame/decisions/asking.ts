/** Asks a question: a reducer sets it, and the next effect opens the decision. Steps and plans ask in the same way. Pure. */
import type { Answer, DecisionPoint, Pause } from '../../../shared/decisions.js';
import type { Progress } from '../../../shared/events.js';
import { emit } from '../log.js';
import type { RunState } from '../machine.js';
import { decisionId, type DecisionState } from './state.js';

/** Sets a question that is about no file in particular. */
export const asking = <S extends DecisionState>(
  state: S,
  reason: Pause['reason'],
  message: string,
  subject: string | null = null,
): S => ({ ...state, ask: { reason, message, files: [], subject } });

/** The parts of a decision that only the machine knows. */
interface Opening {
  /** Answers that the decision accepts, in addition to `abort`. */
  readonly answers: readonly Answer[];
  readonly proposalId?: string | null;
  readonly ofPlan?: true;
  readonly progress: Progress;
}

/** Opens the decision that a pause asks for. Its answer also ends an outage: the next effect is tried at once. */
export const openDecision = <S extends RunState>(
  state: S,
  { reason, message, files, subject, parts }: Pause,
  currentTime_ms: number,
  { answers, proposalId = null, progress, ...origin }: Opening,
): S => {
  const n = state.nextDecision;
  const id = decisionId(state, proposalId);
  const signing = state.approvers === undefined ? {} : { mustSign: true as const };
  const decision: DecisionPoint = {
    id,
    n,
    reason,
    message,
    files,
    proposalId,
    subject,
    ...(parts === undefined ? {} : { parts }),
    accepts: [...answers, 'abort'],
    answered: {},
    openedAt: currentTime_ms,
    ...signing,
    ...origin,
  };
  const opened = { ...state, ask: null, outage: null, nextDecision: n + 1, decision };
  return emit(opened, currentTime_ms, {
    type: 'edit_step_paused',
    reason,
    progress,
    decision: id,
    ...signing,
  });
};
