/**
 * How much of an activity's time is left. What is started in it (git, commands, waits for a turn) ends before the server gives the
 * activity up: its own limit, or what is left where that is less. Without an activity round it, its own limit.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { STORE_BOUNDS } from '../shared/bounds.js';

/** By the clock that nobody sets. */
const ends = new AsyncLocalStorage<number>();

/** A part of `limit_ms` is kept back, in which what was ended is reported. */
export const withTimeLimit = <T>(limit_ms: number, work: () => Promise<T>): Promise<T> =>
  ends.run(performance.now() + limit_ms - Math.min(STORE_BOUNDS.activityEnd_ms, limit_ms / 4), work);

/**
 * Calls `end` once this process has run for `limit_ms`, in steps: while it was stopped, or the machine slept, nothing that it waits for
 * could go on either. Returns what calls it off.
 */
export const afterRunning = (limit_ms: number, end: () => void): (() => void) => {
  const step_ms = Math.min(STORE_BOUNDS.look_ms, limit_ms);
  let left_ms = limit_ms;
  let last = performance.now();
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    timer = setTimeout(look, Math.max(0, Math.min(step_ms, left_ms)));
  };
  const look = (): void => {
    const now = performance.now();
    left_ms -= Math.min(now - last, 2 * step_ms);
    last = now;
    if (left_ms > 0) wait();
    else end();
  };
  wait();
  return () => {
    clearTimeout(timer);
  };
};

/** `limit_ms`, or what is left where that is less; never below 0. */
export const timeFor = (limit_ms: number): number =>
  Math.max(0, Math.min(limit_ms, (ends.getStore() ?? Infinity) - performance.now()));
