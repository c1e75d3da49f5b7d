/** The calls of a revision: a second score, a report on failures, a proposed replan, and the replan itself. */
import type { PhaseId } from '../../shared/plan.js';
import { owner } from '../frame/activities.js';
import { readingOf } from './calls.js';
import type { PlanRun } from './protocol.js';
import { about, choicesOf, phaseOf, readPlanOf } from './selectors.js';
import type { PlanState, Revising } from './state.js';

/** Returns what the plan's own model calls go by: the settings and the texts of the last reading. */
function readOf(state: PlanState) {
  const { settings, texts } = readPlanOf(state);
  return { settings, texts };
}

export function scorePhase(run: PlanRun, id: PhaseId): Promise<void> {
  const { state } = run;
  const phase = phaseOf(state, id);
  return run.call(
    'scorePhase',
    { summary: `a second score of Phase ${phase.number}`, about: id },
    {
      ...readOf(state),
      phase: about(phase),
      regeneration: state.reading.number,
      first: phase.score.score,
    },
    (result) => ({ type: 'scored', phase: id, result }),
  );
}

/** Does the next step of a revision. */
export function revise(run: PlanRun, revising: Revising): Promise<void> {
  switch (revising.step) {
    case 'debug':
      return debugPhase(run, revising);
    case 'propose':
      return proposeReplan(run, revising);
    case 'apply':
      return applyReplan(run, revising);
    case 'asked':
      throw new Error(`${revising.phase} waits for an answer that no decision asks for`);
  }
}

function debugPhase(run: PlanRun, revising: Revising): Promise<void> {
  const { state } = run;
  const phase = phaseOf(state, revising.phase);
  return run.call(
    'debugPhase',
    { summary: `a report on the failures of Phase ${phase.number}`, about: phase.id },
    {
      ...readOf(state),
      phase: about(phase),
      regeneration: state.counts.planCalls,
      failures: phase.failures,
    },
    (result) => ({ type: 'debugged', revising, result }),
  );
}

function proposeReplan(run: PlanRun, revising: Revising): Promise<void> {
  const { state } = run;
  const { trigger, words } = revising;
  const phase = phaseOf(state, revising.phase);
  const { actions, others } = choicesOf(state, revising);
  return run.call(
    'proposeReplan',
    { summary: `a replan of Phase ${phase.number}: ${trigger}`, about: phase.id },
    {
      ...readOf(state),
      phase: about(phase),
      regeneration: state.counts.planCalls,
      failures: phase.failures,
      trigger,
      actions,
      others: others.map(about),
      score: phase.complexity.score,
      words,
      report: phase.report,
      outline: state.phases.map(({ number, name, status }) => `${number}. ${name}: ${status}`),
    },
    (result) => ({ type: 'proposed', revising, result }),
  );
}

function applyReplan(run: PlanRun, revising: Revising): Promise<void> {
  const { state } = run;
  const { trigger, proposal, beyondLimit } = revising;
  const { action = 'expand_phase', ref = null, why: reason = '' } = proposal ?? {};
  const { workspace, planPath } = state.input;
  const phase = phaseOf(state, revising.phase);
  return run.call(
    'applyReplan',
    {
      summary: `${action} of Phase ${phase.number}`,
      about: phase.id,
      runsCommands: state.reading.plan?.runsHooks === true,
    },
    {
      ...owner(),
      workspace,
      planPath,
      ...readOf(state),
      marks: state.marks ?? [],
      phase: about(phase),
      number: state.records.replans.length + 1,
      trigger,
      replan: ref,
      action,
      why: reason,
      forced: beyondLimit,
      at: Date.now(),
      read: readingOf(state, state.reading.number + 1),
    },
    (result) => ({ type: 'replanned', revising, result }),
  );
}
