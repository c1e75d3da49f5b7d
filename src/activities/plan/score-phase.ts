/** A second score of a phase, from its text alone. Without one in time, or with one that cannot be used, the first score stands. */
import { ModelError } from '../../model/errors.js';
import { buildScoreRequest } from '../../model/prompt/plan.js';
import { reconcile, secondScoreSchema } from '../../plan/second-score.js';
import type { ScorePhaseInput, ScorePhaseResult } from '../../shared/plan/advice.js';
import type { PhaseTexts } from '../../shared/plan/activities.js';
import { NO_USAGE, type StepUsage } from '../../shared/usage.js';
import type { ActivityScope } from '../boundary.js';
import type { ActivityDependencies } from '../dependencies.js';
import { getJson } from '../snapshot.js';
import { advise, checkedBy } from './advice.js';

export const scorePhase =
  (dependencies: ActivityDependencies) =>
  async (input: ScorePhaseInput, scope: ActivityScope): Promise<ScorePhaseResult> => {
    const { blobs, timings } = dependencies;
    const texts = await getJson<PhaseTexts>(blobs, input.texts, 'phase texts');
    const phase = { ...input.phase, text: texts.phases[input.phase.id]?.text ?? '' };
    const late = AbortSignal.timeout(timings.secondScore_ms);
    const without = (message: string, usage: StepUsage): ScorePhaseResult => {
      const { score, method, reasoning, discrepancy } = reconcile(input.first, null);
      return { v: 1, score, method, reasoning, discrepancy, message, usage };
    };
    try {
      const advised = await advise(
        dependencies,
        {
          ...{ stepKey: input.stepKey, settings: input.settings, role: 'score', phase: phase.id, draw: input.draw },
          ...{ about: `${phase.name}\n\n${phase.text}`, notes: '', complexity: 'low' },
          build: (model, outputBudget_tokens, refusal) =>
            buildScoreRequest({ model, outputBudget_tokens, refusal, phase }),
          check: checkedBy(secondScoreSchema, 'a score'),
        },
        { signal: AbortSignal.any([scope.signal, late]) },
      );
      if (!advised.ok) return without(advised.message, advised.usage);
      return { v: 1, ...reconcile(input.first, advised.value), message: null, usage: advised.usage };
    } catch (error) {
      // A score is no reason to wait for a model; being stopped is told on, for the next attempt to go on.
      if (scope.signal.aborted || (!late.aborted && !(error instanceof ModelError))) throw error;
      const why = late.aborted ? `no answer in ${timings.secondScore_ms} ms` : (error as ModelError).problem.message;
      return without(why, late.aborted ? { ...NO_USAGE, unknownCalls: 1 } : NO_USAGE);
    }
  };
