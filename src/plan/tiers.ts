/**
 * What comes after a failed verification of a phase. What is transient was retried, with more time, before it
 * counts as a failure:
 *
 *     the first                                    again, with suggestions, another format where there is one
 *     the second in a row, the same signature      replan
 *     the second in a row, a new signature         debug: a report that the next attempt reads
 *     any further one                              replan
 */
export type Tier = 'again' | 'debug' | 'replan';

export interface FailureSeen {
  /** Null: the output did not tell; two such failures are taken for the same. */
  readonly signature: string | null;
}
export interface TierVerdict {
  readonly tier: Tier;
  readonly why: string;
}

/** `failures`: of one phase since it was last planned or replanned, oldest first; at least one. */
export function tierOf(failures: readonly FailureSeen[]): TierVerdict {
  const [before, last] = failures.slice(-2);
  const count = failures.length;
  if (count <= 1) return { tier: 'again', why: 'the first failure of this phase' };
  if (before?.signature === last?.signature)
    return { tier: 'replan', why: `failure ${count} is the same as the one before it` };
  if (count === 2) return { tier: 'debug', why: 'the second failure in a row is another one than the first' };
  return { tier: 'replan', why: `${count} failures in a row, after a debugging report` };
}
