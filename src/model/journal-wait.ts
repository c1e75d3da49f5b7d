/** Waiting for the owner of an open call: to its end, or to the end of its lease. */
import { onDisk } from '../workspace/sys-put.js';
import { ModelError } from './errors.js';
import type { SlotFiles } from './slot-files.js';
import { logSize } from './slot-log.js';
import { isSurelyGone } from './slot-owner.js';
import type { SlotCall } from './slot.js';

export const cancelled = (): ModelError => new ModelError('cancelled', 'The model call was cancelled.');

/** Throws ModelError `cancelled` when the signal fires. */
const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(cancelled());
      return;
    }
    const done = (): void => {
      signal.removeEventListener('abort', stop);
      resolve();
    };
    const stop = (): void => {
      clearTimeout(timer);
      reject(cancelled());
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', stop, { once: true });
  });

interface WaitOptions {
  readonly lease_ms: number;
  readonly signal: AbortSignal;
}

/**
 * `changed`: an end or an answer is there. `ended`: the owner is gone, or its log did not grow for a whole lease of *our* clock; a
 * clock that was set, or a machine that slept, ends nobody's lease.
 */
export const waitForOwner = async (
  files: SlotFiles,
  open: SlotCall,
  options: WaitOptions,
): Promise<'changed' | 'ended'> => {
  const { lease_ms, signal } = options;
  const path = files.logPath(open.call);
  const size = () => onDisk(`Reading the call journal at ${path}`, () => logSize(files.sys, path));
  const look_ms = Math.min(1000, Math.max(20, lease_ms / 10));
  let last = await size();
  // Counted in looks, not by a clock: while this process is stopped, no time passes for the owner either.
  for (let quiet_ms = 0; ; quiet_ms += look_ms) {
    if ((await files.get('answer.json')) !== null) return 'changed';
    if ((await files.get(`call-${open.call}.end.json`)) !== null) return 'changed';
    if (quiet_ms >= lease_ms || (await isSurelyGone(files.sys, open.record.owner))) return 'ended';
    await sleep(look_ms, signal);
    const now = await size();
    if (now !== last) quiet_ms = -look_ms;
    last = now;
  }
};
