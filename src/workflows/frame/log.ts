/** What the states of a step and of a plan have in common: telling events, messages that do not count, a model that is down. Pure. */
import type { EventBody, StepEvent } from '../../shared/events.js';
import { shownKey } from '../../shared/ids.js';
import { backOff, type ModelDown, outageEvent } from '../../shared/outage.js';
import { type Problem, problem } from '../../shared/problems.js';
import { cut } from '../../shared/rules.js';
import type { OpenOnHost } from '../../shared/run.js';
import type { WrittenByTests } from '../../shared/test-activities.js';
import type { ActivityFailed, RunState } from './machine.js';

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

export const tellFailed = <S extends RunState>(
  state: S,
  { activity, message }: ActivityFailed,
  now: number,
): S =>
  emit(state, now, { type: 'activity_failed', activity, message: cut(state.input.rules, message) });

export const notCounted = <S extends RunState>(state: S, now: number): S =>
  emit(state, now, { type: 'warning', message: 'usage: interrupted calls could not be counted' });

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

/** What a person reads of it wherever the result is shown. */
export const leftOnHost = ({ host, workspace, files }: OpenOnHost): Problem =>
  problem(
    'aborted',
    files.length === 0
      ? `Host ${host} is unreachable: what is left in ${workspace} remains until it returns.`
      : `Host ${host} is unreachable: what was applied in ${workspace} is not rolled back yet (${files.slice(0, 5).join(', ')}${files.length > 5 ? ` and ${files.length - 5} more` : ''}).`,
    'Its worker does that when it starts, or run `emend recover` on that host.',
  );
