/**
 * A plan: a Markdown document carried out phase by phase. The state says which move comes next (`nextPlanEffect`), activities and the
 * phases' own runs make it, and what comes of it is folded into the state (`reducePlan`). Each phase is an `editStep` of its own: a child
 * that outlives its parent. This file is the protocol.
 */
import type { PhaseId } from '../../shared/plan.js';
import type { StepResult } from '../../shared/run.js';
import type { PlanInput } from '../../shared/start-input.js';
import * as check from '../frame/input.js';
import { within, type Machine } from '../frame/machine.js';
import { runMachine } from '../frame/run.js';
import * as calls from './calls.js';
import { cleanUp } from './clean-up.js';
import { runPhases } from './phase-child.js';
import type { PlanFact, PlanMove, PlanMoves, PlanRun } from './protocol.js';
import { reducePlan } from './reduce.js';
import { revise, scorePhase } from './revision-calls.js';
import { isHeld } from './selectors.js';
import { PLAN_SIGNALS } from './signals.js';
import { nextPlanEffect } from './stages/index.js';
import { initialPlan, type PlanState } from './state.js';
import { detailsOfPlan, resultOfPlan, statusOfPlan } from './views.js';

/** `plan(input) -> result`; see src/shared/start-input.ts for the input, src/shared/run.ts for the result, docs/plans.md for the steps of a phase. */
export const plan: (input: PlanInput) => Promise<StepResult> = (...args: readonly unknown[]) =>
  runMachine(machine, args);

/** What makes each move: a call of an activity, runs of phases, or the fact itself. */
const PERFORM: {
  readonly [K in keyof PlanMoves]: (run: PlanRun, move: PlanMove<K>) => Promise<void> | void;
} = {
  read: calls.readPlan,
  score: (run, { phase }) => scorePhase(run, phase),
  begin_revising: (run, { phase, trigger, words }) =>
    run.dispatch({ type: 'revise', phase, trigger, words }),
  revise: (run, { revising }) => revise(run, revising),
  begin: (run, { group }) => run.dispatch({ type: 'begun', group }),
  job: (run, { phase }) => calls.writeJob(run, phase),
  worktree: (run, { phase }) => calls.prepareWorktree(run, phase),
  verify: (run, { phase }) => calls.testGroup(run, phase),
  run: (run, { phases }) => runPhases(run, phases),
  merge: (run, { phase }) => calls.mergePhase(run, phase),
  mark: (run, { phase }) => calls.markPhase(run, phase, isHeld(run.state, phase)),
  clean: (run, { name }) => calls.removeWorktree(run, name),
  checkpoint: calls.saveCheckpoint,
  await_resume: calls.awaitResume,
  continue: (run) => run.goOn(),
  close: (run, { outcome }) => run.dispatch({ type: 'closed', outcome }),
};

const perform = <K extends keyof PlanMoves>(
  move: PlanMove<K>,
  run: PlanRun,
): Promise<void> | void => PERFORM[move.kind](run, move);

const machine: Machine<PlanState, PlanFact, PlanMove, PhaseId | null> = {
  kind: 'plan',
  setupFields: {
    planPath: check.text,
    options: check.object({
      phase: check.orNull('a number', check.isNumber),
      mode: check.text,
      forceReplan: check.flag,
      drift: check.orNull('a text', check.isText),
      estimate: check.text,
      restart: check.flag,
    }),
  },
  initial: initialPlan,
  next: nextPlanEffect,
  reduce: reducePlan,
  perform,
  onHost: ({ input: { repository }, marks: marked = [] }) =>
    repository === undefined ? {} : { repository, marked },
  failed: (fact, phase = null) => ({ ...fact, phase }),
  end: cleanUp,
  views: {
    status: statusOfPlan,
    ledger: () => [],
    proposal: () => null,
    details: detailsOfPlan,
    result: resultOfPlan,
  },
  abortsBetweenEffects: true,
  signals: PLAN_SIGNALS,
  carried: (state) => within(state, 'counts', { groups: 0 }),
};
