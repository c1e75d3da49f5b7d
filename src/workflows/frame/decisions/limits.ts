/** Takes the limits of an answer. Steps and plans raise a limit that was reached in the same way. Pure. */
import type { DecisionRequest } from '../../../shared/decisions.js';
import type { Limits } from '../../../shared/limits.js';
import { isLimitName, type Rules } from '../../../shared/rules.js';

/** Returns the limits that an answer sets by name. */
export const requestedLimits = (rules: Rules, { set = {} }: DecisionRequest): Partial<Limits> =>
  Object.fromEntries(
    Object.entries(set).filter(
      ([name, value]) => isLimitName(rules, name) && typeof value === 'number',
    ),
  );

/** A limit that a run has reached. */
export interface ReachedLimit {
  /** Null: only a default was reached. */
  readonly current: number | null | undefined;
  /** The limit that the run began with. Absent: none. */
  readonly first: number | null | undefined;
  /** The default, which takes the place of a limit that is not set. */
  readonly fallback: number;
  /** False: a model without a price was used, so money cannot be counted. */
  readonly isCounted: boolean;
}

/**
 * Returns the limit that an answer sets. An answer without a number raises it by as much as it was at first. What cannot be counted is not
 * limited any more.
 */
export function raisedLimit(
  requested: number | null | undefined,
  { current, first, fallback, isCounted }: ReachedLimit,
): number | null {
  if (!isCounted) return null;
  return requested ?? (current ?? fallback) + (first ?? fallback);
}
