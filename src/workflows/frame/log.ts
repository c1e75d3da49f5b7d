/** What the states of a step and of a plan have in common: telling events, messages that do not count, a model that is down. Pure. */
import { cut } from '../../shared/rules.js';
import { decisionId } from './decision-state.js';
import type { Answer, DecisionPoint, DecisionRequest, Pause } from '../../shared/decisions.js';
import type { ActivityFailed, RunState } from './machine.js';
import type { EventBody, Progress, StepEvent } from '../../shared/events.js';
import { backOff, outageEvent, type ModelDown } from '../../shared/outage.js';
import { problem, type Problem } from '../../shared/problems.js';
import type { WrittenByTests } from '../../shared/test-activities.js';
import type { OpenOnHost } from '../../shared/run.js';
import { shownKey } from '../../shared/ids.js';

/**
 * Wait before asking again for a busy workspace: doubles up to 15 times the poll, then grows with the tries. A step that waits
 * for weeks must not fill its history: the number of tries grows with the square root of the time.
 */
export const busyWait_ms = (poll_ms: number, tries: number): number =>
  Math.round(poll_ms * Math.min(15, 2 ** Math.min(4, tries - 1)) * Math.max(1, tries / 32));

/** For a decision: a run that would never wait again holds up the worker and all other runs on it. */
export const noProgress = (moves: number, stage: string): string =>
  `${moves} moves in a row at stage ${stage} made no progress: a bug in Emend; please report it`;

/** Appends an event; only the newest `eventsKept` stay in the state, all of them go to the archive. */
export const emit = <S extends RunState>(state: S, now: number, body: EventBody): S => {
  // A union spread into a union: the compiler cannot see that each body stays itself.
  const event = { ...body, seq: state.nextSeq, at: now } as StepEvent;
  return {
    ...state,
    nextSeq: state.nextSeq + 1,
    events: [...state.events, event].slice(-state.input.rules.bounds.eventsKept),
  };
};

/** Adds a warning that lists paths; without paths none. */
export const warnOfPaths = <S extends RunState>(
  state: S,
  sentence: string,
  paths: readonly string[],
  currentTime_ms: number,
): S =>
  paths.length === 0
    ? state
    : emit(state, currentTime_ms, {
        type: 'warning',
        message: cut(state.input.rules, `${sentence}: ${paths.join(', ')}`),
      });

/** Adds warnings of what tests wrote into the workspace, and of what they may not write there. */
export const warnOfWrites = <S extends RunState>(
  state: S,
  subject: string,
  { written = [], notWritten = [] }: WrittenByTests,
  currentTime_ms: number,
): S =>
  warnOfPaths(
    warnOfPaths(
      state,
      `${subject} wrote into the workspace, as \`sandbox.write\` allows it`,
      written,
      currentTime_ms,
    ),
    'not written, although `sandbox.write` names it',
    notWritten.map(({ path, reason }) => `${path} (${reason})`),
    currentTime_ms,
  );

interface Opening {
  readonly answers: readonly Answer[];
  readonly proposalId?: string | null;
  readonly ofPlan?: true;
  readonly progress: Progress;
}
/** A pause becomes the open decision. Whoever is asked answers for an outage, too: what comes next is tried at once. */
export const openDecision = <S extends RunState>(
  state: S,
  { reason, message, files, subject, parts }: Pause,
  now: number,
  { answers, proposalId = null, progress, ...of }: Opening,
): S => {
  const n = state.nextDecision;
  const id = decisionId(state, proposalId);
  const about = {
    id,
    n,
    reason,
    message,
    files,
    proposalId,
    subject,
    ...(parts === undefined ? {} : { parts }),
  };
  const signing = state.approvers === undefined ? {} : { mustSign: true as const };
  const accepts = [...answers, 'abort' as const];
  const decision: DecisionPoint = {
    ...about,
    accepts,
    answered: {},
    openedAt: now,
    ...signing,
    ...of,
  };
  const opened = { ...state, ask: null, outage: null, nextDecision: n + 1, decision };
  return emit(opened, now, {
    type: 'edit_step_paused',
    reason,
    progress,
    decision: id,
    ...signing,
  });
};

export const tellFailed = <S extends RunState>(
  state: S,
  { activity, message }: ActivityFailed,
  now: number,
): S =>
  emit(state, now, { type: 'activity_failed', activity, message: cut(state.input.rules, message) });

export const notCounted = <S extends RunState>(state: S, now: number): S =>
  emit(state, now, { type: 'warning', message: 'usage: interrupted calls could not be counted' });

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

/** A message that does not count. Counted are all; kept are the last, and told as events the first: a flood leaves no flood. */
export const recordIgnored = <S extends RunState>(
  state: S,
  { what, why }: { readonly what: string; readonly why: string },
  now: number,
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
  return ignoredCount > ignoredKept ? kept : emit(kept, now, event);
};

/** The model could not be asked for `file`: the run waits, or a person is asked. */
export const onModelDown = <S extends RunState>(
  state: S,
  down: ModelDown,
  file: string,
  now: number,
): S => {
  const { input, usage, nextSeq: seq } = state;
  const run = shownKey(input.stepKey, state.input.rules.bounds.shownKey_chars);
  const failed = { down, file, answered: usage.output_tokens > 0, run, seq };
  const outage = backOff(state.outage, failed, now);
  return emit(
    { ...state, outage },
    now,
    outageEvent({ ...outage, message: cut(state.input.rules, outage.message) }),
  );
};

/** `retry` of a wait: the next try comes at once, and where it fails the waits begin anew. */
export const tryNow = <S extends RunState>(state: S, request: DecisionRequest, now: number): S => {
  const { outage } = state;
  if (outage?.id !== request.decision || request.answer !== 'retry') return state;
  const again = { ...state, outage: { ...outage, tries: 0, waited_ms: 0, next: now } };
  return emit(again, now, decidedBy(request, outage.id));
};

/** What a person reads of it wherever the result is shown. */
export const leftOnHost = ({ host, workspace, files }: OpenOnHost): Problem =>
  problem(
    'aborted',
    files.length === 0
      ? `Host ${host} is unreachable: what is left in ${workspace} remains until it returns.`
      : `Host ${host} is unreachable: what was applied in ${workspace} is not rolled back yet (${files.slice(0, 5).join(', ')}${files.length > 5 ? ` and ${files.length - 5} more` : ''}).`,
    'Its worker does that when it starts, or run `emend recover` on that host.',
  );
