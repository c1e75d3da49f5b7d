/** The question before a plan's first phase, on the rules alone: what it asks, what each answer does. */
import { describe, expect, test } from '@jest/globals';
import type { DecisionRequest } from '../../../../src/shared/decisions.js';
import { readMessage, type MessageName } from '../../../../src/shared/messages.js';
import { judge, validateDecision } from '../../../../src/shared/validate-decision.js';
import { commandsOf, phaseOf } from '../../../../src/workflows/plan/selectors.js';
import type { PlanState } from '../../../../src/workflows/plan/state.js';
import { plainPlan, PlanWalk, type Wanted } from '../../../shared/plan-walk.js';

const asked = (wanted: Partial<Wanted>, estimate: 'ask' | 'approved' = 'approved') => {
  const walk = new PlanWalk(
    { ...plainPlan, ...wanted, options: { ...plainPlan.options, estimate } },
    [],
  );
  while (!['await_decision', 'begin', 'finish', 'begin_revising'].includes(walk.next().kind))
    walk.step();
  return walk;
};
const answer = (walk: PlanWalk, set?: DecisionRequest['set']): void => {
  const { id = '' } = walk.state.decision ?? {};
  const request = {
    decision: id,
    answer: 'start',
    requestId: 'r',
    by: { name: 'ann', from: 'cli' },
  } as const;
  walk.said({ ...request, ...(set === undefined ? {} : { set }) });
};

describe('what is asked', () => {
  test.each([
    ['nothing', {}, 'approved', null, undefined],
    ['the estimate alone', {}, 'ask', 'estimate', undefined],
    ['commands that were found, alone', { test: 'found' }, 'approved', 'test_command', undefined],
    ['no commands, alone', { test: 'unset' }, 'approved', 'test_command', undefined],
    [
      'no commands, by themselves in auto too',
      { test: 'unset', approval: 'auto' },
      'ask',
      'test_command',
      undefined,
    ],
    ['an expansion', { complex: true }, 'approved', 'plan_start', ['expand']],
    ['files that hold changes', { dirty: true }, 'approved', 'plan_start', ['dirty']],
    ['tests and estimate', { test: 'tasks' }, 'ask', 'plan_start', ['tests', 'estimate']],
    [
      'all of it',
      { test: 'found', complex: true, dirty: true },
      'ask',
      'plan_start',
      ['expand', 'tests', 'dirty', 'estimate'],
    ],
    [
      'auto: nothing of it',
      { complex: true, dirty: true, approval: 'auto' },
      'ask',
      null,
      undefined,
    ],
  ] as const)('%s', (_, wanted, estimate, reason, parts) => {
    const { decision } = asked(wanted, estimate).state;
    expect(decision?.reason ?? null).toBe(reason);
    expect(decision?.parts?.map(({ name }) => name)).toEqual(parts);
  });

  test('a run that was started with the path of a document takes the title of the document', () => {
    expect(asked({}).state.input.title).toBe('Demo');
  });

  test('without commands that were found there is none to run', () => {
    expect(asked({ test: 'unset' }).state.decision?.accepts).toEqual([
      'other',
      'no_tests',
      'abort',
    ]);
    expect(asked({ test: 'found' }).state.decision?.accepts).toEqual([
      'run',
      'other',
      'no_tests',
      'abort',
    ]);
    const { parts = [] } = asked({ test: 'unset', dirty: true }).state.decision ?? {};
    expect(parts.find(({ name }) => name === 'tests')?.accepts).toEqual(['none']);
  });

  test('an expansion is recommended with its reason and the command', () => {
    const [part] = asked({ complex: true }).state.decision?.parts ?? [];
    expect(part?.message).toContain(
      'Phase 2 (N2) should be expanded, 9: emend plan expand phase plans/010_demo.md 2',
    );
    expect(part?.accepts).toEqual(['all', 'none', '1', '2']);
  });
});

test('a plan takes the messages of a step', () => {
  const { state } = asked({}, 'ask');
  const { id = '', reason } = state.decision ?? {};
  expect(reason).toBe('estimate');
  const sent = (name: MessageName, body?: unknown, planState: PlanState = state) =>
    judge(planState, readMessage(name, body));
  for (const verdict of [
    sent('answer', { decision: id, answer: 'continue' }),
    sent('abort'),
    sent('abort', id),
  ])
    expect(verdict).toMatchObject({ kind: 'counts' });
  for (const verdict of [
    sent('answer', { answer: 'continue' }),
    sent('approve', id),
    sent('skip'),
    sent('retry', { reason: 'declined' }),
  ])
    expect(verdict).toMatchObject({ kind: 'refused' });

  const failed = new PlanWalk(plainPlan, []);
  failed.fail('readPlan', null, 'model_unavailable');
  while (failed.next().kind !== 'await_decision') failed.step();
  for (const body of [undefined, { reason: 'model_unavailable' }])
    expect(sent('retry', body, failed.state)).toMatchObject({
      kind: 'counts',
      request: { decision: failed.state.decision?.id },
    });
});

describe('what an answer does', () => {
  const ALL = { test: 'tasks', complex: true, dirty: true } as const;
  const after = (set?: DecisionRequest['set'], wanted: Partial<Wanted> = ALL) => {
    const walk = asked(wanted, 'ask');
    answer(walk, set);
    const { state } = walk;
    return {
      expanded: state.phases.filter(({ mayExpand }) => mayExpand).map(({ number }) => number),
      left: state.phases
        .filter(({ complexityEvaluated }) => complexityEvaluated)
        .map(({ number }) => number),
      skipped: state.phases
        .filter(({ status }) => status === 'skipped')
        .map(({ number }) => number),
      tests: ['p1', 'p2'].map((id) => commandsOf(state, [id])),
      remember: state.tests.remember,
    };
  };
  test.each([
    [
      'nothing: the first answers',
      undefined,
      { expanded: [1, 2], left: [], skipped: [], tests: [['t'], []], remember: ['k'] },
    ],
    [
      'each by itself',
      { expand: '2', tests: 'none', dirty: 'skip' },
      { expanded: [2], left: [], skipped: [1], tests: [[], []], remember: null },
    ],
    [
      'none, and another command',
      { expand: 'none', command: 'make check' },
      {
        expanded: [],
        left: [1, 2],
        skipped: [],
        tests: [['make check'], ['make check']],
        remember: null,
      },
    ],
  ] as const)('%s', (_, set, expected) => {
    expect(after(set)).toEqual(expected);
  });

  test('a limit beside the parts holds from then on', () => {
    const walk = asked(ALL, 'ask');
    answer(walk, { budget_calls: 7 });
    expect(walk.state.limits?.budget_calls).toBe(7);
    expect(walk.state.estimateAsked).toBeNull();
  });

  test.each([
    [{ expand: '3' }, 'set.expand must be of all, none, 1, 2, got 3'],
    [{ expand: '' }, 'set.expand must be of all, none, 1, 2, got '],
    [{ tests: 'rm -rf' }, 'set.tests must be of run, none, got rm -rf'],
    [{ dirty: 1 }, 'set.dirty must be of keep, skip, got 1'],
    [{ others: 'x' }, 'set.others is not a limit'],
  ] as const)('refused: %j', (set, message) => {
    const { state } = asked(ALL, 'ask');
    const request = {
      decision: state.decision?.id ?? '',
      answer: 'start',
      requestId: 'r',
      by: { name: 'a', from: 'c' },
      set,
    };
    expect(validateDecision(state, request as DecisionRequest)).toMatchObject({
      counts: false,
      message: expect.stringContaining(message) as unknown,
    });
  });
});

describe('an expansion that shows later', () => {
  /** A model's second score is above the threshold; nothing was known at the start. */
  const judged = (approval: 'ask' | 'auto') => {
    const walk = new PlanWalk({ ...plainPlan, approval, second: true, phases: 1 }, []);
    while (walk.next().kind !== 'score') walk.step();
    walk.fact({
      type: 'scored',
      phase: 'p1',
      result: {
        score: 9,
        method: 'agent',
        reasoning: '',
        discrepancy: null,
        message: null,
        usage: walk.state.usage,
      },
    });
    while (walk.state.revision.current === null) walk.step();
    while (walk.state.ask !== null) walk.step();
    return walk;
  };
  const triggers = (walk: PlanWalk) =>
    walk.state.events.filter(({ type }) => type === 'replan_triggered').length;

  test('under auto it is applied', () => {
    const walk = judged('auto');
    expect([walk.state.decision, triggers(walk), walk.next()]).toMatchObject([
      null,
      1,
      { revising: { step: 'apply' } },
    ]);
  });
  test('under ask a person says so first, and only then it is triggered', () => {
    const walk = judged('ask');
    expect(walk.state.decision).toMatchObject({
      reason: 'expansion',
      accepts: ['expand', 'continue', 'abort'],
    });
    expect(walk.state.decision?.message).toContain('emend plan expand phase plans/010_demo.md 1');
    expect(triggers(walk)).toBe(0);
    const fork = walk.fork();
    fork.answer('continue');
    expect(fork.next().kind).toBe('read');
    expect(phaseOf(fork.state, 'p1')).toMatchObject({ asksItself: false, replans: 0 });
    walk.answer('expand');
    expect([triggers(walk), walk.next()]).toMatchObject([
      1,
      { kind: 'revise', revising: { step: 'apply' } },
    ]);
  });
});
