/** Reads the job and its files, and lets a model pick the files if the job names none. */
import type { ResultOf } from '../../../shared/activities.js';
import { answeredAgain } from '../../../shared/outage.js';
import type { PickedFile } from '../../../shared/pick.js';
import { cut, defaultBudget_usd } from '../../../shared/rules.js';
import type { PreflightResult } from '../../../shared/step-activities.js';
import { count } from '../../../shared/text.js';
import {
  moneyBudget,
  type PhaseEstimate,
  type StepEstimate,
  sumEstimates,
  tokensIn,
} from '../../../shared/usage.js';
import { asking } from '../../frame/decisions/asking.js';
import { approversFirst } from '../../frame/decisions/state.js';
import { emit, onModelDown } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import { FRESH, splitByFile } from '../ledger.js';
import { spend } from '../spending.js';
import type { CallProgress, FileEntry, StepState } from '../state.js';
import { endAfterRollback, lookAgain } from '../ways.js';

export function onPreflight(current: StepState, result: PreflightResult, now: number): StepState {
  if (result.outcome === 'refused')
    return endAfterRollback(current, now, 'refused', result.problem);
  if (result.outcome === 'untrusted') {
    const doubtful = within(current, 'base', { untrusted: result.hashes });
    return asking(doubtful, 'configuration', cut(current.input.rules, result.message));
  }
  const state = withJob(current, result);
  if (result.outcome === 'pick') {
    if (state.base.picked === null)
      return {
        ...estimated(state, result, true, now),
        stage: { at: 'pick', snapshot: result.snapshot },
      };
    // Asked for once: paths that lead nowhere must not be picked for ever.
    return asking(state, 'engine_failed', 'preflight asks for files although they were picked');
  }
  const { base, edits, tests, answered, stage, input } = state;
  // On a later base the model is asked.
  const given = base.ready === null ? input.given : undefined;
  const before = new Map(edits.files.map((file) => [file.path, file]));
  const fresh = result.targets.map((target): FileEntry => {
    const old = before.get(target.path);
    return {
      path: target.path,
      isNew: target.isNew,
      deletes: target.deletes === true,
      bucket: target.bucket,
      lines: target.lines,
      answered: old?.answered ?? 0,
      ...untried(old?.regeneration ?? 1),
      ...(given === undefined ? {} : { status: 'done' }),
      format: target.format,
      outputBudget_tokens: target.outputBudget_tokens,
      model: old?.model ?? null,
      note: old?.note ?? null,
      manual: false,
      unreviewed: false,
      verdict: null,
      selected: null,
    };
  });
  // What a person left out stays out, whatever base is taken anew.
  const taken = fresh.filter((file) => before.get(file.path)?.status !== 'skipped');
  const renewed = new Set(taken.map((file) => file.path));
  const kept = edits.files.filter((file) => !renewed.has(file.path));
  // Once by file, always by file: one call for all would ask for files that are decided, or be cut off again.
  const renewsSome = stage.at === 'preflight' && stage.only !== null;
  const split = result.shouldSplit || renewsSome || edits.split || kept.length > 0;
  const regeneration = taken.reduce((most, file) => Math.max(most, file.regeneration), 1);
  let next: StepState = {
    ...state,
    ...approversFirst(state, result),
    stage: { at: 'propose' },
    base: { ...base, ready: result, limits: base.limits ?? result.limits },
    tests: { ...tests, commands: base.ready === null ? result.test.commands : tests.commands },
    answered: { ...answered, tests: answered.tests || result.test.found === null },
    edits: {
      ...edits,
      files: [...kept, ...taken],
      ...(given === undefined ? {} : { accepted: [given] }),
      combined:
        given !== undefined || split || result.combined === null
          ? null
          : { ...untried(regeneration), ...result.combined },
      briefWanted: result.briefWanted,
    },
  };
  next = emit(next, now, {
    type: 'preflight_complete',
    shouldSplit: result.shouldSplit,
    reason: result.splitReason,
    targetFileCount: result.targets.length,
    estimatedComplexity: result.complexity,
  });
  next = estimated(next, result, base.ready === null, now);
  for (const target of result.targets)
    next = emit(next, now, {
      type: 'format_chosen',
      bucket: target.bucket,
      file_path: target.path,
      line_count: target.lines,
      format: target.format,
      ...(target.deletes === undefined ? {} : { deletes: target.deletes }),
    });
  for (const message of result.warnings)
    next = emit(next, now, { type: 'warning', message: cut(state.input.rules, message) });
  if (result.shouldSplit && base.ready === null)
    next = splitByFile(next, result.splitReason, now, result.briefWanted);
  return next;
}

type Looked = Exclude<PreflightResult, { outcome: 'refused' | 'untrusted' }>;

/** Keeps the job that was read from its file: a later preflight finds the same one. */
function withJob(state: StepState, { job }: Looked): StepState {
  if (job === undefined) return state;
  return { ...state, input: { ...state.input, job: job.ref, title: job.title } };
}

/**
 * Adds what the files that were read now are expected to take. It is shown before the first call, and again once the files are picked: files
 * that are read later were ordered by a person or named by the model's brief. `isFirst`: no file was read before.
 */
function estimated(state: StepState, result: Looked, isFirst: boolean, now: number): StepState {
  const { estimate } = result;
  const { base, usage } = state;
  if (!isFirst)
    return base.estimate === undefined
      ? state
      : within(state, 'base', { estimate: plus(base.estimate, estimate) });
  if (result.outcome === 'pick' && base.estimate !== undefined) return state;
  const { calls, output_tokens, usd } = usage;
  const used = { calls, input_tokens: tokensIn(usage), output_tokens, usd };
  const expected = plus(estimate, used);
  const set_usd = result.outcome === 'pick' ? result.budget_usd : result.limits.budget_usd;
  const budget = moneyBudget(set_usd, defaultBudget_usd(state.input.rules.bounds, expected.usd));
  const shown = within(state, 'base', { estimate: expected, budget });
  return emit(shown, now, { type: 'estimated', ...expected, budget });
}

const plus = (estimate: StepEstimate, more: PhaseEstimate): StepEstimate => ({
  ...estimate,
  ...sumEstimates([estimate, more]),
});

/** Fresh attempts at the first fallback. */
const untried = (regeneration: number): Omit<CallProgress, 'format' | 'outputBudget_tokens'> => ({
  ...FRESH,
  regeneration,
  model: null,
  note: null,
  refusal: null,
  region: null,
  linesAsked: null,
});

export function onPicked(state: StepState, result: ResultOf<'pickFiles'>, now: number): StepState {
  if (result.outcome === 'failed' && result.down !== undefined)
    return onModelDown(state, result.down, 'pick', now);
  const paid = spend({ ...state, ...answeredAgain(state, now) }, result.usage);
  if (result.outcome === 'failed')
    return asking(paid, result.reason, cut(state.input.rules, result.message));
  if (result.outcome === 'look_for')
    return lookFor(emit(paid, now, { type: 'looking_for', words: result.words }), result.words);
  const { files } = result;
  if (result.outcome === 'nothing_found')
    return askWhich(paid, 'nothing_found', result.message, files);
  const made = files.filter(({ isNew }) => isNew === true).map(({ path }) => path);
  const named = made.length === 0 ? paid : within(paid, 'base', { made });
  const wanted = `the model wants to edit ${count(files.length, 'file')}; --pick asks before any is edited`;
  const why = result.tooMany ?? (state.input.pick === true ? wanted : undefined);
  return why === undefined ? takePicked(named, files, now) : askWhich(named, 'pick', why, files);
}

const askWhich = (
  state: StepState,
  reason: 'nothing_found' | 'pick',
  message: string,
  files: readonly PickedFile[],
): StepState => {
  const named = files.map(({ path, why }) => ({
    path,
    reason,
    message: cut(state.input.rules, why),
  }));
  return { ...state, ask: { reason, message, files: named, subject: null } };
};

/** Those of new files that were named and are not picked stay unmade. */
export const takePicked = (
  state: StepState,
  files: readonly PickedFile[],
  now: number,
): StepState => {
  const told = emit(state, now, { type: 'files_picked', file_count: files.length, files });
  const picked = files.map(({ path }) => path);
  const made = state.base.made?.filter((path) => picked.includes(path));
  return lookAgain(
    within(told, 'base', { picked, picks: files, ...(made === undefined ? {} : { made }) }),
    null,
  );
};

/** The model picks anew, from what these words lead to. */
export const lookFor = (state: StepState, words: readonly string[]): StepState =>
  lookAgain(
    within(state, 'base', { lookFor: words, pickRegeneration: state.base.pickRegeneration + 1 }),
    null,
  );

/** The next look at the files accepts the contents that the question was about. */
export function trustConfiguration(state: StepState): StepState {
  const { untrusted = [], trusts = [] } = state.base;
  return within(state, 'base', { trusts: [...trusts, ...untrusted], untrusted: [] });
}
