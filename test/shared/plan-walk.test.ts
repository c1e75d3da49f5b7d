/**
 * Whatever the activities of a plan give and the people answer, in whatever order: the plan ends or waits, no row of moves goes on without
 * waiting for anything, and from every question each answer that it offers leads to the plan's end.
 */
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ActivityName } from '../../src/shared/activities.js';
import { fuzz } from '../support/fuzz.js';
import { drawn } from '../support/seeded.js';
import { FAILURES, PlanWalk, type Wanted } from './plan-walk.js';

const wanted: fc.Arbitrary<Wanted> = fc.record({
  phases: fc.integer({ min: 1, max: 4 }),
  approval: fc.constantFrom('ask', 'auto'),
  together: fc.boolean(),
  complex: fc.boolean(),
  second: fc.boolean(),
  test: fc.constantFrom('none', 'configured', 'configured', 'found', 'tasks', 'unset'),
  dirty: fc.boolean(),
  left: fc.constantFrom('nothing', 'nothing', 'counts', 'asked'),
  budget: fc.constantFrom(null, null, 1, 5),
  options: fc.record({
    phase: fc.constantFrom(null, null, null, 2, 99),
    mode: fc.constantFrom('auto', 'sequential', 'waves'),
    forceReplan: fc.boolean(),
    drift: fc.constantFrom(null, 'more'),
    estimate: fc.constantFrom('ask', 'approved'),
    restart: fc.constant(false),
  }),
});
test('no sequence spins, every answer that a decision offers leads on, every plan ends or waits', () => {
  const seen = {
    failed: new Set<string>(),
    answers: new Set<string>(),
    outcomes: new Set<string>(),
  };
  fc.assert(
    fc.property(
      wanted,
      fc.array(fc.nat(10_000), { maxLength: 120, size: 'max' }),
      fc.nat(12),
      (plan, numbers, at) => {
        const walk = new PlanWalk(plan, numbers);
        let questions = 0;
        for (;;) {
          if (walk.next().kind === 'await_decision') {
            questions += 1;
            // From here every answer is followed to the end.
            if (questions > at) followEach(walk, seen);
            if (questions > at) break;
          }
          if (walk.step()) break;
        }
        note(walk, seen);
      },
    ),
    fuzz('plans', drawn(600, 20_000)),
  );
  // The walks reach every activity's failure, every reason for one, every question of a plan, and every end; a short sample may miss one.
  if (drawn(0, 1) === 0) return;
  const activities: readonly ActivityName[] = [
    'readPlan',
    'scorePhase',
    'debugPhase',
    'proposeReplan',
    'applyReplan',
    'writePhaseJob',
    'prepareWorktree',
    'runTests',
    'mergePhase',
    'markPhase',
    'removeWorktree',
    'saveCheckpoint',
  ];
  expect([...activities, ...FAILURES].filter((name) => !seen.failed.has(name))).toEqual([]);
  const questions = [
    ...[
      'blob_lost',
      'budget',
      'engine_failed',
      'estimate',
      'expansion',
      'merge_conflict',
      'model_unavailable',
    ],
    ...[
      'plan_changed',
      'plan_start',
      'replan_limit',
      'resume',
      'test_command',
      'tests_failed',
      'workspace_unreachable',
    ],
  ];
  expect(
    questions.filter((reason) => ![...seen.answers].some((name) => name.startsWith(`${reason} `))),
  ).toEqual([]);
  expect([...seen.outcomes].sort()).toEqual([
    'aborted',
    'completed',
    'incomplete',
    'refused',
    'stopped',
  ]);
});

test('a plan that was stopped as it made no progress goes on from wherever it was', () => {
  fc.assert(
    fc.property(
      wanted,
      fc.array(fc.nat(10_000), { maxLength: 60, size: 'max' }),
      fc.nat(80),
      (plan, numbers, at) => {
        const walk = new PlanWalk(plan, numbers);
        for (let n = 0; n < at; n += 1)
          if (walk.next().kind === 'await_decision' || walk.step()) break;
        if (walk.state.stage.at === 'closed') return;
        const fork = walk.fork();
        fork.stop();
        while (!fork.step());
      },
    ),
    fuzz('plans without progress', drawn(200, 2_000)),
  );
});

test('what was lost is read again, and what is read then counts', () => {
  const plain = {
    phases: 1,
    approval: 'auto',
    together: false,
    complex: false,
    second: false,
    test: 'none',
    left: 'nothing',
  } as const;
  const options = {
    phase: null,
    mode: 'auto',
    forceReplan: false,
    drift: null,
    estimate: 'approved',
    restart: false,
  } as const;
  const walk = new PlanWalk({ ...plain, budget: null, options }, []);
  while (walk.next().kind !== 'job') walk.step();
  const { texts } = walk.state.reading.plan!;
  walk.fail('writePhaseJob', 'p1', 'blob_lost');
  while (walk.state.decision === null) walk.step();
  walk.answer('regenerate');
  expect(walk.next().kind).toBe('read');
  while (walk.next().kind !== 'job') walk.step();
  expect(walk.state.reading.plan!.texts).not.toBe(texts);
  while (!walk.step());
  expect(walk.state.stage).toMatchObject({ outcome: 'completed' });
});

interface Seen {
  readonly failed: Set<string>;
  readonly answers: Set<string>;
  readonly outcomes: Set<string>;
}
function followEach(walk: PlanWalk, seen: Seen): void {
  for (const answer of walk.state.decision?.accepts ?? []) {
    const fork = walk.fork();
    fork.answer(answer);
    while (!fork.step());
    note(fork, seen);
  }
}
function note(walk: PlanWalk, seen: Seen): void {
  for (const name of walk.failed) seen.failed.add(name);
  for (const name of walk.answers) seen.answers.add(name);
  const { stage } = walk.state;
  if (stage.at === 'closed') seen.outcomes.add(stage.outcome);
}
