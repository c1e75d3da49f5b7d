/** Making one attempt that this process owns: every event to disk as it comes, signs of life, and an end that others can read. */
import type { Clock } from '../../system/clock.js';
import { LIMITS } from '../../shared/limits.js';
import { ProblemError } from '../../shared/problems.js';
import { ModelError } from '../errors.js';
import type { RecordedAttempt } from './answer.js';
import { SLEPT, type EndRecord, type CallFiles, isSurelyGone } from './records.js';
import { StreamLog } from './stream-log.js';
import type { JournalAsk, ModelPort, ModelRequest } from '../ports.js';
import type { Sys } from '../../system/sys.js';

interface MakeAttempt {
  readonly files: CallFiles;
  readonly attempt: number;
  readonly model: ModelPort;
  readonly request: ModelRequest;
  readonly owner_ms: number;
  readonly at: () => string;
}

const LOG_BYTES = LIMITS.maxCallLog_bytes.default ?? LIMITS.maxCallLog_bytes.max;

/**
 * Resolves when the whole answer is on disk, or when another process has taken the call over meanwhile (the call's files tell).
 * Throws ModelError or ProblemError (`disk`) after the attempt's end was recorded.
 */
export const makeAttempt = async (options: MakeAttempt, input: JournalAsk): Promise<void> => {
  const { files, attempt, model, request, owner_ms, at } = options;
  const { signal, maxAnswer_bytes, stoodStill = () => 0, maxCallLog_bytes = LOG_BYTES } = input;
  const before = stoodStill();
  const own = new AbortController();
  let log: StreamLog | null = null;
  const seen = { sent: false, takenOver: false };
  let timer: NodeJS.Timeout | null = null;
  try {
    const begun = await StreamLog.create(files.calls, files.stream(attempt), {
      attempt,
      at: at(),
      max_bytes: maxCallLog_bytes,
    });
    log = begun;
    // An owner that was given up may have woken meanwhile, and heard its answer to the end.
    seen.takenOver = await files.hasEnded(attempt);
    if (seen.takenOver) throw cancelled();
    timer = setInterval(() => {
      void begun
        .sign()
        .then(() => files.hasEnded(attempt))
        .then((gone) => {
          if (!gone) return;
          seen.takenOver = true;
          own.abort();
        })
        // A sign that cannot be given: ownership ends by itself, and the next event's append tells the reason.
        .catch(() => undefined);
    }, owner_ms / 3);
    seen.sent = true;
    await model.stream(request, {
      signal: AbortSignal.any([signal, own.signal]),
      ...(maxAnswer_bytes === undefined ? {} : { maxAnswer_bytes }),
      onEvent: (event) => begun.append(event),
    });
  } catch (error) {
    // From here on an end on disk may be our own: a look that is still under way must not take it for another's.
    const { takenOver } = seen;
    await log?.close();
    await recordEnd(options, error, seen.sent, stoodStill() > before);
    if (!takenOver) throw error;
  } finally {
    if (timer !== null) clearInterval(timer);
  }
};

const recordEnd = async (
  { files, attempt, at }: MakeAttempt,
  error: unknown,
  sent: boolean,
  slept: boolean,
) => {
  const state: EndRecord['state'] =
    !sent || (error instanceof ModelError && !error.mayBePaid) ? 'failed' : 'unknown';
  const said =
    error instanceof ModelError
      ? error.kind
      : error instanceof ProblemError
        ? error.problem.code
        : 'internal';
  // Without room for this record the attempt is found without an owner later, and counted as unknown: never as less than it was.
  await files
    .put(`attempt-${attempt}.end`, {
      at: at(),
      state,
      why: slept && state === 'unknown' ? SLEPT : said,
    })
    .catch(() => undefined);
};

// Waiting for the owner of an open attempt: until the attempt ends, or its owner has lost it.

export const cancelled = (): ModelError =>
  new ModelError('cancelled', 'The model call was cancelled.');

interface WaitOptions {
  readonly sys: Sys;
  readonly clock: Clock;
  readonly owner_ms: number;
  readonly signal: AbortSignal;
}

/**
 * `changed`: an end or an answer is there. `lost`: the owner is gone, or its log did not grow for the whole of `owner_ms` by *our*
 * clock; a clock that was set, or a machine that slept, ends nobody's ownership.
 */
export const waitForOwner = async (
  files: CallFiles,
  open: RecordedAttempt,
  options: WaitOptions,
): Promise<'changed' | 'lost'> => {
  const { sys, clock, owner_ms, signal } = options;
  const size = () => files.calls.size(files.stream(open.attempt));
  const look_ms = Math.min(1000, Math.max(20, owner_ms / 10));
  let last = await size();
  // Counted in looks, not by a clock: while this process is stopped, no time passes for the owner either.
  for (let quiet_ms = 0; ; quiet_ms += look_ms) {
    if (await files.hasEnded(open.attempt)) return 'changed';
    if (quiet_ms >= owner_ms || (await isSurelyGone(sys, open.owner))) return 'lost';
    await clock.sleep(look_ms, signal).catch(() => {
      throw cancelled();
    });
    const now = await size();
    if (now !== last) quiet_ms = -look_ms;
    last = now;
  }
};
