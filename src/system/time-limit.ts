/**
 * Knows how much of an activity's time remains. A program or a wait that is started in an activity (git, commands, a turn) ends before the server
 * gives the activity up: at its own limit, or earlier if less time remains. Outside an activity its own limit counts.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

// bound: Step in which the running time of this process is counted. A step in which the process was stopped counts twice at most.
const LOOK_MS = 1_000;
// bound: Part of an activity's time that is kept back: its programs are ended before, and the activity reports that.
const ACTIVITY_END_MS = 5_000;

/** End of the activity that runs, by the clock of `performance.now`, which nothing sets back. */
const ends = new AsyncLocalStorage<number>();

/** Runs the work of an activity with its time limit. A part of `limit_ms` is kept back, in which the activity reports what was ended. */
export const withTimeLimit = <T>(limit_ms: number, work: () => Promise<T>): Promise<T> =>
  ends.run(performance.now() + limit_ms - Math.min(ACTIVITY_END_MS, limit_ms / 4), work);

/**
 * Calls `end` once this process has run for `limit_ms`. The time is counted in steps: while this process was stopped, or the machine slept, the
 * work that it waits for could not go on either. Returns a function that cancels the call.
 */
export const afterRunning = (limit_ms: number, end: () => void): (() => void) => {
  const step_ms = Math.min(LOOK_MS, limit_ms);
  let remaining_ms = limit_ms;
  let last_ms = performance.now();
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    timer = setTimeout(look, Math.max(0, Math.min(step_ms, remaining_ms)));
  };
  const look = (): void => {
    const time_ms = performance.now();
    remaining_ms -= Math.min(time_ms - last_ms, 2 * step_ms);
    last_ms = time_ms;
    if (remaining_ms > 0) wait();
    else end();
  };
  wait();
  return () => clearTimeout(timer);
};

/** Returns `limit_ms`, or the time that remains to the activity if that is less; never below 0. */
export const timeFor = (limit_ms: number): number =>
  Math.max(0, Math.min(limit_ms, (ends.getStore() ?? Infinity) - performance.now()));
