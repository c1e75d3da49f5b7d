/** Configuration that a model may have written, on the rules alone: the question, and what its answers do. */
import { describe, expect, test } from '@jest/globals';
import type { Answer } from '../../src/shared/decisions.js';
import { reducePlan } from '../../src/workflows/plan/reduce.js';
import { plainPlan, PlanWalk } from './plan-walk.js';
import { play, type Case } from '../workflows/step/step-driver.js';

describe('a question about configuration', () => {
  test.each<Case>([
    {
      name: 'trusted: the files are read, with what was accepted',
      words: { preflight: ['untrusted', 'untrusted'] },
      decisions: ['trust'],
      effects:
        'preflight > ask configuration > say trust > preflight > propose * > build > ask approval a.ts',
    },
    {
      name: 'restored: the files are read again',
      words: { preflight: ['untrusted', 'ready'] },
      decisions: ['retry'],
      effects:
        'preflight > ask configuration > say retry > preflight > propose * > build > ask approval a.ts',
    },
    {
      name: 'not restored: asked again',
      words: { preflight: ['untrusted', 'untrusted'] },
      decisions: ['retry'],
      effects: 'preflight > ask configuration > say retry > preflight > ask configuration',
    },
    {
      name: 'aborted: nothing was done',
      words: { preflight: ['untrusted'] },
      decisions: ['abort'],
      effects: 'preflight > ask configuration > say abort > aborted',
    },
  ])('$name', (row) => {
    expect(play(row).trace.join(' > ')).toBe(row.effects);
  });
});

describe('a question about configuration before a plan is read', () => {
  const HASHES = ['0a', '0b'];
  const walkTo = (answers: readonly Answer[]): PlanWalk => {
    const walk = new PlanWalk({ ...plainPlan, phases: 1 }, []);
    for (const answer of answers) {
      while (walk.next().kind !== 'read') walk.step();
      const result = {
        outcome: 'untrusted',
        hashes: HASHES,
        message: 'emend.yaml: changed',
      } as const;
      walk.state = reducePlan(walk.state, { type: 'plan_read', result }, 1_000_000);
      while (walk.next().kind !== 'await_decision') walk.step();
      expect(walk.state.decision).toMatchObject({
        reason: 'configuration',
        accepts: ['trust', 'retry', 'abort'],
        message: expect.stringContaining('emend.yaml: changed'),
      });
      const decision = walk.state.decision?.id ?? '';
      walk.said({ decision, answer, requestId: answer, by: { name: 'ann', from: 'cli' } });
    }
    return walk;
  };

  test.each<[string, readonly Answer[], string, readonly string[] | undefined]>([
    ['trusted: the plan is read, with what was accepted', ['trust'], 'read', HASHES],
    ['restored: the plan is read again, and nothing was accepted', ['retry'], 'read', undefined],
    ['aborted: nothing was done', ['abort'], 'finish', undefined],
  ])('%s', (_, answers, move, trusts) => {
    const walk = walkTo(answers);
    expect(walk.next().kind).toBe(move);
    expect(walk.state.reading.trusts).toEqual(trusts);
  });

  test('after the answer `trust` the plan begins with its first phase', () => {
    const walk = walkTo(['trust']);
    while (walk.next().kind !== 'begin') walk.step();
    expect(walk.state.decision).toBeNull();
  });
});
