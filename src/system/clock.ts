/** Time as a port. What is measured within a process, or while it may stand still, has its own clocks. */
import { setTimeout } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Rejects where `signal` is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => setTimeout(ms, undefined, { signal }),
};
export const isoTime = (clock: Clock): string => new Date(clock.now()).toISOString();
