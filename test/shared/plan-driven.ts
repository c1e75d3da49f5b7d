/** A plan that is driven by hand through its rules: moves that need no fact of their own are made, up to one that does. */
import type { ActivityName } from '../../src/shared/activities.js';
import { expect } from '@jest/globals';
import { TIMINGS, type Timings } from '../../src/shared/limits.js';
import type { PlanFact } from '../../src/workflows/plan/protocol.js';
import { reducePlan } from '../../src/workflows/plan/reduce.js';
import { lacksWorktree, phaseOf, worktreeName } from '../../src/workflows/plan/selectors.js';
import { nextPlanEffect } from '../../src/workflows/plan/stages/index.js';
import { type PlanState, initialPlan } from '../../src/workflows/plan/state.js';
import type { PlanSetup, StepResult } from '../../src/shared/run.js';
import type { ReadyPlan } from '../../src/shared/plan.js';
import { queueNames } from '../../src/shared/names.js';
import { currentRules } from '../../src/shared/rules.js';
import { NO_USAGE } from '../../src/shared/usage.js';
import { blob } from '../workflows/step/world.js';

export const planInput: PlanSetup = {
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
  approval: 'auto',
  options: {
    phase: null,
    mode: 'auto',
    forceReplan: false,
    drift: null,
    estimate: 'approved',
    restart: false,
  },
};
export const reading = (ids: readonly string[], done: readonly string[] = []): ReadyPlan => ({
  outcome: 'ready',
  title: 'Demo',
  hash: 'h',
  level: 0,
  declared: true,
  approval: 'auto',
  lostMarks: 3,
  phases: ids.map((id) => ({
    id,
    number: Number(id.slice(1)),
    name: `N${id}`,
    expanded: false,
    category: 'code',
    text: id,
    dependsOn: [],
    second: false,
    marker: done.includes(id) ? 'completed' : null,
    tasks: { total: 1, done: 0 },
    score: { score: 3, keywords: {}, tasks: 1, files: 0, tests: 0, above: [] },
  })),
  waves: [[[...ids]]],
  thresholds: { expansion: 8, tasks: 10, fileReferences: 10, replanLimit: 2 },
  limits: {} as ReadyPlan['limits'],
  test: { commands: [], found: null },
  texts: blob('texts'),
  settings: blob('settings'),
});
const committed = (id: string): StepResult => ({
  v: 2,
  stepKey: id,
  outcome: 'committed',
  commit: `c-${id}`,
  verification: 'pass',
  files: [],
  skipped: [],
  wasSplit: false,
  usage: NO_USAGE,
  proposalId: null,
  problem: null,
  pausedFor_ms: 0,
});

/** The documents are as they were read last, with the marks that were written. */
export const readAsBefore = ({ reading: { plan }, phases }: PlanState): PlanFact => ({
  type: 'plan_read',
  result: {
    ...plan!,
    outcome: 'same',
    phases: phases.map((phase) => (phase.marked ? { ...phase, marker: 'completed' } : phase)),
  },
});

export class Driven {
  state: PlanState;
  private now = 0;
  constructor(
    ids: readonly string[],
    result: ReadyPlan = reading(ids),
    options: Partial<PlanSetup['options']> = {},
  ) {
    this.state = initialPlan({ ...planInput, options: { ...planInput.options, ...options } }, 0);
    this.dispatch({ type: 'plan_read', result });
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
          this.dispatch({
            type: 'phase_merged',
            phase: move.phase,
            result: { outcome: 'merged', commit: 'm' },
          });
          break;
        case 'checkpoint':
          this.dispatch({ type: 'checkpointed', result: { path: 'c' } });
          break;
        case 'clean':
          this.dispatch({
            type: 'worktree_removed',
            name: move.name,
            result: { dropped: null, kept: null },
          });
          break;
        case 'pause':
          this.dispatch({ type: 'paused', pause: move.pause });
          break;
        case 'read':
          this.dispatch(readAsBefore(this.state));
          break;
        default:
          throw new Error(`a move that was not looked for: ${move.kind}`);
      }
      // Its runs are under way: what comes of them is a fact of their own.
      if (move.kind === 'run' && this.state.stage.at === 'running') return move;
    }
    throw new Error(`does not come to ${kinds.join()}: ${this.state.stage.at}`);
  }
  ends(id: string, how: 'committed' | 'cancelled' | 'failed', marks?: true): void {
    const cancelled = how === 'cancelled';
    const result =
      how === 'committed' ? { ...committed(id), ...(marks === undefined ? {} : { marks }) } : null;
    this.dispatch({ type: 'phase_ended', ended: { phase: id, result, how, cancelled } });
  }
  asked() {
    this.until('await_decision');
    return this.state.decision!;
  }
  answer(answer: string, note?: string): void {
    const { id, accepts } = this.asked();
    expect(accepts).toContain(answer);
    const by = { name: 'x', from: 'cli' };
    const request = { decision: id, answer, requestId: `r${this.now}`, by, note } as never;
    this.dispatch({ type: 'decided', request });
  }
  fails(
    activity: ActivityName,
    phase: string,
    reason: 'engine_failed' | 'workspace_unreachable' | 'blob_lost',
  ): void {
    this.dispatch({ type: 'activity_failed', activity, phase, reason, message: 'm' });
  }
}

/** One phase after the other. */
export const alone = (ids: readonly string[]): Driven => {
  const plan = new Driven(ids);
  const { plan: read } = plan.state.reading;
  plan.state = {
    ...plan.state,
    reading: { ...plan.state.reading, plan: { ...read!, waves: ids.map((id) => [[id]]) } },
  };
  return plan;
};
