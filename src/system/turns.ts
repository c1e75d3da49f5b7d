/**
 * How much of an activity's time is left. What is started in it (git, commands, waits for a turn) ends before the server gives the
 * activity up: its own limit, or what is left where that is less. Without an activity round it, its own limit.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { problem, ProblemError } from '../shared/problems.js';

const TOGETHER = 64; // bound: Of thousands of runs, so many are looked at side by side: more are no faster, and each may hold a file open.
// bound: The time limits of what a process waits for are counted in steps of this: a step in which it stood still counts twice at most.
const LOOK_MS = 1_000;
// bound: Of an activity's time so much is kept back: what is started in it is ended before, and that is reported.
const ACTIVITY_END_MS = 5_000;

/** By the clock that nobody sets. */
const ends = new AsyncLocalStorage<number>();

/** A part of `limit_ms` is kept back, in which what was ended is reported. */
export const withTimeLimit = <T>(limit_ms: number, work: () => Promise<T>): Promise<T> =>
  ends.run(performance.now() + limit_ms - Math.min(ACTIVITY_END_MS, limit_ms / 4), work);

/**
 * Calls `end` once this process has run for `limit_ms`, in steps: while it was stopped, or the machine slept, nothing that it waits for
 * could go on either. Returns what calls it off.
 */
export const afterRunning = (limit_ms: number, end: () => void): (() => void) => {
  const step_ms = Math.min(LOOK_MS, limit_ms);
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
  return () => clearTimeout(timer);
};

/** `limit_ms`, or what is left where that is less; never below 0. */
export const timeFor = (limit_ms: number): number =>
  Math.max(0, Math.min(limit_ms, (ends.getStore() ?? Infinity) - performance.now()));

/** Does the same with each of many, at most `most` at a time; what came of them, in order. After a failure none is begun, and it is thrown when none is at work. */
export const together = async <T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  most = TOGETHER,
): Promise<readonly R[]> => {
  const results: R[] = [];
  const queue = items.entries();
  const next = async (): Promise<void> => {
    for (const [at, item] of queue)
      results[at] = await work(item).catch((error: unknown) => {
        Array.from(queue);
        throw error;
      });
  };
  const all = Array.from({ length: Math.min(most, items.length) }, next);
  await Promise.allSettled(all);
  await Promise.all(all);
  return results;
};

// Turns: at most so many pieces of work at once in this process; who comes first goes first. They bound parts of activities (large edits),
// and model calls where one queue serves all roles. Commands of the project wait for a slot of their own queue instead.

export interface TurnWanted {
  /** Longest wait. Less where the activity's time would not hold `work_ms` after it. */
  readonly wait_ms: number;
  readonly work_ms: number;
  readonly signal?: AbortSignal | undefined;
}
/** Throws ProblemError `busy` if the turn does not come in time: nothing was begun. */
export type Turns = <T>(wanted: TurnWanted, work: () => Promise<T>) => Promise<T>;

/** `what` is at work, in words. `perSecond`: no more begin in a second, those of the first one together. */
export const createTurns = (atOnce: number, what: string, perSecond = Infinity): Turns => {
  const gap_ms = 1000 / perSecond;
  let next_ms = 0;
  let free = atOnce;
  const queue = new Set<() => void>();
  const turn = ({ wait_ms, work_ms, signal }: TurnWanted): Promise<void> =>
    new Promise((resolve, reject) => {
      const settle = (how: () => void): void => {
        queue.delete(begin);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        how();
      };
      const begin = (): void => settle(resolve);
      const onAbort = (): void =>
        settle(() => {
          reject(signal?.reason instanceof Error ? signal.reason : new Error('cancelled'));
        });
      const patience_ms = Math.max(0, Math.min(wait_ms, timeFor(Infinity) - work_ms));
      const timer = setTimeout(() => {
        const message = `${what} are running (at most ${atOnce} at a time on this host), and none ended within ${Math.round(patience_ms) / 1000} s`;
        settle(() => reject(new ProblemError(problem('busy', message))));
      }, patience_ms);
      queue.add(begin);
      signal?.addEventListener('abort', onAbort);
      if (signal?.aborted) onAbort();
    });
  return async (wanted, work) => {
    wanted.signal?.throwIfAborted();
    if (free > 0) free -= 1;
    else await turn(wanted);
    try {
      const now_ms = performance.now();
      const at_ms = Math.max(next_ms, now_ms - Math.max(0, 1000 - gap_ms));
      next_ms = at_ms + gap_ms;
      if (at_ms > now_ms)
        await sleep(at_ms - now_ms, undefined, wanted.signal && { signal: wanted.signal });
      return await work();
    } finally {
      const [next] = queue;
      if (next === undefined) free += 1;
      else next();
    }
  };
};
