/** The moves that revise a plan: what each calls, and the fact that comes of it. */
import type { PhaseId } from '../../shared/plan.js';
import type { ActivityName } from '../../shared/activities.js';
import type { AdviceFailure } from '../../shared/replan-activities.js';
import { workflowInfo } from '@temporalio/workflow';
import type { PlanFact } from './reduce.js';
import { failedSince } from './revising.js';
import { isDone, phaseOf, type PhaseEntry, type PlanState, type Revising } from './state.js';
import type { BlobRef } from '../../shared/ids.js';
import type { Call } from '../frame/activities.js';

interface Base {
  readonly v: 1;
  readonly stepKey: string;
  readonly log: PlanState['events'];
  readonly workspace: string;
  readonly planPath: string;
}
export type Run<N extends ActivityName> = (base: Base, call: Call<N>) => Promise<PlanFact>;
/** Does it for the phase, and folds in what came of it. */
export type Work = <N extends ActivityName>(activity: N, summary: string, run: Run<N>) => Promise<void>;

const about = ({ id, number, name }: PhaseEntry) => ({ id, number, name });
const failuresOf = ({ failures }: PhaseEntry): readonly AdviceFailure[] =>
  failures.map(({ run, kind, summary, output }) => ({ run, kind, summary, output }));

/** Of the last reading: what the plan's own model calls go by. */
function wanted({ plan }: PlanState): { readonly settings: BlobRef; readonly texts: BlobRef } {
  if (plan?.settings === undefined) throw new Error('the reading holds no settings');
  return { settings: plan.settings, texts: plan.texts };
}

export function score(state: PlanState, id: PhaseId, work: Work): Promise<void> {
  const phase = phaseOf(state, id);
  return work('scorePhase', `a second score of Phase ${phase.number}`, async ({ v, stepKey, log }, call) => ({
    type: 'scored',
    phase: id,
    result: await call({
      ...{ v, stepKey, log, ...wanted(state), phase: about(phase), draw: state.reading },
      first: phase.score.score,
    }),
  }));
}

export function revise(state: PlanState, revising: Revising, now: number, work: Work): Promise<void> {
  const phase = phaseOf(state, revising.phase);
  const of = `Phase ${phase.number}`;
  switch (revising.step) {
    case 'debug':
      return work('debugPhase', `a report on the failures of ${of}`, async ({ v, stepKey, log }, call) => ({
        type: 'debugged',
        revising,
        result: await call({
          ...{ v, stepKey, log, ...wanted(state), phase: about(phase), draw: state.advice },
          failures: failuresOf(phase),
        }),
      }));
    case 'propose':
      return work('proposeReplan', `a replan of ${of}: ${revising.trigger}`, async ({ v, stepKey, log }, call) => ({
        type: 'proposed',
        revising,
        result: await call({
          ...{ v, stepKey, log, ...wanted(state), phase: about(phase), draw: state.advice },
          ...{ trigger: revising.trigger, actions: revising.actions, score: phase.complexity.score },
          ...{ words: revising.words, failures: failuresOf(phase), report: phase.report },
          outline: state.phases.map(({ number, name, status }) => `${number}. ${name}: ${status}`),
        }),
      }));
    case 'apply': {
      const { proposal } = revising;
      const { workflowId, namespace } = workflowInfo();
      return work('applyReplan', `${proposal?.action ?? 'replan'} of ${of}`, async (base, call) => ({
        type: 'replanned',
        revising,
        result: await call({
          ...{ ...base, phase: about(phase), number: state.replans.length + 1, trigger: revising.trigger },
          ...{ replan: proposal?.ref ?? null, action: proposal?.action ?? 'expand_phase', why: proposal?.why ?? '' },
          ...{ forced: revising.past, at: now, workflowId, namespace },
        }),
      }));
    }
    case 'judge':
    case 'asked':
      return work('judgePhase', `judge ${of}: ${revising.trigger}`, async ({ v, stepKey, log }, call) => ({
        type: 'judged',
        revising,
        result: await call({
          ...{ v, stepKey, log, trigger: revising.trigger },
          ...{ score: phase.complexity.score, tasks: phase.tasks.total, expanded: phase.expanded },
          failures: phase.failures.map(({ signature, suggestions }) => ({ signature, suggestions })),
          failedPhases: failedSince(state),
          settled: isDone(phase) || phase.commits.length > 0,
          ...{ replans: phase.replans, forced: revising.forced },
          thresholds: state.plan?.thresholds ?? { expansion: 0, tasks: 0, fileReferences: 0, replanLimit: 0 },
        }),
      }));
  }
}
