/** Where a job names no file and hints at none: one model call that picks them from the file list. */
import { inputBudget, modelEntry, route } from '../../documents/job/index.js';
import { buildPickRequest, readPick } from '../../model/prompts/index.js';
import type { PickInput, PickResult } from '../../shared/step-activities.js';
import type { ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { callModel, downOf } from '../frame/model-call.js';
import { references } from './prompt-inputs.js';
import { currentSnapshot } from './snapshot.js';

export const pickFiles =
  (ports: ActivityPorts) =>
  async (input: PickInput, scope: ActivityScope): Promise<PickResult> => {
    const snapshot = await currentSnapshot(ports.blobs, input);
    const { outputBudget_tokens } = route(
      { ...snapshot.config, limits: snapshot.limits },
      { category: snapshot.category, complexity: 'low', jobModel: snapshot.model },
    );
    const files = snapshot.fileList;
    const call = await callModel(
      ports,
      snapshot,
      {
        role: 'pick',
        file: '*',
        regeneration: input.regeneration,
        bases: [],
        format: 'paths',
        model: snapshot.model,
        outputBudget_tokens,
        notes: null,
        refusal: null,
        build: async () => {
          const shown = await references(ports.blobs, snapshot);
          const entry = modelEntry(snapshot.config, snapshot.model);
          const budget = inputBudget(snapshot.limits, entry, outputBudget_tokens);
          return buildPickRequest({
            ...shown,
            model: snapshot.model,
            outputBudget_tokens,
            inputBudget_tokens: budget,
            files,
          });
        },
      },
      scope,
    );
    if (call.outcome !== 'answered')
      return {
        ...{ outcome: 'failed', reason: call.outcome, message: call.message, usage: call.usage },
        ...downOf(call),
      };
    const { answer, nonce, usage } = call;
    const requireMarker = snapshot.config.requireCompleteSentinel;
    const reading = readPick(
      { text: answer.text, stopReason: answer.stopReason, nonce, requireMarker },
      files,
      snapshot.limits.maxFilesPerStep ?? files.length,
    );
    if (reading.outcome === 'picked') return { outcome: 'picked', paths: reading.paths, usage };
    const reasons = {
      truncated: 'truncation',
      unmarked: 'unmarked',
      declined: 'declined',
      invalid: 'attempts_exhausted',
    } as const;
    return { outcome: 'failed', reason: reasons[reading.outcome], message: reading.message, usage };
  };
