/** The rules of triggers and tiers, as values: a better rule must not break the replay of a paused plan. */
import { tierOf } from '../../plan/tiers.js';
import { outcomeOf } from '../../plan/triggers.js';
import type { JudgePhaseInput, JudgePhaseResult } from '../../shared/plan/advice.js';

export const judgePhase =
  () =>
  (input: JudgePhaseInput): Promise<JudgePhaseResult> => {
    const { failures, trigger, thresholds } = input;
    const tier = trigger === 'test_failure_pattern' ? tierOf(failures) : null;
    const called = outcomeOf({ ...input, tiersSpent: tier?.tier === 'replan' }, thresholds);
    const replans = called.outcome === 'replan' || called.outcome === 'limit';
    return Promise.resolve({
      v: 1,
      // Failures in several phases call for a replan, whatever the tier of this one is.
      tier: tier === null ? null : replans ? 'replan' : tier.tier,
      outcome: called.outcome,
      actions: called.outcome === 'replan' ? called.actions : [],
      forced: called.outcome === 'replan' && called.forced,
      why: !replans && tier !== null ? tier.why : called.why,
      suggestions: failures.at(-1)?.suggestions ?? [],
    });
  };
