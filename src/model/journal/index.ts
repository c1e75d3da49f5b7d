/**
 * The call journal: one wanted answer, a recorded call, paid for once. See journal/records.ts for what lies where.
 *
 * ask: the recorded answer, if there is one; else a whole answer in an attempt's log is recorded and returned; else an open attempt is
 * waited for while its owner lives; else `call_lost` after `maxUnknownCalls`; else the next attempt is claimed (put-if-absent) and made.
 */
import { type Clock, isoTime, systemClock } from '../../system/clock.js';
import { realSys, type Sys } from '../../system/sys.js';
import { ModelError } from '../errors.js';
import { makeAttempt, cancelled, waitForOwner } from './attempt.js';
import {
  nonceFor,
  keyParts,
  callKey,
  CallFiles,
  knownStep,
  type AnswerRecord,
  type CallRecord,
  SLEPT,
  endOwnership,
  takeOwnership,
} from './records.js';
import { toAnswer, readAttempts, usageOfCall, type RecordedAttempt } from './answer.js';
import { attemptsOfStep } from './calls.js';
import type { StepKey } from '../../shared/ids.js';
import type { CallLog } from '../../stores/ports.js';
import type { CallJournal, JournalAsk, ModelPort, CallOutcome } from '../ports.js';
export { askOnce } from './answer.js';
export { nonceFor, callKey, keyParts } from './records.js';

export interface JournalOptions {
  readonly calls: CallLog;
  readonly model: ModelPort;
  readonly callOwner_ms: number;
  /** Tells which processes are alive. */
  readonly sys?: Sys;
  /** For what records say about when. Nothing is decided by it. */
  readonly clock?: Clock;
  /** Returns why a call that the journal does not know may have been made before; null: it was not. */
  readonly mayRepeat?: (stepKey: StepKey) => Promise<string | null>;
}

export const createCallJournal = (options: JournalOptions): CallJournal => {
  const { calls, model, callOwner_ms: owner_ms, sys = realSys, clock = systemClock } = options;
  const at = (): string => isoTime(clock);
  const { mayRepeat = () => Promise.resolve(null) } = options;

  const recordCall = async (
    files: CallFiles,
    key: string,
    input: JournalAsk,
  ): Promise<CallRecord | null> => {
    const earlier = await files.call();
    if (earlier !== null) return earlier;
    const asked = await input.makeRequest((haystack) => nonceFor(key, haystack));
    if (asked === null) return null;
    const { request, nonce } = asked;
    const { input_usd, output_usd, cacheRead_usd, cacheWrite_usd } = input.prices;
    const prices = { input_usd, output_usd, cacheRead_usd, cacheWrite_usd };
    const made = { at: at(), key: keyParts(input.key), request, nonce, prices };
    const { record } = await files.put('call', made);
    return record;
  };

  const recordAnswer = async (
    files: CallFiles,
    call: CallRecord,
    attempts: readonly RecordedAttempt[],
  ): Promise<void> => {
    const whole = attempts.find((a) => a.state === 'answered');
    if (whole === undefined) return;
    const answer = toAnswer(whole.stream, call.request.model);
    const made = { at: at(), attempt: whole.attempt, answer, usage: usageOfCall(attempts) };
    await files.put('answer', made);
  };

  /** Claims the attempt and makes it. False: somebody else has claimed it. */
  const claimAttempt = async (
    files: CallFiles,
    { request }: CallRecord,
    attempt: number,
    input: JournalAsk,
  ): Promise<boolean> => {
    const owner = await takeOwnership(sys);
    try {
      const { created } = await files.put(`attempt-${attempt}`, { at: at(), owner });
      if (!created) return false;
      await makeAttempt({ files, attempt, model, request, owner_ms, at }, input);
      return true;
    } finally {
      endOwnership(owner);
    }
  };

  const settle = async (
    files: CallFiles,
    call: CallRecord,
    input: JournalAsk,
  ): Promise<CallOutcome> => {
    let ours = 0;
    for (;;) {
      const recorded = await files.answer();
      if (recorded !== null) return answered(call, recorded, recorded.attempt !== ours);
      const attempts = await readAttempts(files, call);
      const open = attempts.find((a) => a.state === 'open');
      if (attempts.some((a) => a.state === 'answered')) {
        await recordAnswer(files, call, attempts);
      } else if (open !== undefined) {
        const seen = await waitForOwner(files, open, {
          sys,
          clock,
          owner_ms,
          signal: input.signal,
        });
        if (seen === 'lost')
          await files.put(`attempt-${open.attempt}.end`, {
            at: at(),
            state: 'unknown',
            why: 'owner_lost',
          });
      } else if (lost(attempts, input)) {
        return { outcome: 'call_lost', message: null, usage: usageOfCall(attempts) };
      } else if (input.signal.aborted) {
        throw cancelled();
      } else {
        const message = await mayRepeat(input.key.stepKey);
        if (message !== null)
          return { outcome: 'call_lost', message, usage: usageOfCall(attempts) };
        const next = (attempts.at(-1)?.attempt ?? 0) + 1;
        try {
          if (await claimAttempt(files, call, next, input)) ours = next;
        } catch (error) {
          const now = await readAttempts(files, call);
          // Says nothing of the model: asked once more, as after any attempt that its worker lost. A cancelled one ends in the next turn.
          if (now.some(({ attempt, why }) => attempt === next && why === SLEPT)) continue;
          // The last attempt that may be cut off was: say so now instead of asking for one more retry.
          if (!(error instanceof ModelError) || error.kind === 'cancelled' || !lost(now, input))
            throw error;
        }
      }
    }
  };

  const ask: CallJournal['ask'] = async (input) => {
    const key = callKey(input.key);
    const files = new CallFiles(calls, `${knownStep(input.key.stepKey)}/${key}`);
    const call = await recordCall(files, key, input);
    return call === null
      ? { outcome: 'not_made', usage: usageOfCall([]) }
      : await settle(files, call, input);
  };

  return { ask, attempts: (stepKey) => attemptsOfStep(calls, stepKey) };
};

const answered = (
  { request, nonce }: CallRecord,
  { answer, usage }: AnswerRecord,
  recorded: boolean,
): CallOutcome => {
  return { outcome: 'answered', answer, request, nonce, usage, recorded };
};

const lost = (attempts: readonly RecordedAttempt[], { maxUnknownCalls }: JournalAsk): boolean =>
  attempts.filter((a) => a.state === 'unknown' && a.why !== SLEPT).length >= maxUnknownCalls;
