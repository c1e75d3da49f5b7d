/**
 * The calls before a step's edits: which files where the job names none and hints at none, and what the calls of a split step must agree
 * on. A model that cannot be reached is a decision, as with every call.
 */
import { inputBudget, modelEntry, route, type Complexity } from '../../documents/job/index.js';
import * as prompts from '../../model/prompts/index.js';
import { count } from '../../shared/text.js';
import type { Activity } from '../frame/activity.js';
import { askForJson, callModel, checkedBy, downOf } from '../frame/model-call.js';
import { bytesOf, loadTargets, references } from './prompt-inputs.js';
import { currentSnapshot, edited, putText, type Snapshot } from './snapshot.js';
import { newFileRule } from './targets.js';

const budgetsOf = ({ config, limits, category, model }: Snapshot, complexity: Complexity) => {
  const { outputBudget_tokens } = route(
    { ...config, limits },
    { category, complexity, jobModel: model },
  );
  return { model, outputBudget_tokens };
};

const SHOWN_CANDIDATES = 10; // bound: Files that a person is shown where a model picks none.
const NOTHING_FOUND =
  'the model names no file that has to change; take some of those that the words of the task lead to, or say with --note what to look for';

export const pickFiles: Activity<'pickFiles'> = async (ports, input, scope) => {
  const snapshot = await currentSnapshot(ports.blobs, input);
  const { candidates, files, lookedFor } = snapshot.pick ?? {
    candidates: [],
    files: 0,
    lookedFor: null,
  };
  const { text: list, listed } = prompts.candidateList(candidates, files);
  const budgets = budgetsOf(snapshot, 'low');
  const shown = await references(ports.blobs, snapshot);
  const create = snapshot.config.create ?? false;
  const rule = await newFileRule(ports.blobs, snapshot);
  const asked = await askForJson(
    ports,
    snapshot,
    {
      role: 'pick',
      file: '*',
      regeneration: input.regeneration,
      bases: [],
      notes: null,
      calls: 1,
      ...budgets,
      build: (refusal) =>
        prompts.buildPickRequest({ ...shown, list, lookedFor, refusal, create, ...budgets }),
      check: checkedBy(
        prompts.pickSchema(listed, rule),
        'an object of files, each with path and why',
      ),
    },
    scope,
  );
  if (!asked.ok) return { outcome: 'failed', reason: asked.reason, ...asked.told };
  const { value, usage } = asked;
  if ('words' in value && lookedFor === null)
    return { outcome: 'look_for', words: value.words, usage };
  if ('words' in value || value.files.length === 0) {
    const first = candidates
      .slice(0, SHOWN_CANDIDATES)
      .map(({ path, reasons }) => ({ path, why: reasons.join('; ') }));
    return { outcome: 'nothing_found', message: NOTHING_FOUND, files: first, usage };
  }
  const [picked, most] = [value.files.length, snapshot.limits.maxPickedFiles ?? Infinity];
  const tooMany = `the model wants to edit ${picked} files; maxPickedFiles is ${most}`;
  return { outcome: 'picked', files: value.files, ...(picked > most ? { tooMany } : {}), usage };
};

/** Its answer goes into every chunk's prompt; one that is no brief is done without. */
export const writeBrief: Activity<'writeBrief'> = async (ports, input, scope) => {
  const { blobs } = ports;
  const snapshot = await currentSnapshot(blobs, input);
  const targets = edited(snapshot.targets);
  const { config, limits, model } = snapshot;
  const budgets = budgetsOf(snapshot, snapshot.routedAs);
  const inputBudget_tokens = inputBudget(
    limits,
    modelEntry(config, model),
    budgets.outputBudget_tokens,
  );
  const build = async () => {
    const { instructions, rules, hints } = await references(blobs, snapshot);
    const files = (await loadTargets(blobs, targets)).map(bytesOf);
    const create = config.create ?? false;
    const listed = { instructions, rules, hints, ...budgets, inputBudget_tokens, files, create };
    return prompts.closeBriefPrompt(await ports.edits.run('brief', listed, scope.signal));
  };
  const bases = targets.map(({ sha }) => sha);
  const asked = {
    role: 'brief',
    file: '*',
    format: 'brief',
    regeneration: 1,
    notes: null,
    refusal: null,
  } as const;
  const call = await callModel(ports, snapshot, { ...asked, ...budgets, bases, build }, scope);
  const none = (why: string) => ({ brief: null, usage: call.usage, message: `no brief: ${why}` });
  if (call.outcome !== 'answered') return { ...none(call.message), ...downOf(call) };
  const { text, stopReason } = call.answer;
  const { requireCompleteSentinel: requireMarker } = config;
  const reading = prompts.readBrief({ text, stopReason, nonce: call.nonce, requireMarker });
  if (reading.outcome !== 'complete') return none(reading.message);
  const rule = await newFileRule(blobs, snapshot);
  const newFiles = prompts.newFilesIn(reading.body).flatMap((file) => {
    const checked = rule(file.path);
    return checked.ok ? [{ ...file, path: checked.path }] : [];
  });
  const most = Math.min(
    limits.maxPickedFiles ?? Infinity,
    (limits.maxFilesPerStep ?? Infinity) - targets.length,
  );
  const taken = newFiles.slice(0, Math.max(0, most));
  const left = newFiles.length - taken.length;
  const message =
    left === 0
      ? null
      : `${count(left, 'new file')} of the brief left out: too many (maxPickedFiles)`;
  const brief = await putText(blobs, reading.body);
  return { brief, usage: call.usage, message, ...(taken.length === 0 ? {} : { newFiles: taken }) };
};
