/** Facts up to the proposal: preflight, chunks, outcomes and fallbacks. */
import { within } from '../frame/machine.js';
import type { Chunk } from './effects.js';
import { answeredAgain } from '../../shared/outage.js';
import type { PreflightResult, ProposeResult } from '../../shared/step-activities.js';
import { isUnfinished, type CallProgress, type FileEntry, type StepState } from './state.js';
import { addUsage, type StepUsage } from '../../shared/usage.js';
import { asking } from '../frame/decision-state.js';
import { emit, onModelDown } from '../frame/log.js';
import { endAfterRollback, withFiles } from './transitions.js';
import { cut } from '../../shared/rules.js';

const waiting = (file: FileEntry): FileEntry => (isUnfinished(file) ? { ...file, status: 'pending' } : file);

/** Fresh attempts at the first fallback. */
const untried = (regeneration: number): Omit<CallProgress, 'format' | 'outputBudget_tokens'> => ({
  status: 'pending',
  attempts: 0,
  regeneration,
  model: null,
  note: null,
  refusal: null,
  unmarkedAsked: false,
  failure: null,
  region: null,
  linesAsked: null,
});

export function onPreflight(state: StepState, result: PreflightResult, now: number): StepState {
  if (result.outcome === 'refused') return endAfterRollback(state, now, 'refused', result.problem);
  if (result.outcome === 'pick') {
    if (state.base.picked === null) return { ...state, stage: { at: 'pick', snapshot: result.snapshot } };
    // Asked for once: paths that lead nowhere must not be picked for ever.
    return asking(state, 'engine_failed', 'preflight asks for files although they were picked');
  }
  const { base, edits, tests, answered, stage } = state;
  const before = new Map(edits.files.map((file) => [file.path, file]));
  const fresh = result.targets.map((target): FileEntry => {
    const old = before.get(target.path);
    return {
      path: target.path,
      isNew: target.isNew,
      deletes: target.deletes === true,
      bucket: target.bucket,
      lines: target.lines,
      ...untried(old?.regeneration ?? 1),
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
    stage: { at: 'propose' },
    base: { ...base, ready: result, limits: base.limits ?? result.limits },
    tests: { ...tests, commands: base.ready === null ? result.test.commands : tests.commands },
    answered: { ...answered, tests: answered.tests || result.test.found === null },
    edits: {
      ...edits,
      files: [...kept, ...taken],
      combined: split || result.combined === null ? null : { ...untried(regeneration), ...result.combined },
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
  for (const target of result.targets)
    next = emit(next, now, {
      type: 'format_chosen',
      bucket: target.bucket,
      file_path: target.path,
      line_count: target.lines,
      format: target.format,
      ...(target.deletes === undefined ? {} : { deletes: target.deletes }),
    });
  for (const message of result.warnings) next = emit(next, now, { type: 'warning', message: cut(state, message) });
  if (result.shouldSplit && base.ready === null) next = splitByFile(next, result.splitReason, now, result.briefWanted);
  return next;
}

/** One call a file from here on; `brief`: they agree on names beforehand. */
export const splitByFile = (
  state: StepState,
  reason: string,
  now: number,
  briefWanted = state.edits.files.length > 1,
): StepState =>
  emit(within(state, 'edits', { combined: null, split: true, briefWanted }), now, {
    type: 'edit_split_triggered',
    reason,
    file_count: state.edits.files.length,
  });

// ------------------------------------------------------------------------------------------------------------------------ propose
export const spend = (state: StepState, usage: StepUsage): StepState => ({
  ...state,
  usage: state.usageFromJournal ? state.usage : addUsage(state.usage, usage),
});

/** The journal knows calls of which no activity told; a journal that knows fewer (another home's) does not take any back. */
export const onUsageCounted = (state: StepState, usage: StepUsage | null, now: number): StepState => {
  if (usage !== null) return usage.calls < state.usage.calls ? state : { ...state, usage, usageFromJournal: true };
  const message = 'usage: calls that were cut off could not be counted';
  return emit(state, now, { type: 'warning', message });
};

/** Of a file that goes nobody is asked: there is no call to tell of. */
const isGoing = ({ edits }: StepState, { file }: Chunk): boolean =>
  edits.files.some(({ path, deletes }) => deletes && path === file);

export function onChunkStarted(state: StepState, chunk: Chunk, now: number): StepState {
  const all = chunk.file === '*';
  const started = within(state, 'edits', { chunks: state.edits.chunks + 1 });
  const marked = withFiles(started, all ? 'all' : [chunk.file], (file) =>
    all && file.status !== 'pending' ? file : { ...file, status: 'in_progress' },
  );
  if (isGoing(state, chunk)) return marked;
  return emit(marked, now, {
    type: 'edit_chunk_started',
    file: chunk.file,
    // Which of the chunks, not which call: a chunk that is asked for again keeps its number.
    chunk_index: all ? 1 : state.edits.files.findIndex((file) => file.path === chunk.file) + 1,
    total_chunks: chunk.total,
  });
}

/** Changes what a chunk still goes through: a file's entry, or the whole step's. */
function retarget(state: StepState, { file: path }: Chunk, change: Partial<CallProgress>): StepState {
  if (path !== '*') return withFiles(state, [path], (file) => ({ ...file, ...change }));
  const { combined } = state.edits;
  return within(state, 'edits', { combined: combined === null ? null : { ...combined, ...change } });
}

/**
 * What came of a chunk, for each file that it was for. The call for all files stays where it failed: `retry` asks it again. A single
 * file keeps the fallback that its call reached.
 */
function onEach(state: StepState, chunk: Chunk, change: Partial<CallProgress>): StepState {
  if (chunk.file !== '*') return retarget(state, chunk, change);
  const { files, combined: asked } = state.edits;
  const { regeneration, attempts, format, outputBudget_tokens, model, note } = chunk.attempt;
  const own = files.length === 1 ? { attempts, format, outputBudget_tokens, model, note } : {};
  const combined = change.status === 'failed' && asked !== null ? { ...asked, ...change } : null;
  return withFiles(within(state, 'edits', { combined }), 'all', (file) =>
    isUnfinished(file) ? { ...file, ...own, regeneration: Math.max(file.regeneration, regeneration), ...change } : file,
  );
}

export function failChunk(
  state: StepState,
  chunk: Chunk,
  { reason, message }: NonNullable<CallProgress['failure']>,
  now: number,
): StepState {
  const failed = onEach(state, chunk, { status: 'failed', failure: { reason, message: cut(state, message) } });
  return emit(failed, now, {
    type: 'edit_chunk_failed',
    file: chunk.file,
    reason: cut(state, `${reason}: ${message}`),
  });
}

function onTruncated(
  state: StepState,
  chunk: Chunk,
  result: Extract<ProposeResult, { outcome: 'truncated' }>,
  now: number,
): StepState {
  const told = emit(state, now, {
    type: 'truncation_detected',
    file: chunk.file,
    reason: cut(state, result.reason),
    partialLength: result.partialLength,
    stopReason: result.stopReason,
  });
  const step = result.next;
  switch (step.kind) {
    case 'split': {
      return splitByFile(withFiles(told, 'all', waiting), 'truncated', now);
    }
    case 'budget':
    case 'format': {
      const format = step.kind === 'format' ? step.format : chunk.attempt.format;
      const to = step.kind === 'format' ? `format ${step.format}` : `output budget ${step.outputBudget_tokens} tokens`;
      const next = retarget(told, chunk, {
        status: 'pending',
        attempts: 0,
        unmarkedAsked: false,
        format,
        outputBudget_tokens: step.outputBudget_tokens,
        refusal: step.kind === 'format' ? null : chunk.attempt.refusal,
      });
      return emit(next, now, { type: 'fallback', file: chunk.file, to });
    }
    case 'regions': {
      const { format, outputBudget_tokens, region, to } = step;
      const fresh = { status: 'pending', attempts: 0, unmarkedAsked: false, refusal: null } as const;
      const next = retarget(told, chunk, { ...fresh, format, outputBudget_tokens, region });
      return emit(next, now, { type: 'fallback', file: chunk.file, to: cut(state, to) });
    }
    case 'exhausted':
      return failChunk(told, chunk, { reason: 'truncation', message: result.reason }, now);
  }
}

export function onRefusedAnswer(
  state: StepState,
  chunk: Chunk,
  result: Extract<ProposeResult, { outcome: 'invalid' | 'refused' | 'unmarked' }>,
  now: number,
): StepState {
  const attempt = chunk.attempt.attempts + 1;
  const told = emit(state, now, {
    type: 'answer_refused',
    file: chunk.file,
    outcome: result.outcome,
    attempt,
    message: cut(state, result.message),
  });
  const regeneration = chunk.attempt.regeneration + 1;
  if (result.outcome === 'unmarked') {
    // Asked once more the same way (no refusal told: the answer may be right), then a person decides.
    if (chunk.attempt.unmarkedAsked)
      return failChunk(told, chunk, { reason: 'unmarked', message: result.message }, now);
    return retarget(told, chunk, { status: 'pending', regeneration, unmarkedAsked: true });
  }
  const maxAttempts = state.base.limits?.maxAttemptsPerFile ?? 2;
  if (attempt < maxAttempts)
    return retarget(told, chunk, { status: 'pending', attempts: attempt, regeneration, refusal: result.refusal });
  // The whole step's attempts are spent: one call a file is the next fallback, with attempts of its own.
  if (chunk.file === '*' && state.edits.files.length > 1)
    return splitByFile(withFiles(told, 'all', waiting), result.outcome, now);
  return failChunk(told, chunk, { reason: 'attempts_exhausted', message: result.message }, now);
}

export interface Proposed {
  readonly chunk: Chunk;
  readonly result: ProposeResult;
}
export function onProposed(before: StepState, { chunk, result }: Proposed, now: number): StepState {
  if (result.outcome === 'model_unavailable') {
    const pending = { status: 'pending' } as const;
    const again = chunk.file === '*' ? withFiles(before, 'all', waiting) : retarget(before, chunk, pending);
    const counted = within(again, 'edits', { unanswered: before.edits.unanswered + 1 });
    return onModelDown(counted, result.down, chunk.file, now);
  }
  // Calls that were cut off are no sign of a model that is back.
  const state = result.outcome === 'call_lost' ? before : { ...before, ...answeredAgain(before, now) };
  const paid = within(spend(state, result.usage), 'edits', { calls: state.edits.calls + result.usage.calls });
  switch (result.outcome) {
    case 'edited':
    case 'unchanged': {
      // Chunks side by side start from the same heads: each takes their place with one of its own.
      const accepted = [...paid.edits.accepted.filter((head) => !chunk.heads.includes(head)), result.accepted];
      const next = onEach(within(paid, 'edits', { accepted }), chunk, { status: 'done', failure: null, refusal: null });
      return isGoing(state, chunk) ? next : emit(next, now, { type: 'edit_chunk_completed', file: chunk.file });
    }
    case 'region_done': {
      const { region, to } = result;
      const fresh = { status: 'pending', attempts: 0, unmarkedAsked: false, refusal: null } as const;
      const next = retarget(paid, chunk, { ...fresh, region });
      return emit(next, now, { type: 'fallback', file: chunk.file, to: cut(state, to) });
    }
    case 'needs_lines': {
      const { lines, to } = result;
      const regeneration = chunk.attempt.regeneration + 1;
      const next = retarget(paid, chunk, { status: 'pending', regeneration, linesAsked: lines });
      return emit(next, now, { type: 'fallback', file: chunk.file, to: cut(state, to) });
    }
    case 'truncated':
      return onTruncated(paid, chunk, result, now);
    case 'invalid':
    case 'refused':
    case 'unmarked':
      return onRefusedAnswer(paid, chunk, result, now);
    case 'declined':
    case 'prompt_cut':
    case 'call_lost':
      return failChunk(paid, chunk, { reason: result.outcome, message: result.message }, now);
  }
}
