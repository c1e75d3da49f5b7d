/** The rules of a plan's run: the second score, and what a replan may propose. Every row of each table. */
import { describe, expect, test } from '@jest/globals';
import { checkReplan } from '../../../src/documents/plan/replan-answer.js';
import {
  reconcile,
  secondScoreSchema,
  wantsSecondScore,
} from '../../../src/documents/plan/second-score.js';
import { REPLAN_ACTIONS } from '../../../src/shared/rules.js';

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
  const check = (value: unknown) => checkReplan(value, REPLAN_ACTIONS.test_failure_pattern, [2]);

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
    expect(checked.ok ? '' : checked.reason).toMatch(why);
  });
});
