/** Asks a model for a replan of a phase and checks its answer. What it proposes is carried out by another activity. */
import { buildReplanRequest, type RevisionContext } from '../../model/prompt/plan.js';
import { checkReplan, type Replan } from '../../plan/replan-answer.js';
import type { ReplanAction } from '../../plan/triggers.js';
import type { ProposeReplanInput, ProposeReplanResult } from '../../shared/plan/advice.js';
import type { PhaseTexts } from '../../shared/plan/activities.js';
import type { ActivityScope } from '../boundary.js';
import type { ActivityDependencies } from '../dependencies.js';
import { getJson, getText, putJson } from '../snapshot.js';
import { advise, failuresShown } from './advice.js';

export const proposeReplan =
  (dependencies: ActivityDependencies) =>
  async (input: ProposeReplanInput, scope: ActivityScope): Promise<ProposeReplanResult> => {
    const { blobs } = dependencies;
    const texts = await getJson<PhaseTexts>(blobs, input.texts, 'phase texts');
    const asked = texts.phases[input.phase.id];
    const phase = { ...input.phase, text: asked?.text ?? '' };
    const tasks = asked?.tasks ?? [];
    const failures = await failuresShown(dependencies, input.failures);
    const report = input.report === null ? '' : await getText(blobs, input.report);
    const context: RevisionContext = {
      trigger: input.trigger,
      phase: phase.number,
      complexity_score: input.score,
      task_count: tasks.length,
      test_failures: failures.length,
      user_description: input.words,
    };
    // A phase with stages is not split (docs/decisions/0073): an answer that would be refused is not asked for.
    const actions = (input.actions as readonly ReplanAction[]).filter(
      (action) => action !== 'split_phase' || asked?.stages !== true,
    );
    const { outline } = input;
    const advised = await advise<Replan>(
      dependencies,
      {
        ...{ stepKey: input.stepKey, settings: input.settings, role: 'replan', phase: phase.id, draw: input.draw },
        ...{ about: `${phase.name}\n\n${phase.text}`, complexity: 'high' },
        notes: JSON.stringify({ context, actions, outline, failures, report }),
        build: (model, outputBudget_tokens, refusal) =>
          buildReplanRequest({
            ...{ model, outputBudget_tokens, refusal, phase, context, actions, tasks, outline, failures, report },
          }),
        check: (value) => {
          const checked = checkReplan(value, actions, phase.number);
          return checked.ok ? { ok: true, value: checked.replan } : checked;
        },
      },
      scope,
    );
    if (!advised.ok) {
      const { message, usage, down } = advised;
      return { v: 1, outcome: 'failed', message, usage, ...(down === undefined ? {} : { down }) };
    }
    const { action, why } = advised.value;
    const replan = await putJson(blobs, { v: 1, ...advised.value });
    return { v: 1, outcome: 'proposed', replan, action, why, usage: advised.usage };
  };
