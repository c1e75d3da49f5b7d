/** The moves that revise a plan: what each calls, and the fact that comes of it. */
import type { PhaseId } from '../../shared/plan.js';
import type { BlobRef } from '../../shared/ids.js';
import type { PlanReading } from '../../shared/plan-activities.js';
import { configurationOf } from '../../shared/run.js';
import { owner } from '../frame/activities.js';
import type { PlanRun } from './reduce.js';
import { choicesOf } from './reports.js';
import { isDone, phaseOf, type PhaseEntry, type PlanState, type Revising } from './state.js';

export const about = ({ id, number, name }: PhaseEntry) => ({ id, number, name });

/** Returns how the plan is read next: as the run knows it. */
export function readingOf(
  { input, phases, reading: { trusts } }: PlanState,
  reading: number,
): PlanReading {
  return {
    reading,
    known: phases.map((phase) => ({
      ...about(phase),
      text: phase.text,
      ...(isDone(phase) ? {} : { open: true }),
    })),
    overrides: input.overrides,
    approval: input.approval ?? null,
    ...configurationOf(input),
    ...(trusts === undefined ? {} : { trusts }),
  };
}

/** Of the last reading: what the plan's own model calls go by. */
function wanted({ reading: { plan } }: PlanState): {
  readonly settings: BlobRef;
  readonly texts: BlobRef;
} {
  if (plan === null) throw new Error('the plan was not read');
  return { settings: plan.settings, texts: plan.texts };
}

export function score(run: PlanRun, id: PhaseId): Promise<void> {
  const { state } = run;
  const phase = phaseOf(state, id);
  return run.call(
    'scorePhase',
    { summary: `a second score of Phase ${phase.number}`, about: id },
    {
      ...wanted(state),
      phase: about(phase),
      regeneration: state.reading.number,
      first: phase.score.score,
    },
    (result) => ({ type: 'scored', phase: id, result }),
  );
}

export function revise(run: PlanRun, revising: Revising): Promise<void> {
  const { state } = run;
  const { phase: id, trigger } = revising;
  const phase = phaseOf(state, id);
  const { failures } = phase;
  const of = `Phase ${phase.number}`;
  switch (revising.step) {
    case 'debug':
      return run.call(
        'debugPhase',
        { summary: `a report on the failures of ${of}`, about: id },
        { ...wanted(state), phase: about(phase), regeneration: state.counts.planCalls, failures },
        (result) => ({ type: 'debugged', revising, result }),
      );
    case 'propose': {
      const { actions, others } = choicesOf(state, revising);
      return run.call(
        'proposeReplan',
        { summary: `a replan of ${of}: ${trigger}`, about: id },
        {
          ...wanted(state),
          phase: about(phase),
          regeneration: state.counts.planCalls,
          failures,
          trigger,
          actions,
          others: others.map(about),
          score: phase.complexity.score,
          words: revising.words,
          report: phase.report,
          outline: state.phases.map(({ number, name, status }) => `${number}. ${name}: ${status}`),
        },
        (result) => ({ type: 'proposed', revising, result }),
      );
    }
    case 'apply': {
      const { action, ref = null, why = '' } = revising.proposal ?? {};
      const { workspace, planPath } = state.input;
      return run.call(
        'applyReplan',
        { summary: `${action ?? 'replan'} of ${of}`, about: id },
        {
          ...owner(),
          workspace,
          planPath,
          ...wanted(state),
          marks: state.marks ?? [],
          phase: about(phase),
          number: state.records.replans.length + 1,
          trigger,
          replan: ref,
          action: action ?? 'expand_phase',
          why,
          forced: revising.beyondLimit,
          at: Date.now(),
          read: readingOf(state, state.reading.number + 1),
        },
        (result) => ({ type: 'replanned', revising, result }),
      );
    }
    case 'asked':
      throw new Error(`${of} waits for an answer that no decision asks for`);
  }
}
