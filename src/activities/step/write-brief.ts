/**
 * What the calls of a split step must agree on: one call, whose answer goes into every chunk's prompt. An answer that is no brief is done
 * without; a model that cannot be reached is a decision, as with every call.
 */
import { inputBudget, modelEntry, route } from '../../documents/job/index.js';
import { closeBriefPrompt, readBrief } from '../../model/prompts/index.js';
import type { BriefInput, BriefResult } from '../../shared/step-activities.js';
import type { ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { callModel, downOf } from '../frame/model-call.js';
import { bytesOf, loadTargets, references } from './prompt-inputs.js';
import { currentSnapshot, edited, putText } from './snapshot.js';

export const writeBrief =
  (ports: ActivityPorts) =>
  async (input: BriefInput, scope: ActivityScope): Promise<BriefResult> => {
    const { blobs } = ports;
    const snapshot = await currentSnapshot(blobs, input);
    const { outputBudget_tokens } = route(
      { ...snapshot.config, limits: snapshot.limits },
      { category: snapshot.category, complexity: snapshot.routedAs ?? snapshot.complexity, jobModel: snapshot.model },
    );
    const call = await callModel(
      ports,
      snapshot,
      {
        role: 'brief',
        file: '*',
        regeneration: 1,
        bases: edited(snapshot.targets).map((target) => target.sha),
        format: 'brief',
        model: snapshot.model,
        outputBudget_tokens,
        notes: null,
        refusal: null,
        build: async () => {
          const { instructions, rules, hints } = await references(blobs, snapshot);
          const files = await loadTargets(blobs, edited(snapshot.targets));
          const entry = modelEntry(snapshot.config, snapshot.model);
          const budget = inputBudget(snapshot.limits, entry, outputBudget_tokens);
          const listed = {
            instructions,
            rules,
            hints,
            model: snapshot.model,
            outputBudget_tokens,
            inputBudget_tokens: budget,
            files: files.map(bytesOf),
          };
          return closeBriefPrompt(await ports.edits.run('brief', listed, scope.signal));
        },
      },
      scope,
    );
    if (call.outcome !== 'answered')
      return { brief: null, usage: call.usage, message: `no brief: ${call.message}`, ...downOf(call) };
    const { answer, nonce, usage } = call;
    const requireMarker = snapshot.config.requireCompleteSentinel;
    const reading = readBrief({ text: answer.text, stopReason: answer.stopReason, nonce, requireMarker });
    return reading.outcome === 'complete'
      ? { brief: await putText(blobs, reading.body), usage, message: null }
      : { brief: null, usage, message: `no brief: ${reading.message}` };
  };
