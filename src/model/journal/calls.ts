/** What the call journal says of a step: no running workflow, worker or server is needed to say what was asked and paid. */
import { setTimeout as sleep } from 'node:timers/promises';
import { failAll, problemOn, type Problem } from '../../shared/problems.js';
import type { StepKey } from '../../shared/ids.js';
import type { CallLog } from '../../stores/ports.js';
import { textDelta, toAnswer, readAttempts, type RecordedAttempt } from './answer.js';
import { CallFiles, knownStep, type CallRecord } from './records.js';
import { eventOfLine } from './stream-log.js';
import type { CallKeyParts, JournaledAttempt } from '../ports.js';
import { addUsage, NO_USAGE, type StepUsage } from '../../shared/usage.js';

const RUNNING_POLL_MS = 200; // bound: Other processes' calls are looked at this often.

interface Seen {
  readonly callKey: string;
  readonly call: CallRecord;
  readonly recorded: RecordedAttempt;
}

/** In no order. */
const callsIn = async (
  calls: CallLog,
  stepKey: StepKey,
): Promise<readonly (readonly [string, CallFiles])[]> => {
  const names = await calls.names(knownStep(stepKey));
  return names
    .filter((name) => /^[0-9a-f]{64}$/.test(name))
    .map((callKey) => [callKey, new CallFiles(calls, `${stepKey}/${callKey}`)]);
};

/** In the order in which the attempts were begun, and what is wrong with calls that cannot be read. */
const seenAttempts = async (calls: CallLog, stepKey: StepKey) => {
  const read = async (callKey: string, files: CallFiles): Promise<readonly Seen[]> => {
    const call = await files.call();
    return call === null
      ? []
      : (await readAttempts(files, call)).map((recorded) => ({ callKey, call, recorded }));
  };
  const found: Seen[] = [];
  const unread: Problem[] = [];
  for (const [callKey, files] of await callsIn(calls, stepKey)) {
    const seen = await read(callKey, files).catch(problemOn('disk', 'version_unknown'));
    if ('code' in seen) unread.push(seen);
    else found.push(...seen);
  }
  const begun = ({ recorded: { at, attempt } }: Seen): string =>
    `${at} ${String(attempt).padStart(6, '0')}`;
  found.sort((one, two) => (begun(one) < begun(two) ? -1 : begun(one) > begun(two) ? 1 : 0));
  return { found, unread };
};

/** Throws ProblemError where one of the calls cannot be read: what they cost is then not known. */
export const attemptsOfStep = async (
  calls: CallLog,
  stepKey: string,
): Promise<readonly JournaledAttempt[]> => {
  const { found, unread } = await seenAttempts(calls, stepKey);
  failAll(unread);
  return found.map(({ callKey, call: { key }, recorded: { attempt, state, usage } }) => ({
    callKey,
    key,
    attempt,
    state,
    usage,
  }));
};

/** A model call as people look at it: one attempt at a recorded call. */
export interface ShownCall
  extends
    Pick<CallKeyParts, 'role' | 'file' | 'format' | 'model'>,
    Pick<JournaledAttempt, 'attempt' | 'state' | 'usage'> {
  /** From 1, in the order in which the calls of the run were begun. */
  readonly n: number;
  /** ISO time of its begin. */
  readonly at: string;
  /** The answer's stop reason, or what cut the call off; null: neither is known. */
  readonly why: string | null;
}
/** As they were sent and as they came, as far as they did: secrets are placeholders in both. */
export interface CallTexts {
  readonly system: string;
  readonly messages: readonly { readonly role: string; readonly text: string }[];
  readonly answer: string;
}

/** Throws ProblemError `disk` or `store_unusable` where the journal cannot be read; one call that cannot be hides none of the others. */
export const callsOfStep = async (calls: CallLog, stepKey: string) => {
  const seen = await seenAttempts(calls, stepKey);
  const found = seen.found.map(({ callKey, call: { request, key }, recorded }, index) => {
    const { at, attempt, state, stream, usage, why } = recorded;
    const { text: answer, stopReason, model } = toAnswer(stream, request.model);
    const joined = (blocks: readonly { readonly text: string }[]): string =>
      blocks.map(({ text }) => text).join('\n\n');
    const call: ShownCall = {
      n: index + 1,
      at,
      role: key.role,
      file: key.file,
      format: key.format,
      model,
      attempt,
      state,
      why: state === 'answered' ? stopReason : why,
      usage,
    };
    const texts: CallTexts = {
      system: joined(request.system),
      answer,
      messages: request.messages.map(({ role, content }) => ({ role, text: joined(content) })),
    };
    return { callKey, call, texts };
  });
  return { ...seen, found };
};

/** What the attempts of a step that has ended came to: one that nobody ended was cut off. */
export const usageOfEnded = (attempts: readonly JournaledAttempt[]): StepUsage =>
  attempts.reduce(
    (sum, { usage, state }) =>
      addUsage(sum, state === 'open' ? { ...usage, unknownCalls: 1 } : usage),
    NO_USAGE,
  );

// The text of a step's running model calls, read from their logs while they grow (journal/records.ts says where). Only calls whose worker
// shares this store are seen; nothing is written, and whoever looks costs the run nothing.

/** What a call is for; `attempt` counts the attempts of one recorded call from 1. */
export type RunningCall = Pick<ShownCall, 'role' | 'file' | 'attempt'>;

export type CallNews =
  | { readonly kind: 'begun' | 'ended'; readonly call: RunningCall }
  /** As it came, thinking left out: the model's words, not to be trusted on a terminal. */
  | { readonly kind: 'text'; readonly call: RunningCall; readonly text: string };

export interface FollowCalls {
  readonly calls: CallLog;
  readonly stepKey: StepKey;
  readonly signal: AbortSignal;
  readonly onNews: (news: CallNews) => void;
  readonly poll_ms?: number;
}

/**
 * Tells of each call that runs now, from its first word, and of those that begin later; returns when `signal` aborts. Calls that had
 * ended before are left out. Throws ProblemError `disk` or `store_unusable` where the journal cannot be read.
 */
export const followCalls = async (options: FollowCalls): Promise<void> => {
  const { calls, stepKey, signal, onNews } = options;
  /** By key of the stream; null: not told, since it had ended before we looked. */
  const known = new Map<string, Awaited<ReturnType<typeof readerOf>>>();
  const gone = (): boolean => signal.aborted;
  for (let first = true; ; first = false) {
    // What is on disk when somebody stops looking is still told.
    const last = gone();
    for (const [, files] of await callsIn(calls, stepKey)) {
      for (const attempt of await files.attempts()) {
        const key = files.stream(attempt);
        let reader = known.get(key);
        if (reader === undefined) {
          reader =
            first && (await files.hasEnded(attempt))
              ? null
              : await readerOf(files, attempt, onNews);
          known.set(key, reader);
        }
        await reader?.();
      }
    }
    if (last) return;
    await sleep(options.poll_ms ?? Math.max(RUNNING_POLL_MS, calls.flush_ms), undefined, {
      signal,
    }).catch(() => undefined);
  }
};

/** Reads a growing log: each line is told once, when it is whole. Null: the call is not known. */
const readerOf = async (files: CallFiles, attempt: number, onNews: FollowCalls['onNews']) => {
  const key = (await files.call())?.key;
  if (key === undefined) return null;
  const call: RunningCall = { role: key.role, file: key.file, attempt };
  let offset = 0;
  let state: 'new' | 'running' | 'ended' = 'new';
  /** Whole lines since the last look. */
  const fresh = async (): Promise<readonly string[]> => {
    const bytes = Buffer.from(await files.calls.read(files.stream(attempt), offset));
    const end = bytes.lastIndexOf('\n') + 1;
    offset += end;
    return end === 0 ? [] : bytes.toString('utf8', 0, end - 1).split('\n');
  };
  return async (): Promise<void> => {
    if (state === 'ended') return;
    // Asked before the log is read: what was written before the end is in it by then.
    const over = await files.hasEnded(attempt);
    const lines = await fresh();
    if (state === 'new' && (lines.length > 0 || over)) {
      state = 'running';
      onNews({ kind: 'begun', call });
    }
    const text = lines
      .map((line) => eventOfLine(line))
      .map((event) => (event === null ? '' : textDelta(event)))
      .join('');
    if (text !== '') onNews({ kind: 'text', call, text });
    if (!over) return;
    state = 'ended';
    onNews({ kind: 'ended', call });
  };
};
