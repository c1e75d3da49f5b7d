/**
 * Turns: at most so many pieces of work at once in this process; who comes first goes first. Held here and not by the slots of a task
 * queue: an activity that waits keeps no other from its work, and the time of what waits begins at its turn.
 */
import { availableParallelism } from 'node:os';
import { problem, ProblemError } from '../shared/problems.js';
import { timeFor } from './time-left.js';

/** The turn did not come in time (`busy`): nothing was begun. */
export class NoTurn extends ProblemError {}

export interface TurnWanted {
  /** Longest wait. Less where the activity's time would not hold `work_ms` after it. */
  readonly wait_ms: number;
  readonly work_ms: number;
  readonly signal?: AbortSignal | undefined;
}
export type Turns = <T>(wanted: TurnWanted, work: () => Promise<T>) => Promise<T>;

/** `what` is at work, in words. */
export const createTurns = (atOnce: number, what: string): Turns => {
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
      const begin = (): void => {
        settle(resolve);
      };
      const onAbort = (): void => {
        settle(() => {
          reject(signal?.reason instanceof Error ? signal.reason : new Error('cancelled'));
        });
      };
      const patience_ms = Math.max(0, Math.min(wait_ms, timeFor(Infinity) - work_ms));
      const timer = setTimeout(() => {
        const message = `${what} are at work ${atOnce} at a time on this host, and none of them ended within ${Math.round(patience_ms) / 1000} s`;
        settle(() => {
          reject(new NoTurn(problem('busy', message)));
        });
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
      return await work();
    } finally {
      const [next] = queue;
      if (next === undefined) free += 1;
      else next();
    }
  };
};

/** A person's commands: tests, hooks, formatters, `worktree.setup`. */
export const commandTurn = createTurns(availableParallelism(), 'Commands of runs');

/** All items, no more at a time than there are turns: what comes later waits for others' turns only. After a failure none is begun. */
export const eachInTurn = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> => {
  const results: R[] = [];
  const queue = items.entries();
  const next = async (): Promise<void> => {
    for (const [at, item] of queue)
      results[at] = await work(item).catch((error: unknown) => {
        Array.from(queue);
        throw error;
      });
  };
  await Promise.all(Array.from({ length: availableParallelism() }, next));
  return results;
};
