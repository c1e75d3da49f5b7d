/** Facts up to the proposal: chunks, outcomes and fallbacks. */
import { answeredAgain } from '../../../../shared/outage.js';
import type { BuildProposalResult } from '../../../../shared/proposal-activities.js';
import { cut } from '../../../../shared/rules.js';
import type { FallbackStep, ProposeResult } from '../../../../shared/step-activities.js';
import { emit, onModelDown } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import { splitByFile, waiting, withFiles, withMade } from '../../ledger.js';
import type { Chunk, Proposed } from '../../protocol.js';
import {
  answersLeft,
  attemptsLeft,
  isUnfinished,
  mayRepair,
  unfinishedPaths,
} from '../../selectors.js';
import { spend } from '../../spending.js';
import type { CallProgress, Kept, StepState } from '../../state.js';

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

export function onProposed(
  before: StepState,
  { chunk: asked, result }: Proposed,
  now: number,
): StepState {
  if (result.outcome === 'model_unavailable')
    return onModelDown(unanswered(before, asked), result.down, asked.file, now);
  if (result.outcome === 'secret_found') return askAboutSecrets(unanswered(before, asked), result);
  // Calls that were cut off are no sign of a model that is back.
  const state =
    result.outcome === 'call_lost' ? before : { ...before, ...answeredAgain(before, now) };
  const answers = asked.attempt.answers + (result.outcome === 'region_done' ? 0 : 1);
  const chunk: Chunk = { ...asked, attempt: { ...asked.attempt, answers } };
  const calls = state.edits.calls + result.usage.calls;
  const told = withFiles(
    state,
    asked.file === '*' ? unfinishedPaths(state) : [asked.file],
    (file) => (file.deletes ? file : { ...file, answered: (file.answered ?? 0) + 1 }),
  );
  const paid = retarget(within(spend(told, result.usage), 'edits', { calls }), chunk, { answers });
  switch (result.outcome) {
    case 'edited':
    case 'unchanged': {
      const fits = {
        accepted: result.accepted,
        heads: chunk.heads,
        reason: result.reason,
        made: result.made,
      };
      const { repair } = result;
      // The same result a second time is meant.
      if (
        repair === undefined ||
        repair.result === chunk.attempt.kept?.result ||
        !mayRepair(state, chunk.attempt)
      )
        return accept(paid, chunk, fits, now);
      const attempt = { ...chunk.attempt, kept: { ...fits, result: repair.result } };
      return onRefusedAnswer(paid, { ...chunk, attempt }, { outcome: 'findings', ...repair }, now);
    }
    case 'region_done':
      return fallback(paid, chunk, { region: result.region, to: result.to }, now);
    case 'needs_lines': {
      const { lines, to } = result;
      if (answersLeft(state, chunk.attempt) <= 0)
        return onSpent(paid, chunk, { reason: 'attempts_exhausted', message: to }, now);
      const regeneration = chunk.attempt.regeneration + 1;
      const next = retarget(paid, chunk, { status: 'pending', regeneration, linesAsked: lines });
      return emit(next, now, {
        type: 'fallback',
        file: chunk.file,
        to: cut(state.input.rules, to),
      });
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
      return onSpent(paid, chunk, { reason: result.outcome, message: result.message }, now);
  }
}

/** No call was answered, or none was made: the same one is wanted again. */
function unanswered(state: StepState, chunk: Chunk): StepState {
  const pending = { status: 'pending' } as const;
  const again =
    chunk.file === '*' ? withFiles(state, 'all', waiting) : retarget(state, chunk, pending);
  return within(again, 'edits', { unanswered: state.edits.unanswered + 1 });
}

/** Calls side by side ask one question. */
function askAboutSecrets(
  state: StepState,
  { message, files }: Extract<ProposeResult, { outcome: 'secret_found' }>,
): StepState {
  const reason = 'secret_found';
  const found = files.map(
    (path) => ({ path, reason, message: cut(state.input.rules, message) }) as const,
  );
  const all = [...(state.ask?.files ?? []), ...found];
  const told = [...new Set(all.map((file) => file.message))].join('; ');
  return {
    ...state,
    ask: { reason, message: cut(state.input.rules, told), files: all, subject: null },
  };
}

function accept(
  state: StepState,
  chunk: Chunk,
  fits: Omit<Kept, 'result'>,
  now: number,
): StepState {
  const { accepted, heads, reason } = fits;
  // Chunks side by side start from the same heads: each takes their place with one of its own.
  const others = state.edits.accepted.filter((head) => !heads.includes(head));
  const isAnswered = !isGoing(state, chunk);
  const taken = within(state, 'edits', {
    accepted: accepted === null ? state.edits.accepted : [...others, accepted],
    hasSuccess: state.edits.hasSuccess || isAnswered,
  });
  const explanation = reason === undefined ? {} : { unchanged: cut(state.input.rules, reason) };
  const done = {
    status: 'done',
    failure: null,
    refusal: null,
    kept: null,
    unchanged: null,
  } as const;
  const next = withMade(
    onEach(taken, chunk, { ...done, ...explanation }),
    chunk.attempt,
    fits.made,
  );
  return isAnswered
    ? emit(next, now, { type: 'edit_chunk_completed', file: chunk.file, ...explanation })
    : next;
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
    reason: cut(state.input.rules, result.reason),
    partialLength: result.partialLength,
    stopReason: result.stopReason,
  });
  const step: FallbackStep =
    answersLeft(state, chunk.attempt) > 0 ? result.next : { kind: 'exhausted' };
  switch (step.kind) {
    case 'split':
      return chunk.attempt.kept === null
        ? splitByFile(withFiles(told, 'all', waiting), 'truncated', now)
        : accept(told, chunk, chunk.attempt.kept, now);
    case 'budget': {
      const { outputBudget_tokens } = step;
      const to = `output budget ${outputBudget_tokens} tokens`;
      return fallback(
        told,
        chunk,
        { outputBudget_tokens, refusal: chunk.attempt.refusal, to },
        now,
      );
    }
    case 'format': {
      const { format, outputBudget_tokens } = step;
      return fallback(told, chunk, { format, outputBudget_tokens, to: `format ${format}` }, now);
    }
    case 'regions': {
      const { format, outputBudget_tokens, region, to } = step;
      return fallback(told, chunk, { format, outputBudget_tokens, region, to }, now);
    }
    case 'exhausted':
      return onSpent(told, chunk, { reason: 'truncation', message: result.reason }, now);
  }
}

/** The next way to ask, with attempts of its own. */
function fallback(
  state: StepState,
  chunk: Chunk,
  { to, ...change }: Partial<CallProgress> & { readonly to: string },
  now: number,
): StepState {
  const fresh = { status: 'pending', attempts: 0, unmarkedAsked: false, refusal: null } as const;
  const next = retarget(state, chunk, { ...fresh, ...change });
  return emit(next, now, { type: 'fallback', file: chunk.file, to: cut(state.input.rules, to) });
}

type Refused = Omit<
  Extract<ProposeResult, { outcome: 'invalid' | 'refused' | 'unmarked' }>,
  'outcome' | 'usage'
> & {
  readonly outcome: 'invalid' | 'refused' | 'unmarked' | 'findings';
};

function onRefusedAnswer(
  state: StepState,
  chunk: Chunk,
  { outcome, message, refusal, repeated = false, next }: Refused,
  now: number,
): StepState {
  const { attempts, regeneration, unmarkedAsked, kept } = chunk.attempt;
  const told = emit(state, now, {
    type: 'answer_refused',
    file: chunk.file,
    outcome,
    attempt: attempts + 1,
    message: cut(state.input.rules, message),
  });
  const again = { status: 'pending', regeneration: regeneration + 1, kept } as const;
  const spent = answersLeft(state, chunk.attempt) <= 0;
  // Whether the model is asked for what was given, a person says.
  if (state.input.given !== undefined && regeneration === 1)
    return failChunk(told, chunk, { reason: 'attempts_exhausted', message }, now);
  if (outcome === 'unmarked') {
    // Asked once more the same way (no refusal told: the answer may be right), then a person decides.
    if (unmarkedAsked || spent) return onSpent(told, chunk, { reason: 'unmarked', message }, now);
    return retarget(told, chunk, { ...again, unmarkedAsked: true });
  }
  if (!spent && !repeated && attemptsLeft(state, chunk.attempt) > 1)
    return retarget(told, chunk, { ...again, attempts: attempts + 1, refusal });
  if (spent || kept !== null) {
    const why = spent
      ? `reached maxCallsPerFile with answer ${chunk.attempt.answers}: ${message}`
      : message;
    return onSpent(told, chunk, { reason: 'attempts_exhausted', message: why }, now);
  }
  // The whole step's attempts are spent: one call a file is the next fallback, with attempts of its own.
  if (chunk.file === '*' && state.edits.files.length > 1)
    return splitByFile(withFiles(told, 'all', waiting), outcome, now);
  if (next !== undefined)
    return fallback(
      told,
      chunk,
      { format: next, regeneration: regeneration + 1, to: `format ${next}` },
      now,
    );
  return failChunk(told, chunk, { reason: 'attempts_exhausted', message }, now);
}

/** No more answers are wanted: the last one that fits is taken with what was found in it, or a person is asked. */
function onSpent(
  state: StepState,
  chunk: Chunk,
  failure: NonNullable<CallProgress['failure']>,
  now: number,
): StepState {
  const { kept } = chunk.attempt;
  return kept === null ? failChunk(state, chunk, failure, now) : accept(state, chunk, kept, now);
}

export function failChunk(
  state: StepState,
  chunk: Chunk,
  { reason, message }: NonNullable<CallProgress['failure']>,
  now: number,
): StepState {
  const failed = onEach(state, chunk, {
    status: 'failed',
    failure: { reason, message: cut(state.input.rules, message) },
  });
  return emit(failed, now, {
    type: 'edit_chunk_failed',
    file: chunk.file,
    reason: cut(state.input.rules, `${reason}: ${message}`),
  });
}

/** A file that a build refused is asked for again, or its person is asked. */
export function askForEntry(
  before: StepState,
  refused: Extract<BuildProposalResult, { outcome: 'refused' }>['files'][number],
  now: number,
): StepState {
  const { files, chunks: seq } = before.edits;
  const entry = files.find((file) => file.path === refused.path);
  if (entry === undefined) return before;
  const state: StepState = { ...before, stage: { at: 'propose' } };
  const chunk: Chunk = { file: entry.path, seq, total: files.length, attempt: entry, heads: [] };
  // What a person wrote is never asked for again over their head.
  if (entry.manual)
    return failChunk(state, chunk, { reason: 'engine_failed', message: refused.message }, now);
  if (refused.findings !== true)
    return onRefusedAnswer(state, chunk, { outcome: 'refused', ...refused }, now);
  const attempt = { ...entry, kept: { accepted: null, heads: [], result: '' } };
  return onRefusedAnswer(state, { ...chunk, attempt }, { outcome: 'findings', ...refused }, now);
}

/** Changes what a chunk still goes through: a file's entry, or the whole step's. */
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
 * What came of a chunk, for each file that it was for. The call for all files stays where it failed: `retry` asks it again. A single
 * file keeps the fallback that its call reached.
 */
function onEach(state: StepState, chunk: Chunk, change: Partial<CallProgress>): StepState {
  if (chunk.file !== '*') return retarget(state, chunk, change);
  const { files, combined: asked } = state.edits;
  const { regeneration, attempts, answers, format, outputBudget_tokens, model, note } =
    chunk.attempt;
  const own = {
    answers,
    ...(files.length === 1 ? { attempts, format, outputBudget_tokens, model, note } : {}),
  };
  const combined = change.status === 'failed' && asked !== null ? { ...asked, ...change } : null;
  return withFiles(within(state, 'edits', { combined }), 'all', (file) =>
    isUnfinished(file)
      ? { ...file, ...own, regeneration: Math.max(file.regeneration, regeneration), ...change }
      : file,
  );
}
