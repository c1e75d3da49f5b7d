/**
 * The call journal on disk: one wanted answer (slot), paid for once. See journal/records.ts for what lies where.
 *
 * ask: the recorded answer, if there is one; else a whole answer in a call's log is recorded and returned; else an open call is waited
 * for while its owner lives; else `call_lost` after `maxUnknownCalls`; else the next call is claimed (put-if-absent) and made.
 */
import { join } from 'node:path';
import { LIMITS } from '../../shared/limits.js';
import { type Clock, isoTime, systemClock } from '../../system/clock.js';
import { realSys, type Sys } from '../../system/sys.js';
import { ModelError } from '../errors.js';
import { makeCall, cancelled, waitForOwner } from './attempt.js';
import {
  nonceFor,
  keyParts,
  callKey,
  CallFiles,
  stepDir,
  type AnswerRecord,
  type CallRecord,
  endOwnership,
  takeOwnership,
} from './records.js';
import { toAnswer, readCalls, usageOfCall, type RecordedCall } from './answer.js';
import { callsOfStep } from './calls.js';
import type { CallJournal, JournalAsk, ModelPort, CallOutcome } from '../ports.js';
export { toAnswer } from './answer.js';
export { nonceFor, callKey } from './records.js';

export interface DiskJournalOptions {
  /** The directory of slots, `storePaths(store).slots`. */
  readonly dir: string;
  readonly model: ModelPort;
  readonly slotLease_ms: number;
  /** `onProgress` is called at least this often. */
  readonly heartbeat_ms: number;
  readonly sys?: Sys;
  /** For what records say about when. Nothing is decided by it. */
  readonly clock?: Clock;
}

export const createDiskJournal = (options: DiskJournalOptions): CallJournal => {
  const { dir, model, slotLease_ms: lease_ms, heartbeat_ms, sys = realSys, clock = systemClock } = options;
  const at = (): string => isoTime(clock);

  const openSlot = async (files: CallFiles, key: string, input: JournalAsk): Promise<CallRecord> => {
    const earlier = await files.get('slot.json');
    if (earlier !== null) return earlier;
    const { request, nonce } = await input.makeRequest((haystack) => nonceFor(key, haystack));
    const prices = pricesOf(input.price, request.model);
    const { record } = await files.put('slot.json', {
      v: 1,
      at: at(),
      key: keyParts(input.key),
      request,
      nonce,
      prices,
    });
    return record;
  };

  const recordAnswer = async (files: CallFiles, slot: CallRecord, calls: readonly RecordedCall[]): Promise<void> => {
    const whole = calls.find((c) => c.state === 'answered');
    if (whole === undefined) return;
    const answer = toAnswer(whole.stream, slot.request.model);
    await files.put('answer.json', { v: 1, at: at(), call: whole.call, answer, usage: usageOfCall(calls) });
  };

  /** Claims call `number` and makes it. False: somebody else has claimed it. */
  const callOnce = async (files: CallFiles, slot: CallRecord, number: number, input: JournalAsk): Promise<boolean> => {
    const owner = await takeOwnership(sys);
    try {
      const { created } = await files.put(`call-${number}.json`, { v: 1, at: at(), owner });
      if (!created) return false;
      const { request } = slot;
      const onText = (text: string): void => input.onProgress?.(text);
      await makeCall({
        files,
        call: number,
        model,
        request,
        lease_ms,
        at,
        signal: input.signal,
        onText,
        maxAnswer_bytes: input.maxAnswer_bytes,
        stoodStill: input.stoodStill ?? (() => 0),
        maxLog_bytes: input.maxCallLog_bytes ?? LIMITS.maxCallLog_bytes.default ?? LIMITS.maxCallLog_bytes.max,
      });
      return true;
    } finally {
      endOwnership(owner);
    }
  };

  const settle = async (files: CallFiles, slot: CallRecord, input: JournalAsk): Promise<CallOutcome> => {
    let ours = 0;
    for (;;) {
      const recorded = await files.get('answer.json');
      if (recorded !== null) return answered(slot, recorded, recorded.call !== ours);
      const calls = await readCalls(files, slot);
      const open = calls.find((c) => c.state === 'open');
      if (calls.some((c) => c.state === 'answered')) {
        await recordAnswer(files, slot, calls);
      } else if (open !== undefined) {
        const seen = await waitForOwner(files, open, { clock, lease_ms, signal: input.signal });
        if (seen === 'ended')
          await files.put(`call-${open.call}.end.json`, { v: 1, at: at(), state: 'unknown', why: 'lease_ended' });
      } else if (lost(calls, input)) {
        return { outcome: 'call_lost', usage: usageOfCall(calls) };
      } else if (input.signal.aborted) {
        throw cancelled();
      } else {
        const next = (calls.at(-1)?.call ?? 0) + 1;
        try {
          if (await callOnce(files, slot, next, input)) ours = next;
        } catch (error) {
          const now = await readCalls(files, slot);
          // Says nothing of the model: asked once more, as after any call that its worker lost. A cancelled one ends in the next turn.
          if (now.some(({ call, slept }) => call === next && slept)) continue;
          // The last call that may be cut off was: say so now instead of asking for one more retry.
          if (!(error instanceof ModelError) || error.kind === 'cancelled' || !lost(now, input)) throw error;
        }
      }
    }
  };

  const ask: CallJournal['ask'] = async (input) => {
    const key = callKey(input.key);
    const files = new CallFiles(sys, join(stepDir(dir, input.key.stepKey), key));
    const beat = setInterval(() => input.onProgress?.(''), heartbeat_ms);
    try {
      return await settle(files, await openSlot(files, key, input), input);
    } finally {
      clearInterval(beat);
    }
  };

  return { ask, calls: (stepKey) => callsOfStep(sys, dir, stepKey) };
};

const answered = (slot: CallRecord, { answer, usage }: AnswerRecord, recorded: boolean): CallOutcome => ({
  outcome: 'answered',
  answer,
  request: slot.request,
  nonce: slot.nonce,
  usage,
  recorded,
});

const lost = (calls: readonly RecordedCall[], { maxUnknownCalls }: JournalAsk): boolean =>
  calls.filter((c) => c.state === 'unknown' && !c.slept).length >= maxUnknownCalls;

/** US dollars per million of each kind of token. */
const pricesOf = (price: JournalAsk['price'], model: string): CallRecord['prices'] => {
  const million = 1_000_000;
  const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return {
    input_usd: price(model, { ...none, input: million }),
    output_usd: price(model, { ...none, output: million }),
    cacheRead_usd: price(model, { ...none, cacheRead: million }),
    cacheWrite_usd: price(model, { ...none, cacheWrite: million }),
  };
};
