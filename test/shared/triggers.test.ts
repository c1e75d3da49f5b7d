/** Which facts call for a replan: failure tiers, and triggers with their limits. Every row of each table. */
import { describe, expect, test } from '@jest/globals';
import { PHASE_ATTEMPTS } from '../../src/activities/plan/estimate.js';
import { DEFAULT_THRESHOLDS } from '../../src/documents/plan/thresholds.js';
import { currentRules } from '../../src/shared/rules.js';
import {
  evaluateTriggers,
  outcomeOf,
  tierOf,
  type TriggerFacts,
} from '../../src/shared/triggers.js';

const RULES = currentRules();
const seen = (...signatures: (string | null)[]) => signatures.map((signature) => ({ signature }));

describe('failure tiers', () => {
  test.each([
    ['the first', seen('a'), 'again'],
    ['the same twice', seen('a', 'a'), 'replan'],
    ['unknown twice', seen(null, null), 'replan'],
    ['another one', seen('a', 'b'), 'debug'],
    ['after the report, the same', seen('a', 'b', 'b'), 'replan'],
    ['after the report, the first again', seen('a', 'b', 'a'), 'replan'],
    ['after the report, a third', seen('a', 'b', 'c'), 'replan'],
    ['and on', seen('a', 'b', 'c', 'd'), 'replan'],
  ])('%s', (_name, failures, tier) => {
    expect(tierOf(failures, RULES).tier).toBe(tier);
  });

  test('after the most failures that the estimate counts a replan comes, whatever they were', () => {
    for (const signatures of [
      ['a', 'a', 'b'],
      ['a', 'b', 'a'],
      ['a', 'b', 'c'],
      [null, 'b', null],
    ])
      expect(
        tierOf(
          signatures.slice(0, PHASE_ATTEMPTS).map((signature) => ({ signature })),
          RULES,
        ).tier,
      ).toBe('replan');
    expect(PHASE_ATTEMPTS).toBe(3);
  });
});

const failure = { signature: 'a', suggestions: ['look'] };
const quiet: TriggerFacts = {
  trigger: 'complexity',
  score: 3,
  tasks: 3,
  expanded: false,
  failures: [],
  failedPhases: 0,
  resolved: false,
  replans: 0,
  forced: false,
};
const outcome = (facts: Partial<TriggerFacts>) =>
  outcomeOf({ ...quiet, ...facts }, DEFAULT_THRESHOLDS, RULES).outcome;

describe('trigger x state x limit -> outcome', () => {
  const called: Record<TriggerFacts['trigger'], Partial<TriggerFacts>> = {
    complexity: { trigger: 'complexity', score: 8.1 },
    test_failure_pattern: { trigger: 'test_failure_pattern', failures: [failure, failure] },
    scope_drift: { trigger: 'scope_drift' },
    person: { trigger: 'person' },
  };
  const triggers = Object.keys(called) as TriggerFacts['trigger'][];
  const states: readonly (readonly [string, Partial<TriggerFacts>, string])[] = [
    ['never replanned', { replans: 0 }, 'replan'],
    ['once', { replans: 1 }, 'replan'],
    ['at the limit', { replans: 2 }, 'limit'],
    ['past the limit', { replans: 7 }, 'limit'],
    ['at the limit, forced', { replans: 2, forced: true }, 'replan'],
    ['done with', { resolved: true }, 'none'],
    ['done with, forced', { resolved: true, forced: true, replans: 2 }, 'none'],
  ];
  const rows = triggers.flatMap((trigger) => states.map((state) => [trigger, ...state] as const));
  test.each(rows)('%s, %s', (trigger, _name, state, expected) => {
    expect(outcome({ ...called[trigger], ...state })).toBe(expected);
  });

  test.each<[string, Partial<TriggerFacts>, string]>([
    ['the score just above', { score: 8.1 }, 'replan'],
    [
      'expanded, with more than three stages',
      { expanded: true, stages: '4 stages are more than 3' },
      'replan',
    ],
    ['the score at it', { score: 8 }, 'notice'],
    ['the score below', { score: 7.9 }, 'none'],
    ['tasks above', { tasks: 11 }, 'replan'],
    ['tasks at it', { tasks: 10 }, 'none'],
    ['both, but expanded', { score: 20, tasks: 20, expanded: true }, 'none'],
    ['one failed phase', { trigger: 'test_failure_pattern', failedPhases: 1 }, 'none'],
    ['two failed phases', { trigger: 'test_failure_pattern', failedPhases: 2 }, 'none'],
    ['three failed phases', { trigger: 'test_failure_pattern', failedPhases: 3 }, 'replan'],
  ])('what calls: %s', (_name, facts, expected) => {
    expect(outcome(facts)).toBe(expected);
  });

  test('a forced replan is one only past the limit, and says which actions may be proposed', () => {
    const within = outcomeOf(
      { ...quiet, ...called.scope_drift, forced: true, replans: 1 },
      DEFAULT_THRESHOLDS,
      RULES,
    );
    expect(within).toMatchObject({
      outcome: 'replan',
      forced: false,
      actions: RULES.replanActions.scope_drift,
    });
    const past = outcomeOf(
      { ...quiet, ...called.scope_drift, forced: true, replans: 2 },
      DEFAULT_THRESHOLDS,
      RULES,
    );
    expect(past).toMatchObject({ outcome: 'replan', forced: true });
  });

  test('a limit of 0 allows none', () => {
    const facts = { ...quiet, ...called.scope_drift };
    expect(outcomeOf(facts, { ...DEFAULT_THRESHOLDS, replanLimit: 0 }, RULES).outcome).toBe(
      'limit',
    );
  });
});

describe('the verdict', () => {
  const verdict = (facts: Partial<TriggerFacts>) =>
    evaluateTriggers(
      { ...quiet, trigger: 'test_failure_pattern', ...facts },
      DEFAULT_THRESHOLDS,
      RULES,
    );
  const other = { signature: 'b', suggestions: ['look there'] };

  test('has the tier of the failures, and what helps with the last one', () => {
    expect(verdict({ failures: [failure, other] })).toEqual({
      outcome: 'none',
      tier: 'debug',
      reason: 'the second failure in a row differs from the first',
      actions: [],
      forced: false,
      suggestions: ['look there'],
    });
  });

  test('is a replan if tests failed in several phases, whatever the tier of this phase is', () => {
    expect(verdict({ failures: [failure], failedPhases: 3 })).toMatchObject({
      outcome: 'replan',
      tier: 'replan',
      reason: 'tests failed in 3 phases',
    });
  });

  test('has no tier for another trigger', () => {
    expect(verdict({ trigger: 'person', failures: [failure] }).tier).toBeNull();
  });

  test('follows the recorded rules, not the constants of the build', () => {
    const bounds = { ...RULES.bounds, debugFailures: 3, patternPhases: 5 };
    const facts = { ...quiet, trigger: 'test_failure_pattern', failedPhases: 4 } as const;
    const recorded = { ...RULES, bounds };
    const failures = [failure, other];
    expect(evaluateTriggers({ ...facts, failures }, DEFAULT_THRESHOLDS, recorded)).toMatchObject({
      outcome: 'none',
      tier: 'again',
    });
  });
});
