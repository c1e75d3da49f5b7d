/** The moves that revise a plan: what each calls, and the fact that comes of it. */
import type { PhaseId } from '../shared/plan.js';
import type { AdviceFailure } from '../shared/plan/advice.js';
import { workflowInfo } from '@temporalio/workflow';
import type { PlanFact } from '../shared/plan/reducer.js';
import { failedSince } from '../shared/plan/revising.js';
import { isDone, phaseOf } from '../shared/plan/state.js';
import type { PhaseEntry, PlanState, Revising } from '../shared/plan/types.js';
import type { BlobRef } from '../shared/refs.js';
import type { planActivities } from './plan-activities.js';

type Activities = ReturnType<typeof planActivities>;
interface Base {
  readonly v: 1;
  readonly stepKey: string;
  readonly log: PlanState['events'];
  readonly workspace: string;
  readonly planPath: string;
}
export interface ReviseWork {
  readonly activity: string;
  readonly summary: string;
  readonly run: (base: Base, options: { readonly summary: string }) => Promise<PlanFact>;
}

const about = ({ id, number, name }: PhaseEntry) => ({ id, number, name });
const failuresOf = ({ failures }: PhaseEntry): readonly AdviceFailure[] =>
  failures.map(({ run, kind, summary, output }) => ({ run, kind, summary, output }));

/** Of the last reading: what the plan's own model calls go by. */
function wanted({ plan }: PlanState): { readonly settings: BlobRef; readonly texts: BlobRef } {
  if (plan?.settings === undefined) throw new Error('the reading holds no settings');
  return { settings: plan.settings, texts: plan.texts };
}

export function scoreWork(state: PlanState, id: PhaseId, { model }: Activities): ReviseWork {
  const phase = phaseOf(state, id);
  return {
    activity: 'scorePhase',
    summary: `a second score of Phase ${phase.number}`,
    run: async ({ v, stepKey, log }, options) => ({
      type: 'scored',
      phase: id,
      result: await model.scorePhase.executeWithOptions(options, [
        { v, stepKey, log, ...wanted(state), phase: about(phase), draw: state.reading, first: phase.score.score },
      ]),
    }),
  };
}

export function reviseWork(state: PlanState, revising: Revising, activities: Activities, now: number): ReviseWork {
  const phase = phaseOf(state, revising.phase);
  const { host, model, commandTimeouts } = activities;
  const of = `Phase ${phase.number}`;
  switch (revising.step) {
    case 'debug':
      return {
        activity: 'debugPhase',
        summary: `a report on the failures of ${of}`,
        run: async ({ v, stepKey, log }, options) => ({
          type: 'debugged',
          revising,
          result: await model.debugPhase.executeWithOptions(options, [
            { v, stepKey, log, ...wanted(state), phase: about(phase), draw: state.advice, failures: failuresOf(phase) },
          ]),
        }),
      };
    case 'propose':
      return {
        activity: 'proposeReplan',
        summary: `a replan of ${of}: ${revising.trigger}`,
        run: async ({ v, stepKey, log }, options) => ({
          type: 'proposed',
          revising,
          result: await model.proposeReplan.executeWithOptions(options, [
            {
              ...{ v, stepKey, log, ...wanted(state), phase: about(phase), draw: state.advice },
              ...{ trigger: revising.trigger, actions: revising.actions, score: phase.complexity.score },
              ...{ words: revising.words, failures: failuresOf(phase), report: phase.report },
              outline: state.phases.map(({ number, name, status }) => `${number}. ${name}: ${status}`),
            },
          ]),
        }),
      };
    case 'apply': {
      const { proposal } = revising;
      const { workflowId, namespace } = workflowInfo();
      return {
        activity: 'applyReplan',
        summary: `${proposal?.action ?? 'replan'} of ${of}`,
        run: async (base, options) => ({
          type: 'replanned',
          revising,
          result: await host.applyReplan.executeWithOptions({ ...options, ...commandTimeouts.commit }, [
            {
              ...{ ...base, phase: about(phase), number: state.replans.length + 1, trigger: revising.trigger },
              ...{
                replan: proposal?.ref ?? null,
                action: proposal?.action ?? 'expand_phase',
                why: proposal?.why ?? '',
              },
              ...{ forced: revising.past, at: now, workflowId, namespace },
            },
          ]),
        }),
      };
    }
    case 'judge':
    case 'asked':
      return {
        activity: 'judgePhase',
        summary: `judge ${of}: ${revising.trigger}`,
        run: async ({ v, stepKey, log }, options) => ({
          type: 'judged',
          revising,
          result: await host.judgePhase.executeWithOptions(options, [
            {
              ...{ v, stepKey, log, trigger: revising.trigger },
              ...{ score: phase.complexity.score, tasks: phase.tasks.total, expanded: phase.expanded },
              failures: phase.failures.map(({ signature, suggestions }) => ({ signature, suggestions })),
              failedPhases: failedSince(state),
              settled: isDone(phase) || phase.commits.length > 0,
              ...{ replans: phase.replans, forced: revising.forced },
              thresholds: state.plan?.thresholds ?? { expansion: 0, tasks: 0, fileReferences: 0, replanLimit: 0 },
            },
          ]),
        }),
      };
  }
}
