/** Budgets over a whole plan, by its own moves and reducer: the estimate before it begins, each limit reached, what a phase may use. */
import { describe, expect, test } from '@jest/globals';
import {
  LIMITS,
  TIMINGS,
  type LimitName,
  type Limits,
  type Timings,
} from '../../../src/shared/limits.js';
import { describeEvent } from '../../../src/shared/event-text.js';
import { budgetsLeft } from '../../../src/workflows/plan/budget.js';
import { checkpointOf } from '../../../src/workflows/plan/checkpoint.js';
import type { PlanFact } from '../../../src/workflows/plan/protocol.js';
import { reducePlan } from '../../../src/workflows/plan/reduce.js';
import { nextPlanEffect } from '../../../src/workflows/plan/stages/index.js';
import { type PlanState, initialPlan } from '../../../src/workflows/plan/state.js';
import { withPhase } from '../../../src/workflows/plan/ways.js';
import type { PhaseReading, ReadyPlan } from '../../../src/shared/plan.js';
import type { PlanSetup, StepResult } from '../../../src/shared/run.js';
import { resultOfPlan } from '../../../src/workflows/plan/views.js';
import { queueNames } from '../../../src/shared/names.js';
import { currentRules } from '../../../src/shared/rules.js';
import { NO_USAGE } from '../../../src/shared/usage.js';
import { readAsBefore } from '../../shared/plan-driven.js';
import { blob } from '../step/world.js';

const none = Object.fromEntries(
  Object.entries(LIMITS).map(([name, spec]) => [name, spec.default]),
) as Limits;
const inputOf = (estimate: 'ask' | 'approved'): PlanSetup => ({
  stepKey: 'feedc0de'.repeat(4),
  workspace: '/w',
  planPath: 'plans/010_demo',
  title: 'Demo',
  queues: queueNames('t', 'h'),
  timings: Object.fromEntries(
    Object.entries(TIMINGS).map(([name, spec]) => [name, spec.default]),
  ) as Timings,
  rules: currentRules(),
  overrides: {},
  hints: [],
  searchAttributes: false,
  options: { phase: null, mode: 'auto', forceReplan: false, drift: null, estimate, restart: false },
});
/** Three phases, of which the first is done already; each is expected to take two calls and 3,000 tokens. */
const planOf = (limits: Partial<Limits>, approval: 'ask' | 'auto', declared = false): ReadyPlan => {
  const phases = [1, 2, 3].map((number): PhaseReading => ({
    id: `p${number}`,
    number,
    name: `N${number}`,
    marker: number === 1 ? 'completed' : null,
    expanded: false,
    dependsOn: [],
    tasks: { total: 1, done: 0 },
    category: 'code',
    second: false,
    text: `t${number}`,
    score: { score: 1, keywords: {}, tasks: 0, files: 0, tests: 0, above: [] },
    estimate: { calls: 2, input_tokens: 2_000, output_tokens: 1_000, usd: 0.5 },
  }));
  return {
    outcome: 'ready',
    title: 'Demo',
    hash: 'h',
    level: 0,
    phases,
    declared,
    approval,
    waves: declared ? [[['p1', 'p2', 'p3']]] : [[['p1']], [['p2']], [['p3']]],
    thresholds: { expansion: 8, tasks: 10, fileReferences: 10, replanLimit: 2 },
    limits: { ...none, ...limits },
    test: { commands: [], found: null },
    texts: blob('texts'),
    settings: blob('settings'),
    lostMarks: 3,
  };
};
const dispatch = (state: PlanState, ...facts: readonly PlanFact[]): PlanState =>
  facts.reduce((folded, fact) => reducePlan(folded, fact, 0), state);
const read = (plan: ReadyPlan, estimate: 'ask' | 'approved' = 'approved'): PlanState =>
  dispatch(initialPlan(inputOf(estimate), 0), { type: 'plan_read', result: plan });
/** Of phases for which nothing is expected, so that nobody is asked about the estimate. */
const readFree = (plan: ReadyPlan): PlanState =>
  read({
    ...plan,
    phases: plan.phases.map((phase) => ({ ...phase, estimate: { ...NO_USAGE, usd: 0 } })),
  });
const answered = (
  state: PlanState,
  answer: string,
  set?: Partial<Record<LimitName, number>>,
): PlanState => {
  const by = { name: 'x', from: 'cli' };
  const request = { decision: state.decision?.id, answer, requestId: answer, by, set };
  const on = dispatch(state, { type: 'decided', request: request as never });
  // Who was asked may have changed the documents; here they did not.
  return on.stage.at === 'reading' ? dispatch(on, readAsBefore(on)) : on;
};
/** Opens the decision that the next move asks for. */
const asked = (state: PlanState, now = 0): PlanState => {
  const move = nextPlanEffect(state, now, false);
  if (move.kind !== 'pause') throw new Error(`no pause, but ${move.kind}`);
  return dispatch(state, { type: 'paused', pause: move.pause });
};
/** The second phase runs, changes nothing and is marked. */
const ended = (
  state: PlanState,
  usage: Partial<StepResult['usage']>,
  pausedFor_ms = 0,
): PlanState => {
  const plan = planOf({}, 'auto');
  const result: StepResult = {
    v: 2,
    stepKey: 'k',
    outcome: 'unchanged',
    files: [],
    skipped: [],
    wasSplit: false,
    commit: null,
    proposalId: null,
    verification: null,
    problem: null,
    pausedFor_ms,
    usage: { ...NO_USAGE, ...usage },
  };
  return dispatch(
    state,
    { type: 'begun', group: ['p2'] },
    {
      type: 'job_made',
      phase: 'p2',
      result: { outcome: 'ready', job: blob('j'), path: 'j', title: 't' },
    },
    { type: 'phases_started', phases: ['p2'] },
    { type: 'phase_ended', ended: { phase: 'p2', result, how: '' } },
    { type: 'phase_marked', phase: 'p2', result: { outcome: 'marked', commit: null, files: [] } },
    { type: 'checkpointed', result: { path: 'c' } },
    {
      type: 'plan_read',
      result: { ...plan, phases: plan.phases.map((each) => ({ ...each, marker: 'incomplete' })) },
    },
  );
};

describe('the estimate before the first phase', () => {
  const over = { budget_calls: 3 };
  test.each([
    ['ask', 'ask', {}, true],
    ['ask', 'auto', {}, false],
    ['approved', 'ask', {}, false],
    ['ask', 'auto', over, true],
    ['approved', 'ask', over, true],
    ['ask', 'auto', { budget_tokens: 5_999 }, true],
    ['ask', 'auto', { budget_tokens: 6_000 }, false],
    ['ask', 'auto', { budget_usd: 0.99 }, true],
  ] as const)(
    'estimate: %s, approval: %s, limits %j: asked %s',
    (estimate, approval, limits, isAsked) => {
      const state = read(planOf(limits, approval), estimate);
      expect(nextPlanEffect(state, 0, false).kind).toBe(isAsked ? 'pause' : 'begin');
      expect(state.events.filter(({ type }) => type === 'plan_estimated')).toHaveLength(1);
    },
  );

  test('counts what is still to be done, says what it is over, and is asked once', () => {
    const state = asked(read(planOf(over, 'ask'), 'ask'));
    expect(state.decision).toMatchObject({ reason: 'estimate', accepts: ['continue', 'abort'] });
    expect(state.decision?.message).toBe(
      '2 phases: about 4 model calls, 4,000 tokens in, 2,000 out, $1.0000, if no phase fails; ' +
        'budget $10.00 (default: ten times the estimate, at least $1); about 4 model calls are expected; budget_calls is 3',
    );
    const on = answered(state, 'continue', { budget_calls: 9 });
    expect(on.limits?.budget_calls).toBe(9);
    expect(nextPlanEffect(on, 0, false)).toEqual({ kind: 'begin', group: ['p2'] });
  });
});

describe('failed tests and replans', () => {
  const most = { calls: 20, input_tokens: 30_000, output_tokens: 9_000, usd: null };
  const plan = planOf({ budget_calls: 4 }, 'ask');
  const failing = { ...plan, phases: plan.phases.map((phase) => ({ ...phase, most })) };

  test('are said beside the least, of what is still to be done; budgets are held against the least', () => {
    const state = asked(read(failing, 'ask'));
    expect(state.decision?.message).toBe(
      '2 phases: from about 4 model calls, 4,000 tokens in, 2,000 out, $1.0000, if no phase fails, to at most about 40 model calls, ' +
        '60,000 tokens in, 18,000 out, price unknown, if each fails its tests up to its limit of replans; budget $10.00 (default: ten times the estimate, at least $1)',
    );
    expect(state.events.find(({ type }) => type === 'plan_estimated')).toMatchObject({
      calls: 4,
      over: [],
      most: { calls: 40, input_tokens: 60_000, output_tokens: 18_000, usd: null },
    });
  });
});

describe('what earlier runs used', () => {
  const spent = { usage: { ...NO_USAGE, calls: 3, input_tokens: 900, usd: 0.5 }, time_ms: 20_000 };
  const leaving = (limits: Partial<Limits>, why: readonly string[] = []): ReadyPlan => ({
    ...planOf(limits, 'auto'),
    resumePoint: {
      run: 'feedc0de',
      why,
      phases: [],
      failures: [],
      replans: [],
      commits: [],
      spent,
    },
  });

  test('counts against each budget and in what a phase may use, not in what this run used', () => {
    const limits = { budget_tokens: 1_000, budget_usd: 2, budget_calls: 10, wallClock_s: 60 };
    const state = readFree(leaving(limits));
    expect(budgetsLeft(state, 10_000)).toEqual({
      budget_tokens: 100,
      budget_usd: 1.5,
      budget_calls: 7,
      wallClock_s: 30,
    });
    expect(state.usage).toEqual(NO_USAGE);
    expect(resultOfPlan(state).plan?.budget).toMatchObject({
      used_tokens: 900,
      used_calls: 3,
      usedBefore_ms: 20_000,
    });
    const taken = state.events.find(({ type }) => type === 'resumed_from');
    expect(taken === undefined ? '' : describeEvent(taken)).toContain(
      'budgets used: 3 model calls, 900 tokens in',
    );
    // The next run goes on from both.
    expect(checkpointOf({ ...state, usage: { ...NO_USAGE, calls: 2 } }, 1_000).spent).toMatchObject(
      {
        own: { usage: { calls: 2, input_tokens: 0 }, time_ms: 1_000 },
        before: spent,
      },
    );
  });

  test.each([
    ['budget_calls', 3, '3 model calls used by the plan; budget_calls is 3'],
    ['wallClock_s', 20, '20 s used by the plan; wallClock_s is 20'],
  ] as const)(
    '%s that they used up is asked about before the first phase',
    (name, limit, message) => {
      expect(asked(readFree(leaving({ [name]: limit }))).decision).toMatchObject({
        reason: 'budget',
        message,
      });
    },
  );

  test('is told with the estimate that it puts over a budget', () => {
    const state = read(leaving({ budget_calls: 6 }), 'approved');
    expect(state.estimateAsked).toContain(
      'about 4 model calls are expected after 3 model calls of earlier runs; budget_calls is 6',
    );
    expect(read(leaving({ budget_calls: 7 }), 'approved').estimateAsked).toBeNull();
  });

  test('counts where a person says resume, and not where they say restart', () => {
    const open = asked(readFree(leaving({ budget_calls: 10 }, ['it was aborted'])));
    expect(open.decision?.reason).toBe('resume');
    expect(budgetsLeft(answered(open, 'resume'), 0)).toEqual({ budget_calls: 7 });
    expect(budgetsLeft(answered(open, 'restart'), 0)).toEqual({ budget_calls: 10 });
  });
});

describe('a budget over the whole plan', () => {
  test.each([
    [
      'budget_tokens',
      1_000,
      { input_tokens: 600, output_tokens: 300, cacheRead_tokens: 100 },
      0,
      '1000 tokens',
    ],
    ['budget_usd', 2, { usd: 2.5 }, 0, '2.5 US dollars'],
    ['budget_calls', 3, { calls: 3 }, 0, '3 model calls'],
    ['wallClock_s', 60, {}, 61_000, '61 s'],
  ] as const)(
    '%s: reached, it asks before the next phase; retry raises it by as much again',
    (name, limit, usage, now, words) => {
      const state = ended(readFree(planOf({ [name]: limit }, 'auto')), usage);
      const open = asked(state, now);
      expect(open.decision).toMatchObject({
        reason: 'budget',
        subject: name,
        accepts: ['retry', 'abort'],
      });
      expect(open.decision?.message).toBe(`${words} used by the plan; ${name} is ${limit}`);
      const raised = answered(open, 'retry');
      expect(raised.limits?.[name]).toBe(2 * limit);
      expect(nextPlanEffect(raised, now, false)).toEqual({ kind: 'begin', group: ['p3'] });
      const little = answered(open, 'retry', { [name]: 1 });
      expect(nextPlanEffect(little, now, false).kind).toBe('pause');
    },
  );

  test('budget_usd: money that is not known asks before the next phase, and leaves the phases none; retry goes on without it', () => {
    const state = ended(readFree(planOf({ budget_usd: 2 }, 'auto')), { usd: null });
    expect(budgetsLeft(state, 0)).toEqual({ budget_usd: 0 });
    const open = asked(state);
    expect(open.decision).toMatchObject({
      reason: 'budget',
      subject: 'budget_usd',
      accepts: ['retry', 'abort'],
    });
    expect(open.decision?.message).toContain(
      'by the plan is not known, so budget_usd (2) cannot be checked',
    );
    for (const set of [undefined, { budget_usd: 9 }]) {
      const on = answered(open, 'retry', set);
      expect([nextPlanEffect(on, 0, false), budgetsLeft(on, 0)]).toEqual([
        { kind: 'begin', group: ['p3'] },
        {},
      ]);
      expect(on.input.overrides.budget_usd).toBeNull();
    }
  });

  test('used up by a phase that fails its tests, it asks before a report, and before the phase runs again', () => {
    const job = { outcome: 'ready', job: blob('j'), path: 'j', title: 't' } as const;
    const used = { ...NO_USAGE, calls: 3 };
    const result: StepResult = {
      v: 2,
      stepKey: 'k',
      outcome: 'tests_failed',
      files: [],
      skipped: [],
      wasSplit: false,
      commit: null,
      proposalId: null,
      verification: null,
      problem: null,
      pausedFor_ms: 0,
      usage: used,
    };
    const before = {
      phase: 'p2',
      run: 1,
      kind: null,
      signature: 'a',
      summary: 's',
      output: null,
      suggestions: [],
      at: 0,
    };
    // The second failure in a row, and another one: a report on both comes next.
    const failed = dispatch(
      withPhase(readFree(planOf({ budget_calls: 3 }, 'auto')), 'p2', { failures: [before] }),
      { type: 'begun', group: ['p2'] },
      { type: 'job_made', phase: 'p2', result: job },
      { type: 'phases_started', phases: ['p2'] },
      { type: 'phase_ended', ended: { phase: 'p2', result, how: '' } },
    );
    const open = asked(failed);
    expect(open.decision).toMatchObject({
      reason: 'budget',
      subject: 'budget_calls',
      accepts: ['retry', 'abort'],
    });
    const raised = answered(open, 'retry');
    const report = nextPlanEffect(raised, 0, false);
    if (report.kind !== 'revise') throw new Error(report.kind);
    expect(report.revising.step).toBe('debug');
    const advised = dispatch(
      raised,
      {
        type: 'debugged',
        revising: report.revising,
        result: { usage: used, path: null, message: null, report: null },
      },
      { type: 'job_made', phase: 'p2', result: job },
    );
    const again = asked(advised);
    expect(again.decision?.message).toBe('6 model calls used by the plan; budget_calls is 6');
    expect(nextPlanEffect(answered(again, 'retry', { budget_calls: 7 }), 0, false)).toMatchObject({
      kind: 'run',
    });
  });

  test('time in which a phase waited for a person is not used', () => {
    const state = ended(readFree(planOf({ wallClock_s: 60 }, 'auto')), {}, 30_000);
    expect(nextPlanEffect(state, 89_000, false).kind).toBe('begin');
    expect(nextPlanEffect(state, 90_000, false).kind).toBe('pause');
  });

  test('a phase may use what is left; phases side by side share it', () => {
    const limits = { budget_tokens: 1_001, budget_usd: 2, budget_calls: 5, wallClock_s: 60 };
    const one = {
      ...readFree(planOf(limits, 'auto')),
      usage: { ...NO_USAGE, calls: 2, input_tokens: 200, usd: 1 },
    };
    expect(budgetsLeft(one, 10_000)).toEqual({
      budget_tokens: 801,
      budget_usd: 1,
      budget_calls: 3,
      wallClock_s: 50,
    });
    const two = dispatch(
      one,
      { type: 'begun', group: ['p2', 'p3'] },
      { type: 'phases_started', phases: ['p2', 'p3'] },
    );
    expect(budgetsLeft(two, 10_000)).toEqual({
      budget_tokens: 400,
      budget_usd: 0.5,
      budget_calls: 1,
      wallClock_s: 50,
    });
  });

  test('where nobody set budget_usd, ten times the estimate are left; of a plan without an estimate there is no default', () => {
    expect(budgetsLeft(read(planOf({}, 'auto'), 'ask'), 0)).toEqual({ budget_usd: 10 });
    expect(budgetsLeft(readFree(planOf({}, 'auto')), 0)).toEqual({});
  });

  test('the default of budget_usd is reached as one that is set, and raised by as much again', () => {
    const begun = read(planOf({}, 'auto'), 'ask');
    const spent: PlanState = {
      ...begun,
      mayExceedEstimate: true,
      usage: { ...NO_USAGE, calls: 2, usd: 10 },
    };
    const open = asked(spent);
    expect(open.decision).toMatchObject({
      reason: 'budget',
      subject: 'budget_usd',
      message:
        '10 US dollars used by the plan; budget_usd is 10 (default: ten times the estimate, at least $1)',
    });
    expect(budgetsLeft(answered(open, 'retry'), 0)).toEqual({ budget_usd: 10 });
  });

  test('at three times its estimate the plan asks once whether it should continue', () => {
    const begun = read(planOf({}, 'auto'), 'ask');
    const spent: PlanState = { ...begun, usage: { ...NO_USAGE, calls: 9, usd: 3 } };
    const open = asked(spent);
    expect(open.decision).toMatchObject({ reason: 'runaway', accepts: ['continue', 'abort'] });
    expect(open.decision?.message).toMatch(
      /^the plan has used 3 times its estimate; used: 9 model calls, .*\$3\.0000; estimate: about 4 model calls/,
    );
    expect(nextPlanEffect(answered(open, 'continue'), 0, false).kind).toBe('begin');
    const less: PlanState = { ...begun, usage: { ...NO_USAGE, calls: 9, usd: 2.99 } };
    expect(nextPlanEffect(less, 0, false).kind).toBe('begin');
  });
});
