/**
 * The one wrapper round all activities: reads the version, beats, appends to the archive, and turns what was thrown into a failure
 * that Temporal retries or not. Expected outcomes never come here: they are values.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { ModelError } from '../../model/errors.js';
import {
  ACTIVITIES,
  HANDED_BACK,
  type ActivityName,
  type ActivitySpec,
  type InputOf,
  type ResultOf,
} from '../../shared/activities.js';
import { BOUNDS } from '../../shared/limits.js';
import {
  PROBLEMS,
  ProblemError,
  type Problem,
  type ProblemCode,
  checkVersion,
  fail,
  versioned,
  sentence,
} from '../../shared/problems.js';
import type { ActivityBase } from '../../shared/proposal-activities.js';
import { cut } from '../../shared/text.js';
import { maskedEntries } from '../../stores/ports.js';
import { isoTime } from '../../system/clock.js';
import { withTimeLimit } from '../../system/time-limit.js';
import type { AssertCurrent } from '../../workspace/ports.js';
import type { ActivityPorts } from './ports.js';
import { maskWords } from './secrets.js';

// A stopped process (SIGSTOP, a suspended machine) is given up after its heartbeat time-out and another attempt takes its place. When it
// wakes up, nobody tells it in time; but it can see by the clocks that it stood still.

/** Of this process: how often its attempts saw it stand still so long that they were given up, and when they saw it last. */
export const stoodStill = { times: 0, last_ms: -Infinity };

/** `running_ms` goes on while a process is stopped, not while the machine sleeps; `wall_ms` while the machine sleeps. */
const CLOCK = { running_ms: () => performance.now(), wall_ms: () => Date.now() };

/** `timeout_ms`: the attempt's heartbeat time-out; null: it has none and is never given up for its silence. */
export function startHeartbeat(timeout_ms: number | null, clock = CLOCK) {
  // Of whoever stood still this long it is certain. The server may have given up somewhat earlier, as beats reach it with a delay:
  // for that moment there are fencing tokens and marks.
  const limit_ms = timeout_ms ?? Infinity;
  let running = clock.running_ms();
  let wall = clock.wall_ms();
  let longest_ms = 0;
  let told = false;
  const look = (): void => {
    const still_ms = Math.max(clock.running_ms() - running, clock.wall_ms() - wall);
    longest_ms = Math.max(longest_ms, still_ms);
    if (still_ms <= limit_ms || told) return;
    told = true;
    stoodStill.times += 1;
    stoodStill.last_ms = performance.now();
  };
  return {
    /** To be called at every heartbeat. */
    beat: (): void => {
      look();
      running = clock.running_ms();
      wall = clock.wall_ms();
      told = false;
    },
    assertCurrent: (): void => {
      look();
      if (longest_ms > limit_ms)
        fail(
          'busy',
          `This attempt was suspended for ${Math.round(longest_ms)} ms: another may have replaced it.`,
        );
    },
  };
}

/** Returns the heartbeat time-out of an attempt; null: it has none. The SDK says 0 then. */
const heartbeatTimeoutOf = ({ heartbeatTimeoutMs = 0 }: Context['info']): number | null =>
  heartbeatTimeoutMs === 0 ? null : heartbeatTimeoutMs;

/**
 * What answers a poll may come long after the server said it (this process stood still, its network did), for another attempt to have
 * done the work meanwhile. Only the server knows; by our clock, which may be another than its own, we see when to ask.
 */
async function failIfReplaced(context: Context): Promise<void> {
  const { info } = context;
  const { namespace, taskToken, currentAttemptScheduledTimestampMs } = info;
  const timeout_ms = heartbeatTimeoutOf(info);
  const age_ms = CLOCK.wall_ms() - currentAttemptScheduledTimestampMs;
  if (timeout_ms === null || (age_ms >= 0 && age_ms < timeout_ms / 2)) return;
  await context.client.workflowService
    .recordActivityTaskHeartbeat({ namespace, taskToken })
    .catch((error: unknown) => {
      fail(
        'busy',
        `This attempt came ${age_ms} ms late, and another attempt may have replaced it: ${String(error)}`,
      );
    });
}

/**
 * Of an attempt that was cancelled: was it given up alone, as its beats did not get through? Then a model call that is under way, which is
 * paid for, goes on: its answer is the next attempt's.
 */
async function isAwaited(context: Context, patience_ms: number): Promise<boolean> {
  const { cancellationDetails: why, info } = context;
  const { workflowExecution: run, activityId } = info;
  if (why?.notFound !== true || why.timedOut || run === undefined) return false;
  const { client } = context;
  const describe = () => client.workflow.getHandle(run.workflowId, run.runId).describe();
  // Under the attempt's own signal, which is aborted, nothing can be asked.
  return client.withAbortSignal(AbortSignal.timeout(patience_ms), describe).then(
    ({ raw }) =>
      raw.pendingActivities?.some((pending) => pending.activityId === activityId) ?? false,
    () => true,
  );
}

/** The latest attempts in this process by activity, and what aborts their work. */
const atWork = new Map<
  string,
  { readonly given: AbortController; readonly ended: Promise<unknown> }
>();
const REPLACED = new Error('Another attempt replaced this one.');
const REPLACED_END_MS = 30_000; // bound: A replaced attempt that works on files is waited for this long; one that does not listen is left behind.

const LEAST_BEAT_MS = 50; // bound: Beats of an activity are no more often than this.

/** What an activity's own code gets in addition to its input. */
export interface ActivityScope {
  /** Aborted when the activity is cancelled, or the worker stops. */
  readonly signal: AbortSignal;
  /** Throws where this attempt has been given up, as the process stood still or the server says so: it must not write any more. */
  readonly assertCurrent: AssertCurrent;
  /** The workflow that the activity belongs to: who holds a lock that is taken here. */
  readonly owner: {
    readonly workflowId: string;
    readonly runId: string;
    readonly namespace: string;
  };
}
export type Work<I extends ActivityBase, O> = (
  ports: ActivityPorts,
  input: I,
  scope: ActivityScope,
) => Promise<O>;
/** What does the work of an activity of the table. */
export type Activity<N extends ActivityName> = Work<InputOf<N>, ResultOf<N>>;

// bound: Attempts in which a host's own git may fail: another git's lock or load passes in seconds, a broken filter does not. A remote may be away longer.
const GIT_ATTEMPTS = 3;
/** A full or read-only disk may be mended meanwhile, a home mounted again; everything else that a problem says stays as it is. */
const MAY_PASS: readonly ProblemCode[] = ['disk', 'git_failed', 'home_unusable', 'store_unusable'];
const retried = ({ code }: Problem, { repository }: ActivityBase): boolean =>
  code === 'git_failed' && repository === undefined
    ? Context.current().info.attempt < GIT_ATTEMPTS
    : PROBLEMS[code].retryable || MAY_PASS.includes(code);

const mayPass = ({ code }: Problem): boolean =>
  code !== 'limit_reached' && code !== 'version_unknown';

/** The SDK neither counts nor logs a failure of this category. */
const BENIGN = { category: ApplicationFailureCategory.BENIGN } as const;
/** Problems of a run that works as it should: another attempt or another run is at work. All others are for whoever watches the workers. */
const EXPECTED: ReadonlySet<ProblemCode> = new Set(['busy']);

/** A failure is told also where its activity was cancelled. */
const UNTIL_DONE = new AbortController().signal;
const UNCHECKED = 'The text may contain a secret and could not be checked.';

const CAUSES = 3; // bound: Causes of an error that history and log show (src/temporal/failures.ts).
/** Returns the words of an error and of its causes: a secret in any of them is to be found. */
const messageOf = (error: unknown, causesLeft = CAUSES): string => {
  if (error instanceof ModelError || error instanceof ProblemError) return sentence(error.problem);
  if (!(error instanceof Error)) return String(error);
  const own = `${error.name}: ${error.message}`;
  return error.cause === undefined || causesLeft === 0
    ? own
    : `${own} (${messageOf(error.cause, causesLeft - 1)})`;
};

/**
 * `message`: what it says, as history may hold it. A run that has not begun opens no decision, so its first activity is repeated unless
 * that cannot help.
 */
function asFailure(
  error: unknown,
  message: string,
  input: ActivityBase,
  role: ActivitySpec['role'],
): unknown {
  if (error instanceof CancelledFailure || error instanceof ApplicationFailure) return error;
  const told = cut(message, BOUNDS.reason_chars);
  if (error instanceof ModelError || error instanceof ProblemError) {
    const { retryable, retryAfter_ms } =
      error instanceof ModelError
        ? error
        : {
            retryable:
              retried(error.problem, input) || (role === 'workflow' && mayPass(error.problem)),
            retryAfter_ms: undefined,
          };
    return ApplicationFailure.create({
      type: error.problem.code,
      message: told,
      nonRetryable: !retryable,
      ...(EXPECTED.has(error.problem.code) ? BENIGN : {}),
      ...(retryAfter_ms === undefined ? {} : { nextRetryDelay: retryAfter_ms }),
    });
  }
  const isTold = message === messageOf(error);
  return ApplicationFailure.create({
    type: 'internal',
    message: told,
    // Its own words are in it again.
    ...(error instanceof Error && isTold ? { cause: error } : {}),
  });
}

/** Throws ProblemError `limit_reached` for a result that no payload can carry: the workflow never gets it, so the archive must not have it. */
const assertFitsPayload = (name: ActivityName, result: object): void => {
  const size_bytes = Buffer.byteLength(JSON.stringify(result));
  if (size_bytes > BOUNDS.payload_bytes)
    fail(
      'limit_reached',
      `The result of ${name} has ${size_bytes} bytes, more than the ${BOUNDS.payload_bytes} bytes of one payload.`,
      'Name fewer files in the job.',
    );
};

/** The file that a chunk is for: a report says what each cost. */
const fileOf = (input: object): { readonly file?: string } =>
  'file' in input && typeof input.file === 'string' ? { file: input.file } : {};

export function activity<I extends ActivityBase, O extends object>(
  name: ActivityName,
  ports: ActivityPorts,
  work: Work<I, O>,
): (input: I) => Promise<O> {
  const { role, timeouts, heartbeat }: ActivitySpec = ACTIVITIES[name];
  const isCall = role === 'model';
  const longest_ms = heartbeat === undefined ? Infinity : ports.timings[heartbeat];
  const attemptOf = async (input: I, given: AbortController, activityOf: string): Promise<O> => {
    const earlier = atWork.get(activityOf);
    const context = Context.current();
    const { workflowExecution, namespace, activityId, attempt } = context.info;
    const runId = workflowExecution?.runId ?? 'none';
    const owner = { workflowId: workflowExecution?.workflowId ?? '', runId, namespace };
    // Each file's work may wait for its turn with it.
    setMaxListeners(0, given.signal);
    const timeout_ms = heartbeatTimeoutOf(context.info);
    // A third of the time-out: two beats may be lost before the activity is taken for dead.
    const third_ms = (timeout_ms ?? ports.timings[timeouts.heartbeatTimeout]) / 3;
    const beat_ms = Math.max(LEAST_BEAT_MS, Math.min(longest_ms, third_ms));
    const pulse = startHeartbeat(timeout_ms);
    const heed = async (): Promise<void> => {
      if (context.cancellationSignal.aborted && !(isCall && (await isAwaited(context, beat_ms))))
        given.abort();
    };
    context.cancellationSignal.addEventListener('abort', () => void heed());
    const timer = setInterval(() => {
      pulse.beat();
      context.heartbeat();
      void heed();
    }, beat_ms);
    const assertCurrent = (): void => {
      pulse.assertCurrent();
      if (given.signal.reason === REPLACED || context.cancellationDetails?.notFound === true)
        fail('busy', 'The server gave up this attempt.');
    };
    try {
      // Of an input newer than this worker nothing can be said; the person upgrades and retries.
      checkVersion(input, `The input of ${name}`);
      await failIfReplaced(context);
      await ports.checkHome();
      await ports.archive.append(
        input.stepKey,
        await maskedEntries(input.log, runId),
        'with_next_append',
      );
      // Nobody waits for it any more (its run was terminated, the worker stops): what has not begun is not begun.
      if (context.cancellationSignal.aborted)
        throw new CancelledFailure(`${name} was cancelled before it started`);
      const run = async () => {
        // Both have the same files, tests and calls.
        if (earlier !== undefined) {
          if (isCall) given.signal.addEventListener('abort', () => earlier.given.abort());
          else earlier.given.abort(REPLACED);
          const late = isCall ? [] : [sleep(REPLACED_END_MS, undefined, { ref: false })];
          await Promise.race([earlier.ended.catch(() => undefined), context.cancelled, ...late]);
        }
        assertCurrent();
        return work(ports, input, { signal: given.signal, assertCurrent, owner });
      };
      const told = await withTimeLimit(context.info.startToCloseTimeoutMs, run);
      const result = await maskWords(ports, input, told, given.signal);
      // Of an attempt that was given up nothing is recorded; what the result names must lie in the home that is there for the next activity.
      assertCurrent();
      await ports.checkHome();
      assertFitsPayload(name, result);
      const data = { name, attempt, ...fileOf(input), result };
      const id = `activity-${runId}-${activityId}`;
      await ports.archive.append(input.stepKey, [
        { id, at: isoTime(ports.clock), kind: 'activity', data },
      ]);
      return versioned<O>(result);
    } catch (error) {
      const why = context.cancellationDetails;
      // What a worker that stops has begun is no attempt of the activity.
      if (why?.workerShutdown === true && !why.cancelRequested && input.handsBack === true)
        throw ApplicationFailure.create({
          type: HANDED_BACK,
          message: 'Its worker stopped.',
          nonRetryable: true,
          ...BENIGN,
        });
      // A cancelled activity must end as cancelled, whatever its cancelled parts threw.
      if (context.cancellationSignal.aborted)
        throw await context.cancelled.catch((reason: unknown) => reason);
      const said = messageOf(error);
      const masked = maskWords(ports, { stepKey: input.stepKey }, { message: said }, UNTIL_DONE);
      const { message } = await masked.catch(() => ({ message: UNCHECKED }));
      throw asFailure(error, message, input, role);
    } finally {
      clearInterval(timer);
    }
  };
  return (input) => {
    const { namespace, workflowExecution, activityId } = Context.current().info;
    const id = JSON.stringify([namespace, workflowExecution, activityId]);
    const given = new AbortController();
    const ended = attemptOf(input, given, id).finally(() => {
      if (atWork.get(id)?.given === given) atWork.delete(id);
    });
    atWork.set(id, { given, ended });
    return ended;
  };
}
