/** Responses of the model: what each leads to, and the fallbacks of a response that cannot be taken. */
import { answeredAgain } from '../../../../shared/outage.js';
import type { BuildProposalResult } from '../../../../shared/proposal-activities.js';
import { cut } from '../../../../shared/rules.js';
import type { FallbackStep, ProposeResult } from '../../../../shared/step-activities.js';
import { emit, onModelDown } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import { pending, splitByFile, withFiles, withMade } from '../../ledger.js';
import type { Chunk, Facts } from '../../protocol.js';
import {
  answersLeft,
  attemptsLeft,
  isUnfinished,
  mayRepair,
  unfinishedPaths,
} from '../../selectors.js';
import { spend } from '../../spending.js';
import type { CallProgress, Kept, StepState } from '../../state.js';

/** Returns whether the job deletes the file. Such a chunk makes no call, so no event reports one. */
const isDeletion = ({ edits }: StepState, { file }: Chunk): boolean =>
  edits.files.some(({ path, deletes }) => deletes && path === file);

/** Counts the chunk and reports its start. */
export function onChunkStarted(state: StepState, chunk: Chunk, currentTime_ms: number): StepState {
  const all = chunk.file === '*';
  const started = within(state, 'edits', { chunks: state.edits.chunks + 1 });
  const marked = withFiles(started, all ? 'all' : [chunk.file], (file) =>
    all && file.status !== 'pending' ? file : { ...file, status: 'in_progress' },
  );
  if (isDeletion(state, chunk)) return marked;
  return emit(marked, currentTime_ms, {
    type: 'edit_chunk_started',
    file: chunk.file,
    // The number of the file among all. It is the same when the file is asked for again.
    chunk_index: all ? 1 : state.edits.files.findIndex((file) => file.path === chunk.file) + 1,
    total_chunks: chunk.total,
  });
}

/** Takes up what came of a chunk. A call without a response is made again, and is not counted. */
export function onProposed(
  before: StepState,
  { chunk: call, result }: Facts['proposed'],
  currentTime_ms: number,
): StepState {
  if (result.outcome === 'model_unavailable')
    return onModelDown(unanswered(before, call), result.down, call.file, currentTime_ms);
  if (result.outcome === 'secret_found') return askAboutSecrets(unanswered(before, call), result);
  // A call that was cut off does not show that a model is back.
  const state =
    result.outcome === 'call_lost'
      ? before
      : { ...before, ...answeredAgain(before, currentTime_ms) };
  const answers = call.attempt.answers + (result.outcome === 'region_done' ? 0 : 1);
  const chunk: Chunk = { ...call, attempt: { ...call.attempt, answers } };
  return onResponse(withResponse(state, chunk, result), chunk, result, currentTime_ms);
}

/** The result of a call that a model answered. */
type Response = Exclude<ProposeResult, { outcome: 'model_unavailable' | 'secret_found' }>;

/** Counts the response, for the files that it is about, and what it cost. */
function withResponse(state: StepState, chunk: Chunk, { usage }: Response): StepState {
  const paths = chunk.file === '*' ? unfinishedPaths(state) : [chunk.file];
  const counted = withFiles(state, paths, (file) =>
    file.deletes ? file : { ...file, answered: (file.answered ?? 0) + 1 },
  );
  const calls = state.edits.calls + usage.calls;
  const { answers } = chunk.attempt;
  return retarget(within(spend(counted, usage), 'edits', { calls }), chunk, { answers });
}

function onResponse(
  state: StepState,
  chunk: Chunk,
  result: Response,
  currentTime_ms: number,
): StepState {
  switch (result.outcome) {
    case 'edited':
    case 'unchanged':
      return onEdit(state, chunk, result, currentTime_ms);
    case 'region_done':
      return fallback(state, chunk, { region: result.region, to: result.to }, currentTime_ms);
    case 'needs_lines':
      return onLinesNeeded(state, chunk, result, currentTime_ms);
    case 'truncated':
      return onTruncated(state, chunk, result, currentTime_ms);
    case 'invalid':
    case 'refused':
    case 'unmarked':
      return onRefusedResponse(state, chunk, result, currentTime_ms);
    case 'declined':
    case 'prompt_cut':
    case 'call_lost': {
      const failure = { reason: result.outcome, message: result.message };
      return onSpent(state, chunk, failure, currentTime_ms);
    }
  }
}

/** Accepts an edit. If guards found something in it, the model is asked once whether it means that: the same result a second time is meant. */
function onEdit(
  state: StepState,
  chunk: Chunk,
  {
    accepted,
    reason,
    made: newFiles,
    repair,
  }: Extract<Response, { outcome: 'edited' | 'unchanged' }>,
  currentTime_ms: number,
): StepState {
  const { attempt, heads } = chunk;
  const edit = { accepted, heads, reason, made: newFiles };
  const isMeant = repair === undefined || repair.result === attempt.kept?.result;
  if (isMeant || !mayRepair(state, attempt)) return accept(state, chunk, edit, currentTime_ms);
  const kept = { ...edit, result: repair.result };
  return onRefusedResponse(
    state,
    { ...chunk, attempt: { ...attempt, kept } },
    { outcome: 'findings', ...repair },
    currentTime_ms,
  );
}

/** Asks again with the lines that the model needs. */
function onLinesNeeded(
  state: StepState,
  chunk: Chunk,
  { lines, to }: Extract<Response, { outcome: 'needs_lines' }>,
  currentTime_ms: number,
): StepState {
  const { attempt, file } = chunk;
  if (answersLeft(state, attempt) <= 0)
    return onSpent(state, chunk, { reason: 'attempts_exhausted', message: to }, currentTime_ms);
  const regeneration = attempt.regeneration + 1;
  const nextState = retarget(state, chunk, { status: 'pending', regeneration, linesAsked: lines });
  return emit(nextState, currentTime_ms, {
    type: 'fallback',
    file,
    to: cut(state.input.rules, to),
  });
}

/** Makes the chunk pending again: no call was made, or none was answered. */
function unanswered(state: StepState, chunk: Chunk): StepState {
  const nextState =
    chunk.file === '*'
      ? withFiles(state, 'all', pending)
      : retarget(state, chunk, { status: 'pending' });
  return within(nextState, 'edits', { unanswered: state.edits.unanswered + 1 });
}

/** Asks about secrets in the files of this call, together with those of calls side by side. */
function askAboutSecrets(
  state: StepState,
  { message, files }: Extract<ProposeResult, { outcome: 'secret_found' }>,
): StepState {
  const reason = 'secret_found';
  const secretFiles = files.map(
    (path) => ({ path, reason, message: cut(state.input.rules, message) }) as const,
  );
  const all = [...(state.ask?.files ?? []), ...secretFiles];
  const sentences = [...new Set(all.map((file) => file.message))].join('; ');
  return {
    ...state,
    ask: { reason, message: cut(state.input.rules, sentences), files: all, subject: null },
  };
}

/** Takes the edit as the result of the chunk. */
function accept(
  state: StepState,
  chunk: Chunk,
  { accepted, heads, reason, made: newFiles }: Omit<Kept, 'result'>,
  currentTime_ms: number,
): StepState {
  // Chunks side by side start from the same heads, and each replaces these by its own.
  const others = state.edits.accepted.filter((head) => !heads.includes(head));
  const isResponse = !isDeletion(state, chunk);
  const taken = within(state, 'edits', {
    accepted: accepted === null ? state.edits.accepted : [...others, accepted],
    hasSuccess: state.edits.hasSuccess || isResponse,
  });
  const explanation = reason === undefined ? {} : { unchanged: cut(state.input.rules, reason) };
  const done = onEach(taken, chunk, {
    status: 'done',
    failure: null,
    refusal: null,
    kept: null,
    unchanged: null,
    ...explanation,
  });
  const nextState = withMade(done, chunk.attempt, newFiles);
  if (!isResponse) return nextState;
  return emit(nextState, currentTime_ms, {
    type: 'edit_chunk_completed',
    file: chunk.file,
    ...explanation,
  });
}

/** Takes the next fallback of a response that was cut off. */
function onTruncated(
  state: StepState,
  chunk: Chunk,
  result: Extract<ProposeResult, { outcome: 'truncated' }>,
  currentTime_ms: number,
): StepState {
  const nextState = emit(state, currentTime_ms, {
    type: 'truncation_detected',
    file: chunk.file,
    reason: cut(state.input.rules, result.reason),
    partialLength: result.partialLength,
    stopReason: result.stopReason,
  });
  const step: FallbackStep =
    answersLeft(state, chunk.attempt) > 0 ? result.next : { kind: 'exhausted' };
  switch (step.kind) {
    case 'split':
      return chunk.attempt.kept === null
        ? splitByFile(withFiles(nextState, 'all', pending), 'truncated', currentTime_ms)
        : accept(nextState, chunk, chunk.attempt.kept, currentTime_ms);
    case 'budget': {
      const { outputBudget_tokens } = step;
      const to = `output budget ${outputBudget_tokens} tokens`;
      return fallback(
        nextState,
        chunk,
        { outputBudget_tokens, refusal: chunk.attempt.refusal, to },
        currentTime_ms,
      );
    }
    case 'format': {
      const { format, outputBudget_tokens } = step;
      return fallback(
        nextState,
        chunk,
        { format, outputBudget_tokens, to: `format ${format}` },
        currentTime_ms,
      );
    }
    case 'regions': {
      const { format, outputBudget_tokens, region, to } = step;
      return fallback(
        nextState,
        chunk,
        { format, outputBudget_tokens, region, to },
        currentTime_ms,
      );
    }
    case 'exhausted':
      return onSpent(
        nextState,
        chunk,
        { reason: 'truncation', message: result.reason },
        currentTime_ms,
      );
  }
}

/** Asks in the next way, which has attempts of its own. */
function fallback(
  state: StepState,
  chunk: Chunk,
  { to, ...change }: Partial<CallProgress> & { readonly to: string },
  currentTime_ms: number,
): StepState {
  const fresh = { status: 'pending', attempts: 0, unmarkedAsked: false, refusal: null } as const;
  const nextState = retarget(state, chunk, { ...fresh, ...change });
  return emit(nextState, currentTime_ms, {
    type: 'fallback',
    file: chunk.file,
    to: cut(state.input.rules, to),
  });
}

/** A response that cannot be taken, or whose findings the model is asked about. */
type Refusal = Omit<
  Extract<ProposeResult, { outcome: 'invalid' | 'refused' | 'unmarked' }>,
  'outcome' | 'usage'
> & {
  readonly outcome: 'invalid' | 'refused' | 'unmarked' | 'findings';
};

function onRefusedResponse(
  state: StepState,
  chunk: Chunk,
  refusal: Refusal,
  currentTime_ms: number,
): StepState {
  const { attempt, file } = chunk;
  const { outcome, message, repeated = false } = refusal;
  const nextState = emit(state, currentTime_ms, {
    type: 'answer_refused',
    file,
    outcome,
    attempt: attempt.attempts + 1,
    message: cut(state.input.rules, message),
  });
  // The first response came with the job. The reviewer decides whether a model is asked.
  if (state.input.given !== undefined && attempt.regeneration === 1)
    return failChunk(nextState, chunk, { reason: 'attempts_exhausted', message }, currentTime_ms);
  if (outcome === 'unmarked') return onUnmarked(nextState, chunk, message, currentTime_ms);
  const mayAskAgain = answersLeft(state, attempt) > 0 && attemptsLeft(state, attempt) > 1;
  if (!mayAskAgain || repeated) return onAttemptsSpent(nextState, chunk, refusal, currentTime_ms);
  return retarget(nextState, chunk, {
    ...nextRequest(attempt),
    attempts: attempt.attempts + 1,
    refusal: refusal.refusal,
  });
}

const nextRequest = ({ regeneration, kept }: CallProgress) =>
  ({ status: 'pending', regeneration: regeneration + 1, kept }) as const;

/** Asks once more in the same way, without a refusal, as the response may be right. Then the reviewer decides. */
function onUnmarked(
  state: StepState,
  chunk: Chunk,
  message: string,
  currentTime_ms: number,
): StepState {
  const { attempt } = chunk;
  if (attempt.unmarkedAsked || answersLeft(state, attempt) <= 0)
    return onSpent(state, chunk, { reason: 'unmarked', message }, currentTime_ms);
  return retarget(state, chunk, { ...nextRequest(attempt), unmarkedAsked: true });
}

/** Falls back to one call for each file, then to the next format. Each has attempts of its own. */
function onAttemptsSpent(
  state: StepState,
  chunk: Chunk,
  { outcome, message, next: format }: Refusal,
  currentTime_ms: number,
): StepState {
  const { attempt, file } = chunk;
  const reason = 'attempts_exhausted';
  if (answersLeft(state, attempt) <= 0) {
    const limit = `reached maxCallsPerFile with answer ${attempt.answers}: ${message}`;
    return onSpent(state, chunk, { reason, message: limit }, currentTime_ms);
  }
  if (attempt.kept !== null) return onSpent(state, chunk, { reason, message }, currentTime_ms);
  if (file === '*' && state.edits.files.length > 1)
    return splitByFile(withFiles(state, 'all', pending), outcome, currentTime_ms);
  if (format === undefined) return failChunk(state, chunk, { reason, message }, currentTime_ms);
  const regeneration = attempt.regeneration + 1;
  return fallback(state, chunk, { format, regeneration, to: `format ${format}` }, currentTime_ms);
}

/** Takes the last response that fits, with its findings, as no more calls are made. If none fits, the chunk has failed. */
function onSpent(
  state: StepState,
  chunk: Chunk,
  failure: NonNullable<CallProgress['failure']>,
  currentTime_ms: number,
): StepState {
  const { kept } = chunk.attempt;
  return kept === null
    ? failChunk(state, chunk, failure, currentTime_ms)
    : accept(state, chunk, kept, currentTime_ms);
}

/** Ends the chunk without an edit. */
export function failChunk(
  state: StepState,
  chunk: Chunk,
  { reason, message }: NonNullable<CallProgress['failure']>,
  currentTime_ms: number,
): StepState {
  const failed = onEach(state, chunk, {
    status: 'failed',
    failure: { reason, message: cut(state.input.rules, message) },
  });
  return emit(failed, currentTime_ms, {
    type: 'edit_chunk_failed',
    file: chunk.file,
    reason: cut(state.input.rules, `${reason}: ${message}`),
  });
}

/** A file whose edit the build refused. */
export type RefusedFile = Extract<BuildProposalResult, { outcome: 'refused' }>['files'][number];

/** Asks the model again for a file that the build refused. A file that was edited by hand is asked about instead. */
export function askForEntry(
  before: StepState,
  refused: RefusedFile,
  currentTime_ms: number,
): StepState {
  const { files, chunks: seq } = before.edits;
  const entry = files.find((file) => file.path === refused.path);
  if (entry === undefined) return before;
  const state: StepState = { ...before, stage: { at: 'propose' } };
  const chunk: Chunk = { file: entry.path, seq, total: files.length, attempt: entry, heads: [] };
  if (entry.manual)
    return failChunk(
      state,
      chunk,
      { reason: 'engine_failed', message: refused.message },
      currentTime_ms,
    );
  if (refused.findings !== true)
    return onRefusedResponse(state, chunk, { outcome: 'refused', ...refused }, currentTime_ms);
  const attempt = { ...entry, kept: { accepted: null, heads: [], result: '' } };
  return onRefusedResponse(
    state,
    { ...chunk, attempt },
    { outcome: 'findings', ...refused },
    currentTime_ms,
  );
}

/** Changes the progress of the call: that of one file, or that of all files. */
function retarget(
  state: StepState,
  { file: path }: Chunk,
  change: Partial<CallProgress>,
): StepState {
  if (path !== '*') return withFiles(state, [path], (file) => ({ ...file, ...change }));
  const { combined } = state.edits;
  return within(state, 'edits', {
    combined: combined === null ? null : { ...combined, ...change },
  });
}

/**
 * Changes each file that the chunk was for. If the call for all files failed, it is kept, so that `retry` makes it again. The entry of a
 * single file takes over the fallback that its call reached.
 */
function onEach(state: StepState, chunk: Chunk, change: Partial<CallProgress>): StepState {
  if (chunk.file !== '*') return retarget(state, chunk, change);
  const { files, combined: call } = state.edits;
  const { regeneration, attempts, answers, format, outputBudget_tokens, model, note } =
    chunk.attempt;
  const progress = {
    answers,
    ...(files.length === 1 ? { attempts, format, outputBudget_tokens, model, note } : {}),
  };
  const combined = change.status === 'failed' && call !== null ? { ...call, ...change } : null;
  return withFiles(within(state, 'edits', { combined }), 'all', (file) =>
    isUnfinished(file)
      ? { ...file, ...progress, regeneration: Math.max(file.regeneration, regeneration), ...change }
      : file,
  );
}
