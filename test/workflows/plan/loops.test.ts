/**
 * Loop prevention: a plan whose phases always fail, driven through its moves with the real rules. Whatever the failures look like and
 * whatever the model proposes, every path comes to a limit; the calls are counted.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { ApplyReplanResult } from '../../../src/shared/replan-activities.js';
import { checkpointOf } from '../../../src/workflows/plan/checkpoint.js';
import type { PlanFact } from '../../../src/workflows/plan/protocol.js';
import { reducePlan } from '../../../src/workflows/plan/reduce.js';
import { isDone, phaseOf, worktreeName } from '../../../src/workflows/plan/selectors.js';
import { nextPlanEffect } from '../../../src/workflows/plan/stages/index.js';
import { type PlanState, type Revising, initialPlan } from '../../../src/workflows/plan/state.js';
import { within } from '../../../src/workflows/frame/machine.js';
import type { PhaseReading, ReadyPlan } from '../../../src/shared/plan.js';
import type { PlanSetup, StepResult } from '../../../src/shared/run.js';
import { NO_USAGE } from '../../../src/shared/usage.js';
import { planInput as input } from '../../shared/plan-driven.js';
import { blob } from '../step/world.js';

const LIMIT = 2;
const MOST_MOVES = 5_000;

/** What happens each time; `random` gives the next of a row of numbers in [0, 1). */
interface Fate {
  readonly signature: (count: number) => string | null;
  readonly proposes: (
    count: number,
  ) => 'add_phase' | 'split_phase' | 'update_tasks' | 'nothing' | 'misfit';
  readonly decides: (reason: string, count: number) => string;
  /** Does the run of this phase pass? */
  readonly passes?: (phase: string, run: number) => boolean;
  /** Each phase is above the threshold until it is expanded. */
  readonly complex?: true;
}
interface Counts {
  edits: number;
  reports: number;
  proposals: number;
  limits: number;
  effects: number;
  /** Of the plan: one, and one more each time it goes on in a new one. */
  runs: number;
}

class World {
  phases: { id: string; name: string; tasks: number }[];
  next: number;
  readonly counts: Counts = { edits: 0, reports: 0, proposals: 0, limits: 0, effects: 0, runs: 1 };
  private n = 0;
  readonly fate: Fate;
  readonly merged: string[] = [];
  readonly expanded = new Set<string>();
  /** All phases in one wave. */
  readonly together: boolean;
  constructor(fate: Fate, phases: number, together: boolean) {
    this.fate = fate;
    this.together = together;
    this.phases = Array.from({ length: phases }, (_, index) => ({
      id: `p${index + 1}`,
      name: `N${index + 1}`,
      tasks: 3,
    }));
    this.next = phases + 1;
  }
  count = (): number => (this.n += 1);

  reading(): ReadyPlan {
    const phases = this.phases.map(({ id, name, tasks }, index): PhaseReading => ({
      id,
      number: Number(id.slice(1)),
      name,
      marker: null,
      expanded: this.expanded.has(id),
      category: 'code',
      text: `${id}${tasks}`,
      second: false,
      dependsOn: this.phases.slice(0, index).map((each) => each.id),
      tasks: { total: tasks, done: 0 },
      score: {
        score: this.fate.complex ? 9 : 3,
        keywords: {},
        tasks: 1,
        files: 0,
        tests: 0,
        above: this.fate.complex ? ['score 9 is above 8'] : [],
      },
    }));
    return {
      outcome: 'ready',
      title: 'Demo',
      hash: 'h',
      level: 0,
      phases,
      declared: this.together,
      approval: 'auto',
      lostMarks: 3,
      waves: this.together
        ? [[this.phases.map(({ id }) => id)]]
        : this.phases.map(({ id }) => [[id]]),
      thresholds: { expansion: 8, tasks: 10, fileReferences: 10, replanLimit: LIMIT },
      limits: {} as ReadyPlan['limits'],
      test: { commands: ['t'], found: null },
      texts: blob('texts'),
      settings: blob('settings'),
    };
  }

  apply(state: PlanState, { phase, proposal }: Revising): ApplyReplanResult {
    const action = (proposal?.action ?? 'add_phase') as Exclude<
      ReturnType<Fate['proposes']>,
      'nothing' | 'misfit'
    >;
    if (proposal?.why === 'misfit') return { outcome: 'refused', why: 'does not fit' };
    const at = this.phases.findIndex(({ id }) => id === phase);
    const fresh = { id: `p${this.next}`, name: `N${this.next}`, tasks: 1 };
    if (proposal?.action === 'expand_phase') this.expanded.add(phase);
    else if (action === 'update_tasks')
      this.phases = this.phases.map((each) =>
        each.id === phase ? { ...each, tasks: each.tasks + 1 } : each,
      );
    else {
      const before = action === 'add_phase' ? at : at + 1;
      this.phases = [...this.phases.slice(0, before), fresh, ...this.phases.slice(before)];
      this.next += 1;
    }
    const measures = {
      oldStructure: 'a',
      newStructure: 'b',
      complexityBefore: 3,
      complexityAfter: 3,
    };
    const plan = marked(this.reading(), state);
    return { outcome: 'replanned', action, ...measures, commit: 'c', plan };
  }

  run(state: PlanState, id: string): StepResult {
    this.counts.edits += 1;
    const phase = phaseOf(state, id);
    const nothing = {
      files: [],
      skipped: [],
      proposalId: null,
      commit: null,
      problem: null,
      pausedFor_ms: 0,
    };
    const more = { wasSplit: false, usage: NO_USAGE };
    const base: Omit<StepResult, 'outcome' | 'verification'> = {
      v: 2,
      stepKey: 'k',
      ...nothing,
      ...more,
    };
    if (this.fate.passes?.(id, phase.runs) === true)
      return { ...base, outcome: 'committed', commit: `${id}-${phase.runs}`, verification: 'pass' };
    // Where a person is asked by the run itself, they skip.
    if (phase.asksItself) return { ...base, outcome: 'skipped', verification: null };
    const signature = this.fate.signature(this.count());
    return {
      ...base,
      outcome: 'tests_failed',
      verification: 'fail_soft',
      failure: {
        kind: 'test_failure',
        signature,
        summary: 's',
        output: null,
        suggestions: ['look'],
      },
    };
  }
}

function drive(
  fate: Fate,
  phases: number,
  more: Partial<PlanSetup['options']> = {},
  together = false,
): { state: PlanState; world: World } {
  const world = new World(fate, phases, together);
  let state = initialPlan({ ...input, options: { ...input.options, ...more } }, 0);
  let now = 0;
  const dispatch = (fact: PlanFact): void => {
    state = reducePlan(state, fact, (now += 1));
  };
  for (;;) {
    const move = nextPlanEffect(state, 0, false);
    if (move.kind === 'finish') return { state, world };
    world.counts.effects += 1;
    if (world.counts.effects > MOST_MOVES)
      throw new Error(`does not end: ${JSON.stringify(world.counts)} at ${move.kind}`);
    switch (move.kind) {
      case 'read':
        dispatch({ type: 'plan_read', result: marked(world.reading(), state) });
        break;
      case 'begin':
        dispatch({ type: 'begun', group: move.group });
        break;
      case 'begin_revising':
        dispatch({ type: 'revise', phase: move.phase, trigger: move.trigger, words: move.words });
        break;
      case 'revise':
        dispatch(revise(state, world, move.revising));
        break;
      case 'job':
        dispatch({
          type: 'job_made',
          phase: move.phase,
          result: { outcome: 'ready', job: blob('job'), path: 'j', title: 't' },
        });
        break;
      case 'run':
        dispatch({ type: 'phases_started', phases: move.phases });
        for (const phase of move.phases)
          dispatch({
            type: 'phase_ended',
            ended: { phase, result: world.run(state, phase), how: '' },
          });
        break;
      case 'mark':
        dispatch({
          type: 'phase_marked',
          phase: move.phase,
          result: { outcome: 'marked', commit: null, files: [] },
        });
        break;
      case 'checkpoint':
        dispatch({ type: 'checkpointed', result: { path: 'c' } });
        break;
      case 'pause':
        if (move.pause.reason === 'replan_limit') world.counts.limits += 1;
        dispatch({ type: 'paused', pause: move.pause });
        break;
      case 'await_decision': {
        const { decision } = state;
        if (decision === null) throw new Error('no decision');
        const answer = fate.decides(decision.reason, world.count());
        if (!(decision.accepts as readonly string[]).includes(answer))
          throw new Error(`${decision.reason} does not take ${answer}`);
        const by = { name: 'x', from: 'cli' } as never;
        const request = { decision: decision.id, answer, requestId: `r${now}`, by } as never;
        dispatch({ type: 'decided', request });
        break;
      }
      case 'continue':
        // The same plan in a new run.
        world.counts.runs += 1;
        state = within(state, 'counts', { groups: 0 });
        break;
      case 'close':
        dispatch({ type: 'closed', outcome: move.outcome });
        break;
      case 'worktree': {
        const name = worktreeName(phaseOf(state, move.phase));
        const result = { outcome: 'ready', workspace: `/w/${name}`, base: 'b' } as const;
        dispatch({ type: 'worktree_ready', phase: move.phase, name, result });
        break;
      }
      case 'verify':
        dispatch({ type: 'group_untested', base: move.phase !== null });
        break;
      case 'merge':
        world.merged.push(move.phase);
        dispatch({
          type: 'phase_merged',
          phase: move.phase,
          result: { outcome: 'merged', commit: 'm' },
        });
        break;
      case 'clean':
        dispatch({
          type: 'worktree_removed',
          name: move.name,
          result: { dropped: null, kept: null },
        });
        break;
      default:
        throw new Error(`a move that was not looked for: ${move.kind}`);
    }
  }
}

/** The document says what was marked. */
const marked = (plan: ReadyPlan, { phases }: PlanState): ReadyPlan => ({
  ...plan,
  phases: plan.phases.map((phase) => {
    const known = phases.find(({ id }) => id === phase.id);
    const marker =
      known === undefined || !isDone(known)
        ? null
        : known.status === 'pending'
          ? null
          : known.status;
    return { ...phase, marker: marker as PhaseReading['marker'] };
  }),
});

function revise(state: PlanState, world: World, revising: Revising): PlanFact {
  const usage = NO_USAGE;
  switch (revising.step) {
    case 'debug':
      world.counts.reports += 1;
      return {
        type: 'debugged',
        revising,
        result: { report: blob('r'), path: 'p', message: null, usage },
      };
    case 'propose': {
      world.counts.proposals += 1;
      const action = world.fate.proposes(world.count());
      if (action === 'nothing')
        return { type: 'proposed', revising, result: { outcome: 'failed', message: 'no', usage } };
      const why = action === 'misfit' ? 'misfit' : 'w';
      return {
        type: 'proposed',
        revising,
        result: {
          outcome: 'proposed',
          replan: blob('x'),
          action: action === 'misfit' ? 'add_phase' : action,
          phase: revising.phase,
          why,
          usage,
        },
      };
    }
    case 'apply':
      return { type: 'replanned', revising, result: world.apply(state, revising) };
    case 'asked':
      throw new Error(`no decision asks about ${revising.phase}`);
  }
}

const always = (
  signature: Fate['signature'],
  proposes: Fate['proposes'],
  decides: Fate['decides'] = () => 'skip',
): Fate => ({ signature, proposes, decides });
const same = (): string => 'a';
const fresh = (count: number): string => `s${count}`;

describe('a phase that always fails', () => {
  test('in the same way: two attempts a plan, two replans, then a person is asked', async () => {
    const { state, world } = drive(
      always(same, () => 'update_tasks'),
      1,
    );
    expect(world.counts).toMatchObject({ edits: 6, reports: 0, proposals: 2, limits: 1 });
    expect(state).toMatchObject({
      stage: { outcome: 'incomplete' },
      phases: [{ status: 'skipped', replans: 2 }],
    });
  });
  test('in a new way each time: a report after the second, three attempts a plan', async () => {
    const { world } = drive(
      always(fresh, () => 'update_tasks'),
      1,
    );
    expect(world.counts).toMatchObject({ edits: 9, reports: 3, proposals: 2, limits: 1 });
  });
  test('new phases that fail as well: each counts from its parent, so a chain of them ends', async () => {
    const { state, world } = drive(
      always(same, () => 'add_phase'),
      1,
    );
    expect(state.phases).toHaveLength(1 + 3);
    expect(world.counts.limits).toBe(4);
    expect(Math.max(...state.phases.map(({ replans }) => replans))).toBe(LIMIT);
  });
  test('without a replan that can be used: its own run asks', async () => {
    for (const proposal of ['nothing', 'misfit'] as const) {
      const { state, world } = drive(
        always(same, () => proposal),
        1,
      );
      expect(world.counts).toMatchObject({ edits: 3, proposals: 1, limits: 0 });
      expect(state.phases[0]).toMatchObject({ status: 'skipped' });
    }
  });
  test('a person who goes on is asked by the phase itself; one who forces gets one more round each time', async () => {
    const on = drive(
      always(
        same,
        () => 'update_tasks',
        () => 'continue',
      ),
      1,
    );
    expect(on.world.counts).toMatchObject({ edits: 7, proposals: 2, limits: 1 });
    let forced = 0;
    const force = drive(
      always(
        same,
        () => 'update_tasks',
        () => (forced++ < 1 ? 'force' : 'skip'),
      ),
      1,
    );
    expect(force.world.counts).toMatchObject({ edits: 6 + 2 + 2, proposals: 2 + 2, limits: 2 });
    expect(force.state.records.replans.map((replan) => replan.forced)).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });
  test('--force-replan holds once for a phase and what is added for it, so that nothing goes on for ever', async () => {
    const one = drive(
      always(same, () => 'update_tasks'),
      1,
      { forceReplan: true },
    );
    expect(one.world.counts).toMatchObject({ edits: 2 * 5, proposals: 2 + 1 + 1, limits: 1 });
    const chain = drive(
      always(same, () => 'add_phase'),
      1,
      { forceReplan: true },
    );
    expect(chain.state.stage.at).toBe('closed');
  });
});

test('beside others: what passed is merged and marked first, then the one that failed is replanned up to the limit', async () => {
  const fate = { ...always(same, () => 'update_tasks'), passes: (phase: string) => phase !== 'p2' };
  const { state, world } = drive(fate, 3, {}, true);
  expect(world.merged).toEqual(['p1', 'p3']);
  expect(state.phases.map(({ status, replans }) => [status, replans])).toEqual([
    ['completed', 0],
    ['skipped', 2],
    ['completed', 0],
  ]);
  expect(world.counts).toMatchObject({ edits: 2 + 6, proposals: 2, limits: 1 });
  expect(state.worktrees.made).toEqual([]);
});

test('failures in three phases are a pattern of the plan', async () => {
  const seen = new Set<string>();
  const passes = (phase: string): boolean => {
    if (seen.has(phase)) return true;
    seen.add(phase);
    return false;
  };
  const { state, world } = drive({ ...always(same, () => 'update_tasks'), passes }, 4);
  expect(state.stage).toMatchObject({ outcome: 'completed' });
  expect(world.counts.proposals).toBe(1);
  expect(state.records.replans).toMatchObject([{ phase: 'p3', trigger: 'test_failure_pattern' }]);
});

describe('what is told of a check and a replan', () => {
  const told = (state: PlanState): readonly string[] =>
    state.events.flatMap((event) => {
      if (event.type === 'replanned') return [`replanned in ${String(event.duration_ms)} ms`];
      if (event.type === 'complexity_checked') return [`complexity_checked ${event.score}`];
      return event.type === 'trigger_checked' || event.type === 'replan_triggered'
        ? [event.type]
        : [];
    });
  const passes = (_phase: string, run: number): boolean => run > 2;

  test('the check is told before what it leads to, once; the replan with its time', async () => {
    const { state } = drive(
      { ...always(same, () => 'nothing'), passes: () => true, complex: true },
      1,
    );
    expect(state.stage).toMatchObject({ outcome: 'completed' });
    expect(told(state)).toEqual([
      'complexity_checked 9',
      'trigger_checked',
      'replan_triggered',
      'replanned in 1 ms',
    ]);
  });
  test('where it leads to nothing, when the phase begins; again when it begins anew', async () => {
    const { state } = drive({ ...always(same, () => 'update_tasks'), passes }, 1);
    expect(told(state)).toEqual([
      ...['complexity_checked 3', 'trigger_checked', 'trigger_checked', 'replan_triggered'],
      ...['replanned in 2 ms', 'complexity_checked 3'],
    ]);
  });
});

test('a checkpoint has every field of the source document, and docs/plans.md has a row for each field', async () => {
  const { state } = drive(
    { ...always(same, () => 'update_tasks'), passes: (_phase, run) => run > 2 },
    2,
  );
  const saved = checkpointOf(state, Date.UTC(2026, 0, 2));
  expect(saved).toMatchObject({
    plan_path: 'plans/010_demo',
    plan_number: '010',
    current_phase: null,
    total_phases: 2,
    completed_phases: [1, 2],
    status: 'completed',
    tests_passing: true,
    phase_replan_count: { '1': 1, '2': 1 },
    replan_history: [
      { phase: 1, trigger: 'test_failure_pattern', complexity_before: 3 },
      { phase: 2 },
    ],
    test_failure_history: [1, 2, 1, 2].map((iteration, index) => ({
      phase: index < 2 ? 1 : 2,
      iteration,
      error_type: 'test_failure',
      timestamp: expect.any(String),
    })),
    complexity_evaluations: { '1': { score: 3, method: 'threshold' }, '2': { score: 3 } },
    last_commit: 'p2-3',
    commit_history: ['p1-3', 'p2-3'],
    started_at: '1970-01-01T00:00:00.000Z',
    last_updated: '2026-01-02T00:00:00.000Z',
  });
  const [, section = ''] = readFileSync('docs/plans.md', 'utf8').split('\n### Checkpoints\n');
  const rows = [...(section.split('\n#')[0] ?? '').matchAll(/^\| (`\w+`(?:, `\w+`)*) \|/gm)];
  const named = rows.flatMap(([, names = '']) => names.replaceAll('`', '').split(', '));
  // Of a plan on a repository alone.
  expect(named.filter((name) => name !== 'branch')).toEqual(Object.keys(saved));
});

test('whatever happens, it ends: 100 plans of chance', async () => {
  for (let seed = 1; seed <= 100; seed += 1) {
    let x = seed * 2_654_435_761;
    const random = (): number => {
      x = (x ^ (x << 13)) >>> 0;
      x = (x ^ (x >>> 17)) >>> 0;
      x = (x ^ (x << 5)) >>> 0;
      return x / 2 ** 32;
    };
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
    const fate: Fate = {
      signature: () => pick(['a', 'b', null]),
      proposes: () =>
        pick(['add_phase', 'split_phase', 'update_tasks', 'nothing', 'misfit'] as const),
      decides: (reason) => (reason === 'replan_limit' ? pick(['continue', 'skip']) : 'skip'),
      passes: () => random() < 0.2,
    };
    const { state, world } = drive(fate, 1 + (seed % 5), {}, seed % 2 === 0);
    expect(state.stage.at).toBe('closed');
    expect(world.counts.edits).toBeLessThan(400);
    for (const { replans } of state.phases) expect(replans).toBeLessThanOrEqual(LIMIT);
  }
});

test('a plan of 200 phases comes to its end in two runs, with as many moves for each phase as any other', async () => {
  const passing: Fate = {
    signature: () => null,
    proposes: () => 'nothing',
    decides: () => 'abort',
    passes: () => true,
  };
  const [few, many] = [drive(passing, 10), drive(passing, 200)];
  expect(many.state.stage).toMatchObject({ outcome: 'completed' });
  expect(many.world.counts).toMatchObject({ edits: 200, runs: 2 });
  const perPhase = ({ state, world: { counts } }: typeof few): number =>
    Math.round((counts.effects - counts.runs) / state.phases.length);
  expect(perPhase(many)).toBe(perPhase(few));
});
