/** The time of day as a port. Durations within a process are measured by `performance.now`, and in turns.ts if the process may be stopped meanwhile. */
import { setTimeout } from 'node:timers/promises';

export interface Clock {
  /** Returns milliseconds since 1970. */
  time_ms(): number;
  /** Rejects if `signal` is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  time_ms: () => Date.now(),
  sleep: (ms, signal) => setTimeout(ms, undefined, { signal }),
};
export const isoTime = (clock: Clock): string => new Date(clock.time_ms()).toISOString();
