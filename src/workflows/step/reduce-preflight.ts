/** What preflight found: the files, and how each is asked for first. */
import type { PreflightResult } from '../../shared/step-activities.js';
import type { StepEstimate } from '../../shared/usage.js';
import type { CallProgress, FileEntry, StepState } from './state.js';
import { approversFirst, asking } from '../frame/decision-state.js';
import { within } from '../frame/machine.js';
import { emit } from '../frame/log.js';
import { splitByFile } from './reduce-propose.js';
import { endAfterRollback, FRESH } from './transitions.js';
import { cut } from '../../shared/rules.js';

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

/** Said once, before the first call. */
const estimated = (state: StepState, estimate: StepEstimate, now: number): StepState =>
  state.base.estimate === undefined && isWhole(estimate)
    ? emit(within(state, 'base', { estimate }), now, { type: 'estimated', ...estimate })
    : state;
/** Not of a run that an older build looked at. */
const isWhole = (estimate: Partial<StepEstimate> | undefined): boolean =>
  estimate?.calls !== undefined;

export function onPreflight(state: StepState, result: PreflightResult, now: number): StepState {
  if (result.outcome === 'refused') return endAfterRollback(state, now, 'refused', result.problem);
  if (result.outcome === 'pick') {
    if (state.base.picked === null)
      return {
        ...estimated(state, result.estimate, now),
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
  next = estimated(next, result.estimate, now);
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
    next = emit(next, now, { type: 'warning', message: cut(state, message) });
  if (result.shouldSplit && base.ready === null)
    next = splitByFile(next, result.splitReason, now, result.briefWanted);
  return next;
}
