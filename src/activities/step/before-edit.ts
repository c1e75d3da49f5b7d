/**
 * The calls before a step's edits: which files where the job names none and hints at none, and what the calls of a split step must agree
 * on. A model that cannot be reached is a decision, as with every call.
 */
import { inputBudget, modelEntry, route, type Complexity } from '../../documents/job/index.js';
import {
  buildPickRequest,
  closeBriefPrompt,
  readBrief,
  readPick,
  type BuiltRequest,
} from '../../model/prompts/index.js';
import type { Activity, ActivityScope } from '../frame/activity.js';
import { callModel, downOf, type CallWanted } from '../frame/model-call.js';
import type { ActivityPorts } from '../frame/ports.js';
import { bytesOf, loadTargets, references } from './prompt-inputs.js';
import { currentSnapshot, edited, putText, type Snapshot } from './snapshot.js';

interface Budgets {
  readonly model: string;
  readonly outputBudget_tokens: number;
  readonly inputBudget_tokens: number;
}
interface Wanted extends Pick<CallWanted, 'role' | 'format' | 'regeneration' | 'bases'> {
  readonly complexity: Complexity;
  readonly build: (budgets: Budgets) => Promise<BuiltRequest>;
}
async function callForStep(
  ports: ActivityPorts,
  snapshot: Snapshot,
  { complexity, build, ...wanted }: Wanted,
  scope: ActivityScope,
) {
  const { config, limits, category, model } = snapshot;
  const { outputBudget_tokens } = route({ ...config, limits }, { category, complexity, jobModel: model });
  const inputBudget_tokens = inputBudget(limits, modelEntry(config, model), outputBudget_tokens);
  const asked = { ...wanted, file: '*', model, outputBudget_tokens, notes: null, refusal: null };
  const request = () => build({ model, outputBudget_tokens, inputBudget_tokens });
  const call = await callModel(ports, snapshot, { ...asked, build: request }, scope);
  if (call.outcome !== 'answered') return call;
  const { text, stopReason } = call.answer;
  return { ...call, said: { text, stopReason, nonce: call.nonce, requireMarker: config.requireCompleteSentinel } };
}

const UNUSABLE = {
  truncated: 'truncation',
  unmarked: 'unmarked',
  declined: 'declined',
  invalid: 'attempts_exhausted',
} as const;

export const pickFiles: Activity<'pickFiles'> = async (ports, input, scope) => {
  const snapshot = await currentSnapshot(ports.blobs, input);
  const { fileList: files, limits } = snapshot;
  const wanted: Wanted = {
    ...{ role: 'pick', format: 'paths', regeneration: input.regeneration, bases: [], complexity: 'low' },
    build: async (budgets) => buildPickRequest({ ...(await references(ports.blobs, snapshot)), ...budgets, files }),
  };
  const call = await callForStep(ports, snapshot, wanted, scope);
  const { usage } = call;
  if (call.outcome !== 'answered')
    return { outcome: 'failed', reason: call.outcome, message: call.message, usage, ...downOf(call) };
  const reading = readPick(call.said, files, limits.maxFilesPerStep ?? files.length);
  if (reading.outcome === 'picked') return { outcome: 'picked', paths: reading.paths, usage };
  return { outcome: 'failed', reason: UNUSABLE[reading.outcome], message: reading.message, usage };
};

/** Its answer goes into every chunk's prompt; one that is no brief is done without. */
export const writeBrief: Activity<'writeBrief'> = async (ports, input, scope) => {
  const { blobs } = ports;
  const snapshot = await currentSnapshot(blobs, input);
  const targets = edited(snapshot.targets);
  const wanted: Wanted = {
    ...{ role: 'brief', format: 'brief', regeneration: 1, bases: targets.map(({ sha }) => sha) },
    complexity: snapshot.routedAs ?? snapshot.complexity,
    build: async (budgets) => {
      const { instructions, rules, hints } = await references(blobs, snapshot);
      const files = (await loadTargets(blobs, targets)).map(bytesOf);
      const listed = { instructions, rules, hints, ...budgets, files };
      return closeBriefPrompt(await ports.edits.run('brief', listed, scope.signal));
    },
  };
  const call = await callForStep(ports, snapshot, wanted, scope);
  const none = (why: string) => ({ brief: null, usage: call.usage, message: `no brief: ${why}` });
  if (call.outcome !== 'answered') return { ...none(call.message), ...downOf(call) };
  const reading = readBrief(call.said);
  if (reading.outcome !== 'complete') return none(reading.message);
  return { brief: await putText(blobs, reading.body), usage: call.usage, message: null };
};
