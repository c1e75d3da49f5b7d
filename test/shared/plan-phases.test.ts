/** What becomes of a plan where a phase's run is cancelled, a host or a worktree is gone, or a mark cannot be written: the rules alone. */
import type { ActivityName } from '../../src/shared/activities.js';
import { describe, expect, test } from '@jest/globals';
import { TIMINGS, type Timings } from '../../src/shared/limits.js';
import { nextPlanEffect } from '../../src/workflows/plan/effects.js';
import { progressOfPlan } from '../../src/workflows/plan/views.js';
import { reducePlan, type PlanFact } from '../../src/workflows/plan/reduce.js';
import { lacksWorktree, worktreeName } from '../../src/workflows/plan/worktrees.js';
import { initialPlan, phaseOf, type PlanState } from '../../src/workflows/plan/state.js';
import type { PlanInput, StepResult } from '../../src/shared/run.js';
import type { ReadyPlan } from '../../src/shared/plan.js';
import { queueNames } from '../../src/shared/names.js';
import { currentRules } from '../../src/shared/rules.js';
import { NO_USAGE } from '../../src/shared/usage.js';
import { blob } from './world.js';

const input: PlanInput = {
  ...{ stepKey: 'feedc0de'.repeat(4), workspace: '/w', planPath: 'plans/010_demo', title: 'Demo' },
  queues: queueNames('t', 'h'),
  timings: Object.fromEntries(Object.entries(TIMINGS).map(([name, spec]) => [name, spec.default])) as Timings,
  ...{ rules: currentRules(), overrides: {}, hints: [], searchAttributes: false, approval: 'auto' },
  options: { phase: null, mode: 'auto', forceReplan: false, drift: null, estimate: 'approved', restart: false },
};
const reading = (ids: readonly string[], done: readonly string[] = []): ReadyPlan => ({
  ...{ outcome: 'ready', title: 'Demo', hash: 'h', level: 0, declared: true, approval: 'auto', lostMarks: 3 },
  phases: ids.map((id) => ({
    ...{ id, number: Number(id.slice(1)), name: `N${id}`, expanded: false, category: 'code', text: id, dependsOn: [] },
    second: false,
    marker: done.includes(id) ? 'completed' : null,
    tasks: { total: 1, done: 0 },
    score: { score: 3, keywords: {}, tasks: 1, files: 0, tests: 0, above: [] },
  })),
  waves: [[[...ids]]],
  thresholds: { expansion: 8, tasks: 10, fileReferences: 10, replanLimit: 2 },
  limits: {} as ReadyPlan['limits'],
  ...{ test: { commands: [], found: null }, texts: blob('texts'), settings: blob('settings') },
});
const committed = (id: string): StepResult => ({
  ...{ v: 2, stepKey: id, outcome: 'committed', commit: `c-${id}`, verification: 'pass', files: [] },
  ...{ skipped: [], wasSplit: false, usage: NO_USAGE, proposalId: null, problem: null, pausedFor_ms: 0 },
});

/** A plan that is driven by hand: moves that need no fact of their own are made, up to one that does. */
class Driven {
  state: PlanState;
  private now = 0;
  constructor(ids: readonly string[]) {
    this.state = initialPlan(input, 0);
    this.dispatch({ type: 'plan_read', result: reading(ids) });
  }
  dispatch(fact: PlanFact): void {
    this.state = reducePlan(this.state, fact, (this.now += 1));
  }
  /** As the workflow does the next moves, until one of these kinds comes. */
  until(...kinds: readonly string[]) {
    for (let n = 0; n < 50; n++) {
      const move = nextPlanEffect(this.state, 0, false);
      if (kinds.includes(move.kind)) return move;
      switch (move.kind) {
        case 'begin':
          this.dispatch({ type: 'begun', group: move.group });
          break;
        case 'worktree': {
          const name = worktreeName(phaseOf(this.state, move.phase));
          const result = { outcome: 'ready', workspace: `/trees/${name}`, base: 'b' } as const;
          this.dispatch({ type: 'worktree_ready', phase: move.phase, name, result });
          break;
        }
        case 'verify':
          this.dispatch({ type: 'group_untested', base: move.phase !== null });
          break;
        case 'job': {
          const result = { outcome: 'ready', job: blob('job'), path: 'j', title: 't' } as const;
          this.dispatch({ type: 'job_made', phase: move.phase, result });
          break;
        }
        case 'run':
          if (move.phases.some((id) => lacksWorktree(this.state, phaseOf(this.state, id))))
            this.dispatch({ type: 'worktrees_wanted' });
          else this.dispatch({ type: 'phases_started', phases: move.phases });
          break;
        case 'merge':
          this.dispatch({ type: 'phase_merged', phase: move.phase, result: { outcome: 'merged', commit: 'm' } });
          break;
        case 'checkpoint':
          this.dispatch({ type: 'checkpointed', result: { path: 'c' } });
          break;
        case 'clean':
          this.dispatch({ type: 'worktree_removed', name: move.name, result: { dropped: null, kept: null } });
          break;
        case 'pause':
          this.dispatch({ type: 'paused', pause: move.pause });
          break;
        default:
          throw new Error(`a move that was not looked for: ${move.kind}`);
      }
      // Its runs are under way: what comes of them is a fact of their own.
      if (move.kind === 'run' && this.state.stage.at === 'running') return move;
    }
    throw new Error(`does not come to ${kinds.join()}: ${this.state.stage.at}`);
  }
  ends(id: string, how: 'committed' | 'cancelled' | 'failed'): void {
    const cancelled = how === 'cancelled';
    const result = how === 'committed' ? committed(id) : null;
    this.dispatch({ type: 'phase_ended', ended: { phase: id, result, how, cancelled } });
  }
  asked() {
    this.until('await_decision');
    return this.state.decision!;
  }
  answer(answer: string): void {
    const { id, accepts } = this.asked();
    expect(accepts).toContain(answer);
    const by = { name: 'x', from: 'cli' };
    const request = { decision: id, answer, requestId: `r${this.now}`, by } as never;
    this.dispatch({ type: 'decided', request });
  }
  fails(activity: ActivityName, phase: string, reason: 'engine_failed' | 'workspace_unreachable' | 'blob_lost'): void {
    this.dispatch({ type: 'activity_failed', activity, phase, reason, message: 'm' });
  }
}

describe('a cancelled run', () => {
  test('is asked about once those beside it have ended; each of several by itself, before any runs again', () => {
    const plan = new Driven(['p1', 'p2', 'p3']);
    plan.until('run');
    plan.until();
    plan.ends('p1', 'cancelled');
    plan.ends('p3', 'cancelled');
    expect([plan.state.ask, plan.state.stage.at]).toEqual([null, 'running']);
    plan.ends('p2', 'committed');
    expect(plan.asked()).toMatchObject({ reason: 'cancelled', accepts: ['retry', 'skip', 'abort'] });
    expect(plan.state.asked).toBe('p1');
    plan.answer('retry');
    expect([plan.asked().reason, plan.state.asked]).toEqual(['cancelled', 'p3']);
    plan.answer('skip');
    expect(plan.until('run')).toMatchObject({ phases: ['p1'] });
  });
});

describe('a phase beside others', () => {
  test.each(['wait', 'retry', 'regenerate'])(
    '%s after its worktree could not be made: it is made, nothing runs without',
    (answer) => {
      const reason = { wait: 'workspace_unreachable', retry: 'engine_failed', regenerate: 'blob_lost' } as const;
      const plan = new Driven(['p1', 'p2']);
      const { phase } = plan.until('worktree') as { phase: string };
      plan.fails('prepareWorktree', phase, reason[answer as keyof typeof reason]);
      plan.answer(answer);
      expect(plan.until('worktree', 'job', 'run')).toEqual({ kind: 'worktree', phase });
    },
  );

  test('that runs again looks for its worktree first, under the name and from the base that it had', () => {
    const plan = new Driven(['p1', 'p2']);
    plan.until('run');
    plan.until();
    plan.ends('p1', 'failed');
    plan.ends('p2', 'committed');
    plan.answer('retry');
    expect(plan.until('worktree')).toEqual({ kind: 'worktree', phase: 'p1' });
    const p1 = phaseOf(plan.state, 'p1');
    expect([p1.runs, worktreeName(p1), p1.tree?.base]).toEqual([1, 'p1-1', 'b']);
    expect(plan.until('run')).toMatchObject({ phases: ['p1'] });
  });
});

describe('a mark that cannot be written', () => {
  const toMark = (): Driven => {
    const plan = new Driven(['p1']);
    plan.until('run');
    plan.until();
    plan.ends('p1', 'committed');
    plan.until('mark');
    return plan;
  };
  const refused = (plan: Driven): void => {
    plan.dispatch({ type: 'phase_marked', phase: 'p1', result: { outcome: 'conflict', why: 'frozen' } });
  };

  test.each(['skip', 'manual'])('%s: the plan goes on without, and does not ask again', (answer) => {
    const plan = toMark();
    refused(plan);
    expect(plan.asked().message).toContain('frozen');
    plan.answer(answer);
    plan.until('read');
    plan.dispatch({ type: 'plan_read', result: reading(['p1']) });
    expect(plan.until('mark', 'close')).toMatchObject({ kind: 'close' });
  });

  test.each([
    ['workspace_unreachable', 'wait'],
    ['blob_lost', 'retry'],
    ['engine_failed', 'retry'],
  ] as const)('%s: %s tries the same mark again', (reason, answer) => {
    const plan = toMark();
    plan.fails('markPhase', 'p1', reason);
    plan.answer(answer);
    expect(plan.until('mark', 'checkpoint')).toEqual({ kind: 'mark', phase: 'p1' });
    // Its records are those of the attempt that may have begun to write.
    expect(phaseOf(plan.state, 'p1').marks).toBe(1);
    // One that was put back has records of its own.
    refused(plan);
    expect(phaseOf(plan.state, 'p1').marks).toBe(2);
  });

  test('a mark that somebody takes out each time is written a bounded number of times, then asked about', () => {
    const plan = toMark();
    let written = 0;
    for (; written < 20; written++) {
      if (plan.until('mark', 'await_decision').kind === 'await_decision') break;
      plan.dispatch({ type: 'phase_marked', phase: 'p1', result: { outcome: 'marked', commit: 'm', files: [] } });
      plan.until('read');
      plan.dispatch({ type: 'plan_read', result: reading(['p1']) });
    }
    expect(written).toBe(4);
    expect(plan.asked()).toMatchObject({
      reason: 'engine_failed',
      message: expect.stringContaining('written 4 times'),
    });
    plan.answer('skip');
    plan.until('read');
    plan.dispatch({ type: 'plan_read', result: reading(['p1']) });
    expect(plan.until('mark', 'close')).toMatchObject({ kind: 'close' });
  });
});

test('commits of a removed worktree are named by what the plan says of itself, with their phase', () => {
  const plan = new Driven(['p1', 'p2']);
  const kept = 'refs/emend/kept/feedc0de/p2-1';
  plan.dispatch({ type: 'worktree_removed', name: 'p2-1', result: { dropped: 'abc', kept } });
  expect(progressOfPlan(plan.state).kept).toEqual([{ phase: 2, name: 'p2-1', ref: kept, commit: 'abc' }]);
  expect(plan.state.events.at(-1)).toMatchObject({ type: 'worktree_removed', name: 'p2-1', dropped: 'abc', kept });
});
