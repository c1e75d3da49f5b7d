/** What the files of a slot say: each call with its state and cost, told by evidence, so that every process comes to the same view. */
import { NO_USAGE, sumUsage } from '../shared/usage.js';
import { callUsage } from './slot-answer.js';
import { SLEPT, type CallRecord, type SlotFiles, type SlotRecord } from './slot-files.js';
import { readLog, type LoggedStream } from './slot-log.js';
import type { JournaledCall, Usage } from './types.js';

export interface SlotCall {
  readonly call: number;
  readonly record: CallRecord;
  readonly state: JournaledCall['state'];
  readonly stream: LoggedStream;
  /** Cut off because its process stood still. */
  readonly slept: boolean;
  readonly usage: Usage;
}

/**
 * `answered` wherever `message_stop` is on disk, even where the call was given up for lost before (its owner had only slept); else as
 * its end says; `open` where nothing says anything yet.
 */
export const readCalls = async (files: SlotFiles, slot: SlotRecord): Promise<readonly SlotCall[]> => {
  const calls: SlotCall[] = [];
  for (const call of await files.calls()) {
    const record = await files.get(`call-${call}.json`);
    if (record === null) continue;
    // First the end, then the log: an owner that was given up may still have finished in between.
    const end = await files.get(`call-${call}.end.json`);
    const stream = await readLog(files.sys, files.logPath(call));
    const state = stream.complete ? 'answered' : (end?.state ?? 'open');
    const { request, prices } = slot;
    const usage = state === 'failed' ? NO_USAGE : callUsage({ stream, state, request, prices });
    calls.push({ call, record, state, stream, slept: end?.why === SLEPT, usage });
  }
  return calls;
};

export const slotUsage = (calls: readonly SlotCall[]): Usage => sumUsage(calls.map((c) => c.usage));
