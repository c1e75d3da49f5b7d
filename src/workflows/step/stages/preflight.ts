/** Preflight: reads the job and its files, and lets a model pick the files if the job names none. */
import type { ResultOf } from '../../../shared/activities.js';
import type { EventBody } from '../../../shared/events.js';
import { answeredAgain, outageEffect } from '../../../shared/outage.js';
import type { PickedFile } from '../../../shared/pick.js';
import { cut, defaultBudget_usd } from '../../../shared/rules.js';
import type { PreflightResult, Target } from '../../../shared/step-activities.js';
import { count } from '../../../shared/text.js';
import { answerOf } from '../../../shared/validate-decision.js';
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
import type { Decide, Next, On, Resolution } from '../protocol.js';
import { spend } from '../spending.js';
import type { CallProgress, FileEntry, ReadyPreflight, StepState } from '../state.js';
import { endAfterRollback, lookAgain } from '../ways.js';

export const next: Next<'preflight' | 'pick'> = {
  preflight: () => ({ kind: 'preflight' }),
  pick: (state, currentTime_ms) => outageEffect(state, currentTime_ms) ?? { kind: 'pick' },
};

export const on: On<'preflighted' | 'picked'> = {
  preflighted: (state, { result }, currentTime_ms) => onPreflight(state, result, currentTime_ms),
  picked: (state, { result }, currentTime_ms) => onPicked(state, result, currentTime_ms),
};

export const decide: Decide<'configuration' | 'pick' | 'nothing_found'> = {
  configuration: (state, { request }) =>
    request.answer === 'trust' ? trustConfiguration(state) : state,
  pick: resolvePick,
  nothing_found: resolvePick,
};

function onPreflight(
  current: StepState,
  result: PreflightResult,
  currentTime_ms: number,
): StepState {
  if (result.outcome === 'refused')
    return endAfterRollback(current, currentTime_ms, 'refused', result.problem);
  if (result.outcome === 'untrusted') {
    const doubtful = within(current, 'base', { untrusted: result.hashes });
    return asking(doubtful, 'configuration', cut(current.input.rules, result.message));
  }
  const state = withJob(current, result);
  if (result.outcome === 'ready') return onReady(state, result, currentTime_ms);
  // A pick is asked for once. Otherwise paths that do not exist could be picked again and again.
  if (state.base.picked !== null)
    return asking(state, 'engine_failed', 'preflight asks for files although they were picked');
  return {
    ...estimated(state, result, true, currentTime_ms),
    stage: { at: 'pick', snapshot: result.snapshot },
  };
}

/** Takes up the files that were read, and reports how a model will be asked for them. */
function onReady(state: StepState, result: ReadyPreflight, currentTime_ms: number): StepState {
  const isFirst = state.base.ready === null;
  const { shouldSplit, splitReason, targets, warnings } = result;
  const ready = emit(withTargets(state, result), currentTime_ms, {
    type: 'preflight_complete',
    shouldSplit,
    reason: splitReason,
    targetFileCount: targets.length,
    estimatedComplexity: result.complexity,
  });
  const expected = estimated(ready, result, isFirst, currentTime_ms);
  const formats = targets.reduce(
    (nextState, target) => emit(nextState, currentTime_ms, formatEvent(target)),
    expected,
  );
  const nextState = warnings.reduce(
    (shown, message) =>
      emit(shown, currentTime_ms, { type: 'warning', message: cut(state.input.rules, message) }),
    formats,
  );
  return shouldSplit && isFirst
    ? splitByFile(nextState, splitReason, currentTime_ms, result.briefWanted)
    : nextState;
}

const formatEvent = ({ bucket, path, lines, format, deletes }: Target): EventBody => ({
  type: 'format_chosen',
  bucket,
  file_path: path,
  line_count: lines,
  format,
  ...(deletes === undefined ? {} : { deletes }),
});

/** Makes the files that were read the files of the step. Skipped files stay skipped on a new base. */
function withTargets(state: StepState, result: ReadyPreflight): StepState {
  const { base, edits, tests, answered, stage, input } = state;
  const isFirst = base.ready === null;
  // A response that came with the job counts for the first base. On a later base the model is asked.
  const response = isFirst ? input.given : undefined;
  const earlier = new Map(edits.files.map((file) => [file.path, file]));
  const renewed = result.targets
    .filter(({ path }) => earlier.get(path)?.status !== 'skipped')
    .map((target) => entryOf(target, earlier.get(target.path), response !== undefined));
  const renewedPaths = new Set(renewed.map((file) => file.path));
  const kept = edits.files.filter((file) => !renewedPaths.has(file.path));
  // After one call for each file there is no call for all: it would ask for files that are decided, or be cut off again.
  const renewsSome = stage.at === 'preflight' && stage.only !== null;
  const isSplit = result.shouldSplit || renewsSome || edits.split || kept.length > 0;
  const regeneration = renewed.reduce((most, file) => Math.max(most, file.regeneration), 1);
  const combined =
    response !== undefined || isSplit || result.combined === null
      ? null
      : { ...untried(regeneration), ...result.combined };
  return {
    ...state,
    ...approversFirst(state, result),
    stage: { at: 'propose' },
    base: { ...base, ready: result, limits: base.limits ?? result.limits },
    tests: { ...tests, commands: isFirst ? result.test.commands : tests.commands },
    answered: { ...answered, tests: answered.tests || result.test.found === null },
    edits: {
      ...edits,
      files: [...kept, ...renewed],
      ...(response === undefined ? {} : { accepted: [response] }),
      combined,
      briefWanted: result.briefWanted,
    },
  };
}

/** Returns the entry of a file that was read now. `isDone`: its response came with the job. */
function entryOf(target: Target, earlier: FileEntry | undefined, isDone: boolean): FileEntry {
  return {
    path: target.path,
    isNew: target.isNew,
    deletes: target.deletes === true,
    bucket: target.bucket,
    lines: target.lines,
    answered: earlier?.answered ?? 0,
    ...untried(earlier?.regeneration ?? 1),
    ...(isDone ? { status: 'done' } : {}),
    format: target.format,
    outputBudget_tokens: target.outputBudget_tokens,
    model: earlier?.model ?? null,
    note: earlier?.note ?? null,
    manual: false,
    unreviewed: false,
    verdict: null,
    selected: null,
  };
}

/** A preflight that read the job. */
type JobPreflight = Exclude<PreflightResult, { outcome: 'refused' | 'untrusted' }>;

/** Keeps the job that was read from its file, so that a later preflight finds the same one. */
function withJob(state: StepState, { job }: JobPreflight): StepState {
  if (job === undefined) return state;
  return { ...state, input: { ...state.input, job: job.ref, title: job.title } };
}

/**
 * Adds the expected usage of the files that were read now. It is shown before the first call, and again once the files are picked. Files that
 * are read later were ordered by an answer or named by the brief. `isFirst`: no file was read before.
 */
function estimated(
  state: StepState,
  result: JobPreflight,
  isFirst: boolean,
  currentTime_ms: number,
): StepState {
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
  return emit(shown, currentTime_ms, { type: 'estimated', ...expected, budget });
}

const plus = (estimate: StepEstimate, more: PhaseEstimate): StepEstimate => ({
  ...estimate,
  ...sumEstimates([estimate, more]),
});

/** Returns the progress of a call before its first attempt. */
const untried = (regeneration: number): Omit<CallProgress, 'format' | 'outputBudget_tokens'> => ({
  ...FRESH,
  regeneration,
  model: null,
  note: null,
  refusal: null,
  region: null,
  linesAsked: null,
});

function onPicked(
  state: StepState,
  result: ResultOf<'pickFiles'>,
  currentTime_ms: number,
): StepState {
  if (result.outcome === 'failed' && result.down !== undefined)
    return onModelDown(state, result.down, 'pick', currentTime_ms);
  const paid = spend({ ...state, ...answeredAgain(state, currentTime_ms) }, result.usage);
  if (result.outcome === 'failed')
    return asking(paid, result.reason, cut(state.input.rules, result.message));
  if (result.outcome === 'look_for')
    return lookFor(
      emit(paid, currentTime_ms, { type: 'looking_for', words: result.words }),
      result.words,
    );
  const { files } = result;
  if (result.outcome === 'nothing_found')
    return askWhich(paid, 'nothing_found', result.message, files);
  const newPaths = files.filter(({ isNew }) => isNew === true).map(({ path }) => path);
  const nextState = newPaths.length === 0 ? paid : within(paid, 'base', { made: newPaths });
  const question = `the model wants to edit ${count(files.length, 'file')}; --pick asks before any is edited`;
  const message = result.tooMany ?? (state.input.pick === true ? question : undefined);
  return message === undefined
    ? takePicked(nextState, files, currentTime_ms)
    : askWhich(nextState, 'pick', message, files);
}

/** Asks which of these files are edited. */
const askWhich = (
  state: StepState,
  reason: 'nothing_found' | 'pick',
  message: string,
  files: readonly PickedFile[],
): StepState => {
  const choices = files.map((file) => ({
    path: file.path,
    reason,
    message: cut(state.input.rules, file.why),
  }));
  return { ...state, ask: { reason, message, files: choices, subject: null } };
};

function resolvePick(
  state: StepState,
  { decision, request }: Resolution,
  currentTime_ms: number,
): StepState {
  if (Object.values(decision.answered).includes('retry'))
    return lookFor(state, request.note === undefined ? [] : [request.note]);
  const files = decision.files.filter(({ path }) => answerOf(decision, path) === 'take');
  if (files.length === 0) return endAfterRollback(state, currentTime_ms, 'skipped');
  return takePicked(
    state,
    files.map(({ path, message }) => ({ path, why: message })),
    currentTime_ms,
  );
}

/** Reads the picked files. New files that were named and are not picked are not made. */
function takePicked(
  state: StepState,
  files: readonly PickedFile[],
  currentTime_ms: number,
): StepState {
  const nextState = emit(state, currentTime_ms, {
    type: 'files_picked',
    file_count: files.length,
    files,
  });
  const picked = files.map(({ path }) => path);
  const newPaths = state.base.made?.filter((path) => picked.includes(path));
  return lookAgain(
    within(nextState, 'base', {
      picked,
      picks: files,
      ...(newPaths === undefined ? {} : { made: newPaths }),
    }),
    null,
  );
}

/** Has the model pick again, from the files that these words find. */
const lookFor = (state: StepState, words: readonly string[]): StepState =>
  lookAgain(
    within(state, 'base', { lookFor: words, pickRegeneration: state.base.pickRegeneration + 1 }),
    null,
  );

/** Has the next preflight accept the contents that the question was about. */
function trustConfiguration(state: StepState): StepState {
  const { untrusted = [], trusts = [] } = state.base;
  return within(state, 'base', { trusts: [...trusts, ...untrusted], untrusted: [] });
}
