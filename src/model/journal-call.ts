/** Making one call that this process owns: every event to disk as it comes, signs of life, and an end that others can read. */
import { ProblemError } from '../shared/problems.js';
import { ModelError } from './errors.js';
import { textDelta } from './slot-answer.js';
import { SLEPT, type EndRecord, type SlotFiles } from './slot-files.js';
import { SlotLog } from './slot-log.js';
import type { ModelPort, ModelRequest } from './types.js';

interface MakeCall {
  readonly files: SlotFiles;
  readonly call: number;
  readonly model: ModelPort;
  readonly request: ModelRequest;
  readonly lease_ms: number;
  readonly at: () => string;
  readonly signal: AbortSignal;
  readonly onText: (text: string) => void;
  readonly maxAnswer_bytes: number | undefined;
  readonly maxLog_bytes: number;
  readonly stoodStill: () => number;
}

/**
 * Resolves when the whole answer is on disk, or when another process has taken the slot over meanwhile (the slot's files tell).
 * Throws ModelError or ProblemError (`disk`) after the call's end was recorded.
 */
export const makeCall = async (options: MakeCall): Promise<void> => {
  const { files, call, model, request, lease_ms, at, signal, onText, stoodStill } = options;
  const before = stoodStill();
  const own = new AbortController();
  const cancel = (): void => {
    own.abort();
  };
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  let log: SlotLog | null = null;
  const seen = { sent: false, takenOver: false };
  let timer: NodeJS.Timeout | null = null;
  try {
    const begun = await SlotLog.create(files.sys, files.logPath(call), {
      call,
      at: at(),
      max_bytes: options.maxLog_bytes,
    });
    log = begun;
    timer = setInterval(() => {
      void begun
        .sign()
        .then(() => isTakenOver(files, call))
        .then((gone) => {
          if (!gone) return;
          seen.takenOver = true;
          cancel();
        })
        // A sign that cannot be given: the lease ends by itself, and the next event's append tells the reason.
        .catch(() => undefined);
    }, lease_ms / 3);
    seen.sent = true;
    await model.stream(request, {
      signal: own.signal,
      ...(options.maxAnswer_bytes === undefined ? {} : { maxAnswer_bytes: options.maxAnswer_bytes }),
      onEvent: async (event) => {
        await begun.append(event);
        const text = textDelta(event);
        if (text !== '') onText(text);
      },
    });
  } catch (error) {
    await log?.close();
    if (seen.takenOver) return;
    await recordEnd(options, error, seen.sent, stoodStill() > before);
    throw error;
  } finally {
    if (timer !== null) clearInterval(timer);
    signal.removeEventListener('abort', cancel);
  }
};

const isTakenOver = async (files: SlotFiles, call: number): Promise<boolean> =>
  (await files.get(`call-${call}.end.json`)) !== null || (await files.get('answer.json')) !== null;

const recordEnd = async ({ files, call, at }: MakeCall, error: unknown, sent: boolean, slept: boolean) => {
  const state: EndRecord['state'] = !sent || (error instanceof ModelError && !error.mayBePaid) ? 'failed' : 'unknown';
  const said =
    error instanceof ModelError ? error.kind : error instanceof ProblemError ? error.problem.code : 'internal';
  // Without room for this record the call is found without an owner later, and counted as unknown: never as less than it was.
  await files
    .put(`call-${call}.end.json`, { v: 1, at: at(), state, why: slept && state === 'unknown' ? SLEPT : said })
    .catch(() => undefined);
};
