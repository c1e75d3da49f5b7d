/**
 * Limits how many pieces of work run at once in this process, in the order in which they come. Turns bound parts of activities (large edits),
 * and model calls if one queue serves all roles. Commands of the project wait for a slot of their own queue instead.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { problem, ProblemError } from '../shared/problems.js';
import { timeFor } from './time-limit.js';

export interface TurnRequest {
  /** Longest wait for the turn. It is less if the activity's time would not be enough for `work_ms` after it. */
  readonly wait_ms: number;
  readonly work_ms: number;
  readonly signal?: AbortSignal | undefined;
}
/** Throws ProblemError `busy` if the turn does not come in time: nothing was begun. */
export type Turns = <T>(request: TurnRequest, work: () => Promise<T>) => Promise<T>;

/**
 * Makes turns for at most `atOnce` pieces of work. `what` names the work in a message. `perSecond`: maximum number that begin in a second; those
 * of the first second begin together.
 */
export const createTurns = (atOnce: number, what: string, perSecond = Infinity): Turns => {
  const gap_ms = 1000 / perSecond;
  let next_ms = 0;
  let free = atOnce;
  const queue = new Set<() => void>();
  const turn = ({ wait_ms, work_ms, signal }: TurnRequest): Promise<void> =>
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
  return async (request, work) => {
    request.signal?.throwIfAborted();
    if (free > 0) free -= 1;
    else await turn(request);
    try {
      const time_ms = performance.now();
      const begin_ms = Math.max(next_ms, time_ms - Math.max(0, 1000 - gap_ms));
      next_ms = begin_ms + gap_ms;
      if (begin_ms > time_ms)
        await sleep(begin_ms - time_ms, undefined, request.signal && { signal: request.signal });
      return await work();
    } finally {
      const [next] = queue;
      if (next === undefined) free += 1;
      else next();
    }
  };
};
