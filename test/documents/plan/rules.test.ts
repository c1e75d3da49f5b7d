/** The rules of a plan's run: failure tiers, triggers with limits, the second score. Every row of each table. */
import { describe, expect, test } from '@jest/globals';
import { checkReplan } from '../../../src/documents/plan/replan-answer.js';
import {
  reconcile,
  secondScoreSchema,
  wantsSecondScore,
  DEFAULT_THRESHOLDS,
} from '../../../src/documents/plan/score.js';
import {
  tierOf,
  ACTIONS,
  outcomeOf,
  type TriggerFacts,
} from '../../../src/documents/plan/triggers.js';
import { PHASE_ATTEMPTS } from '../../../src/activities/plan/estimate.js';

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
    expect(tierOf(failures).tier).toBe(tier);
  });

  test('after the most failures that the estimate counts a replan comes, whatever they were', () => {
    for (const signatures of [
      ['a', 'a', 'b'],
      ['a', 'b', 'a'],
      ['a', 'b', 'c'],
      [null, 'b', null],
    ])
      expect(
        tierOf(signatures.slice(0, PHASE_ATTEMPTS).map((signature) => ({ signature }))).tier,
      ).toBe('replan');
    expect(PHASE_ATTEMPTS).toBe(3);
  });
});

const quiet: TriggerFacts = {
  trigger: 'complexity',
  score: 3,
  tasks: 3,
  expanded: false,
  tiersSpent: false,
  failedPhases: 0,
  resolved: false,
  replans: 0,
  forced: false,
};
const outcome = (facts: Partial<TriggerFacts>) =>
  outcomeOf({ ...quiet, ...facts }, DEFAULT_THRESHOLDS).outcome;

describe('trigger x state x limit -> outcome', () => {
  const called: Record<TriggerFacts['trigger'], Partial<TriggerFacts>> = {
    complexity: { trigger: 'complexity', score: 8.1 },
    test_failure_pattern: { trigger: 'test_failure_pattern', tiersSpent: true },
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
  test.each(rows)('%s, %s', (trigger, _name, state, wanted) => {
    expect(outcome({ ...called[trigger], ...state })).toBe(wanted);
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
  ])('what calls: %s', (_name, facts, wanted) => {
    expect(outcome(facts)).toBe(wanted);
  });

  test('a forced replan is one only past the limit, and says which actions may be proposed', () => {
    const within = outcomeOf(
      { ...quiet, ...called.scope_drift, forced: true, replans: 1 },
      DEFAULT_THRESHOLDS,
    );
    expect(within).toMatchObject({
      outcome: 'replan',
      forced: false,
      actions: ACTIONS.scope_drift,
    });
    const past = outcomeOf(
      { ...quiet, ...called.scope_drift, forced: true, replans: 2 },
      DEFAULT_THRESHOLDS,
    );
    expect(past).toMatchObject({ outcome: 'replan', forced: true });
  });

  test('a limit of 0 allows none', () => {
    const facts = { ...quiet, ...called.scope_drift };
    expect(outcomeOf(facts, { ...DEFAULT_THRESHOLDS, replanLimit: 0 }).outcome).toBe('limit');
  });
});

describe('the second score', () => {
  test.each([
    [6.9, 7, false],
    [7, 0, true],
    [0, 8, true],
  ])('score %p with %p tasks', (score, tasks, wanted) => {
    expect(wantsSecondScore(score, tasks)).toBe(wanted);
  });
  test.each([
    ['no answer', 8.3, null, 8.3, 'threshold'],
    ['2.0 apart', 8.3, 6.3, 6.3, 'agent'],
    ['2.0 apart, upward', 7.1, 9.1, 9.1, 'agent'],
    ['2.1 apart', 8.4, 6.3, 7.4, 'reconciled'],
    ['far apart', 12, 3, 7.5, 'reconciled'],
  ])('%s', (_name, first, second, score, method) => {
    const found = reconcile(first, second === null ? null : { score: second, reasoning: 'r' });
    expect(found).toMatchObject({ score, method });
    expect(found.discrepancy).toEqual(
      method === 'reconciled' ? { threshold: first, agent: second } : null,
    );
  });
  test.each([
    ['a score that is text', { score: '8', reasoning: 'x', recommendation: 'expand' }],
    ['below 0', { score: -1, reasoning: 'x', recommendation: 'expand' }],
    ['no number', { score: Number.NaN, reasoning: 'x', recommendation: 'expand' }],
    ['another recommendation', { score: 3, reasoning: 'x', recommendation: 'rm -rf' }],
    ['an array', []],
  ])('refuses %s', (_name, value) => {
    expect(secondScoreSchema.safeParse(value).success).toBe(false);
  });
});

describe('a replan as a model answers it', () => {
  const good = {
    action: 'add_phase',
    phase: 2,
    why: 'w',
    name: 'Prepare',
    objective: 'o',
    tasks: ['- [ ] one', 'two'],
  };
  const check = (value: unknown) => checkReplan(value, ACTIONS.test_failure_pattern, [2]);

  test('is taken as data, bullets of tasks left out', () => {
    expect(check(good)).toEqual({ ok: true, replan: { ...good, tasks: ['one', 'two'] } });
  });
  test.each([
    ['another phase', { ...good, phase: 3 }, /expected phase 2, received 3/],
    [
      'an action that was not asked for',
      { ...good, action: 'expand_phase' },
      /expected one of add_phase/,
    ],
    [
      'an unknown action',
      { ...good, action: 'drop_database' },
      /^action: expected one of expand_phase, /,
    ],
    ['no action', {}, /^action: expected one of expand_phase, /],
    [
      'a line end in a task',
      { ...good, tasks: ['one\n### Phase 1: Mine'] },
      /tasks\.0: expected a task/,
    ],
    ['a fence', { ...good, tasks: ['```'] }, /tasks\.0/],
    ['a comment that is not closed', { ...good, objective: 'x <!-- y' }, /objective/],
    ['a marker in the name', { ...good, name: 'Core [COMPLETED]' }, /name/],
    ['characters that turn the direction', { ...good, name: 'a\u202eb' }, /name/],
    ['no tasks', { ...good, tasks: [] }, /tasks/],
    ['31 tasks', { ...good, tasks: Array.from({ length: 31 }, () => 'x') }, /tasks/],
    ['a text', 'add a phase', /^the answer: expected one of /],
    ['nothing', null, /the answer: expected/],
  ])('refuses %s', (_name, value, why) => {
    const checked = check(value);
    expect(checked).toMatchObject({ ok: false });
    expect(checked.ok ? '' : checked.why).toMatch(why);
  });
});
