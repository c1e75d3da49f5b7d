/** Decisions of people: which count (`judge`, used by the update's validator and by the signals), and what each does. Pure. */
import {
  ANSWER_MEANS,
  WHOLE_ANSWERS,
  type Answer,
  type DecideOutcome,
  type DecisionPoint,
  type DecisionRecord,
  type DecisionRequest,
} from './decisions.js';
import { BOUNDS, LIMITS, type LimitName, type Limits } from './limits.js';
import type { FileEntry, StepState, Verdict } from './state.js';
import { askAgain, emit, endAfterRollback, endOfWork, regenerateAll, settleReview, withFiles } from './transitions.js';

export type Judgement =
  | { readonly counts: true }
  /** Was counted before: nothing to do. */
  | { readonly counts: false; readonly again: true; readonly message: string }
  | { readonly counts: false; readonly again: false; readonly message: string };

const no = (message: string): Judgement => ({ counts: false, again: false, message });
const again = (message: string): Judgement => ({ counts: false, again: true, message });

const isLimitName = (name: string): name is LimitName => Object.hasOwn(LIMITS, name);

function judgeSettings(request: DecisionRequest): string | null {
  for (const [name, value] of Object.entries(request.set ?? {})) {
    if (name === 'model' || name === 'command') {
      if (typeof value !== 'string' || value.trim() === '')
        return `set.${name} must be a text, got ${JSON.stringify(value)}`;
      continue;
    }
    if (!isLimitName(name)) return `set.${name} is not a limit; limits are: ${Object.keys(LIMITS).join(', ')}`;
    const { min, max, unit } = LIMITS[name];
    if (typeof value !== 'number' || !Number.isFinite(value) || value < min || value > max)
      return `set.${name} must be a number of ${unit} from ${min} to ${max}, got ${JSON.stringify(value)}`;
  }
  return null;
}

function judgeSettled(state: StepState, request: DecisionRequest): Judgement | null {
  const past = state.settled.find((decision) => decision.id === request.decision);
  if (past === undefined) return null;
  const wanted = request.files === undefined ? null : [...request.files].sort().join('\0');
  const same = past.answers.some(
    (record) =>
      record.answer === request.answer &&
      (wanted === null ? past.answers.length === 1 : [...record.files].sort().join('\0') === wanted),
  );
  const words = past.answers.map((record) => `${record.answer} by ${record.by.name}`).join(', ');
  return same
    ? again(`decision ${past.id} was settled already: ${words}`)
    : no(`decision ${past.id} is settled: ${words}`);
}

/** Does this request count now? The first verdict on a file stands; an approval names the proposal it was made for. */
export function judge(state: StepState, request: DecisionRequest): Judgement {
  if (state.seenRequests.includes(request.requestId)) return again('this request was counted already');
  const settled = judgeSettled(state, request);
  if (settled !== null) return settled;
  if (state.stage === 'closed') return no(`the run has ended: ${state.outcome ?? 'done'}`);
  const open = state.decision;
  if (request.answer === 'abort' && request.decision === '') return { counts: true };
  if (open === null) return no('no decision is open; see `emend show`');
  if (request.decision !== open.id) {
    const older = open.proposalId !== null ? ' (an answer counts only for the proposal it names)' : '';
    return no(`decision ${request.decision} is not open; open is ${open.id}${older}`);
  }
  if (!open.accepts.includes(request.answer))
    return no(`${request.answer} is no answer to ${open.reason}; answers are: ${open.accepts.join(', ')}`);
  if ((request.note ?? '').length > BOUNDS.note_bytes)
    return no(`the note is longer than ${BOUNDS.note_bytes} characters`);
  if (request.answer === 'revise' && (request.note ?? '').trim() === '')
    return no('revise needs a note that says what to change');
  if (request.answer === 'other' && typeof request.set?.command !== 'string') return no('other needs set.command');
  const settings = judgeSettings(request);
  if (settings !== null) return no(settings);
  return judgeFiles(open, request);
}

function judgeFiles(open: DecisionPoint, request: DecisionRequest): Judgement {
  const named = request.files;
  if (named === undefined) return { counts: true };
  if (named.length === 0) return no('files is empty; leave it out to answer for all files');
  if (WHOLE_ANSWERS.includes(request.answer) || open.files.length === 0)
    return no(`${request.answer} takes no files here`);
  const known = new Set(open.files.map((file) => file.path));
  const stranger = named.find((path) => !known.has(path));
  if (stranger !== undefined)
    return no(
      `${stranger} is not in this decision; files are: ${open.files
        .map((file) => file.path)
        .slice(0, 20)
        .join(', ')}`,
    );
  const clash = named.find((path) => open.answered[path] !== undefined && open.answered[path] !== request.answer);
  if (clash !== undefined)
    return no(`${clash} has its answer already: ${open.answered[clash] ?? ''}; the first one stands`);
  if (named.every((path) => open.answered[path] === request.answer))
    return again('these files have this answer already');
  return { counts: true };
}

/** What the caller of an accepted update is told; call it on the state after the decision was folded. */
export function outcomeOf(before: StepState, after: StepState, request: DecisionRequest): DecideOutcome {
  const id = request.decision === '' ? (before.decision?.id ?? 'abort') : request.decision;
  if (after.decision?.id === id) {
    const left = after.decision.files.filter((file) => after.decision?.answered[file.path] === undefined).length;
    return { outcome: 'recorded', decision: id, message: `${request.answer} recorded; ${left} files still wait` };
  }
  return { outcome: 'settled', decision: id, message: `${request.answer}: ${ANSWER_MEANS[request.answer]}` };
}

const recordOf = (request: DecisionRequest, files: readonly string[], now: number): DecisionRecord => ({
  answer: request.answer,
  files,
  note: request.note ?? null,
  by: request.by,
  at: now,
  requestId: request.requestId,
});

/** Raises limits and takes settings; `retry` at a reached limit without a number raises it by as much again. */
function withSettings(state: StepState, open: DecisionPoint, request: DecisionRequest): StepState {
  if (state.limits === null) return state;
  const limits: Record<LimitName, number | null> = { ...state.limits };
  for (const [name, value] of Object.entries(request.set ?? {}))
    if (isLimitName(name) && typeof value === 'number') limits[name] = value;
  const reached = open.subject;
  if (request.answer === 'retry' && reached !== null && isLimitName(reached) && request.set?.[reached] === undefined) {
    const now = limits[reached] ?? Math.max(10, 2 * state.files.length);
    limits[reached] = now + (state.preflight?.limits[reached] ?? Math.max(10, 2 * state.files.length));
  }
  return { ...state, limits: limits satisfies Limits };
}

/** Folds a request that counts (see `judge`) into the state. */
export function applyDecision(state: StepState, request: DecisionRequest, now: number): StepState {
  const open = state.decision;
  const seen = { ...state, seenRequests: [...state.seenRequests, request.requestId].slice(-200) };
  if (request.answer === 'abort') return abort(seen, request, now);
  if (open === null) return seen;
  const unanswered = open.files.map((file) => file.path).filter((path) => open.answered[path] === undefined);
  const files = request.files === undefined ? unanswered : request.files.filter((path) => unanswered.includes(path));
  const told = emit(seen, now, {
    type: 'decided',
    decision: open.id,
    answer: request.answer,
    files: files.length,
    by: `${request.by.name} (${request.by.from})`,
  });
  const answered = { ...open.answered, ...Object.fromEntries(files.map((path) => [path, request.answer])) };
  const complete = open.files.every((file) => answered[file.path] !== undefined);
  const records = [...state.pendingRecords, recordOf(request, files, now)];
  const set = withSettings(told, open, request);
  const effected = perFile(set, open, request, files);
  if (!complete && !WHOLE_ANSWERS.includes(request.answer))
    return { ...effected, decision: { ...open, answered }, pendingRecords: records };
  return settle(
    emit(
      {
        ...effected,
        decision: null,
        pendingRecords: [],
        pausedFor_ms: state.pausedFor_ms + (now - open.openedAt),
        settled: [
          ...state.settled,
          {
            id: open.id,
            n: open.n,
            reason: open.reason,
            proposalId: open.proposalId,
            answers: records,
            openedAt: open.openedAt,
            settledAt: now,
          },
        ],
      },
      now,
      { type: 'decision_settled', decision: open.id, reason: open.reason },
    ),
    { ...open, answered },
    request,
    now,
  );
}

function abort(state: StepState, request: DecisionRequest, now: number): StepState {
  const by = `${request.by.name} (${request.by.from})`;
  const told = emit({ ...state, abortedBy: by, decision: null, ask: null }, now, { type: 'abort_requested', by });
  return endAfterRollback(told, now, 'aborted');
}

/** What an answer does to the files it names, at once: the first verdict on a file stands. */
function perFile(state: StepState, open: DecisionPoint, request: DecisionRequest, files: readonly string[]): StepState {
  const model = typeof request.set?.model === 'string' ? { model: request.set.model } : {};
  const budget =
    typeof request.set?.outputBudget_tokens === 'number'
      ? { outputBudget_tokens: request.set.outputBudget_tokens }
      : {};
  const note = request.note === undefined ? {} : { note: request.note };
  const keys = new Map((state.proposal?.files ?? []).map((file) => [file.path, file.key]));
  const verdict = (file: FileEntry, answer: Verdict['answer']): FileEntry => ({
    ...file,
    status: answer === 'skip' ? 'skipped' : file.status,
    verdict: { answer, decision: open.n, key: keys.get(file.path) ?? '' },
  });
  const change: Partial<Record<Answer, (file: FileEntry) => FileEntry>> = {
    approve: (file) => verdict(file, 'approve'),
    skip: (file) => (open.reason === 'approval' ? verdict(file, 'skip') : { ...file, status: 'skipped' }),
    take_theirs: (file) => ({ ...file, status: 'skipped' }),
    revise: (file) => askAgain(file, { ...model, ...budget, ...note, refusal: state.proposal?.diff ?? null }),
    // At a limit the files were not asked yet: their next answer is the first one, not a new one.
    retry: (file) =>
      file.status === 'failed'
        ? askAgain(file, { ...model, ...budget, ...note })
        : { ...file, ...model, ...budget, ...note },
    manual: (file) => ({ ...file, status: 'done', manual: true, failure: null, verdict: null }),
  };
  const effect = change[request.answer];
  return effect === undefined ? state : withFiles(state, files, effect);
}

/** Every file of the decision has its answer: what follows. */
function settle(state: StepState, open: DecisionPoint, request: DecisionRequest, now: number): StepState {
  const answers = new Set(Object.values(open.answered));
  switch (open.reason) {
    case 'approval':
      return answers.has('revise') ? { ...state, stage: 'propose', proposal: null } : settleReview(state, now);
    case 'conflict':
    case 'hook_changed':
      return settleConflict(state, open, request, now);
    case 'tests_failed':
      return settleTestsFailed(state, open, request, now);
    case 'test_command':
      return settleTestCommand(state, open, request);
    case 'estimate':
      return settleWhole({ ...state, estimateAnswered: true }, request, now);
    case 'workspace_unreachable':
      return state;
    case 'blob_lost':
      return {
        ...withFiles(state, 'all', (file) => askAgain(file)),
        stage: 'preflight',
        snapshotNumber: state.snapshotNumber + 1,
        snapshotOnly: null,
        accepted: [],
        proposal: null,
      };
    default:
      // Failed files and limits: decided per file, or for the step where no file is named.
      return open.files.length === 0 ? settleWhole(state, request, now) : state;
  }
}

/** `retry`, `manual` and `skip` where a decision is about the step as a whole. */
function settleWhole(state: StepState, request: DecisionRequest, now: number): StepState {
  if (request.answer === 'skip')
    return endAfterRollback(
      withFiles(state, 'all', (file) => ({ ...file, status: 'skipped' })),
      now,
      'skipped',
    );
  if (request.answer === 'manual')
    return {
      ...withFiles(state, 'all', (file) => ({ ...file, status: 'done', manual: true, failure: null })),
      stage: 'seal',
    };
  return state;
}

function settleConflict(state: StepState, open: DecisionPoint, request: DecisionRequest, now: number): StepState {
  const theirs = open.files.map((file) => file.path);
  if (state.conflictAt === 'commit') {
    if (request.answer === 'rebase') return { ...state, ontoCurrent: open.n, conflictAt: null };
    const after = request.answer === 'regenerate' ? ('new_base' as const) : ('finish' as const);
    return {
      ...state,
      stage: 'rollback',
      afterRollback: after,
      outcome: after === 'finish' ? 'skipped' : null,
      conflictAt: null,
    };
  }
  const answered = (answer: Answer): readonly string[] => theirs.filter((path) => open.answered[path] === answer);
  const regenerate = answered('regenerate');
  // Anew from the files as they are; a file to be rebased beside them is found in conflict again, with the new proposal.
  if (regenerate.length > 0)
    return {
      ...state,
      stage: 'preflight',
      snapshotNumber: state.snapshotNumber + 1,
      snapshotOnly: regenerate,
      proposal: null,
      conflictAt: null,
    };
  const rebase = answered('rebase');
  if (rebase.length > 0)
    return { ...state, stage: 'rebase', rebaseFiles: rebase, approvalNumber: open.n, conflictAt: null };
  const left = settleReview({ ...state, stage: 'review', conflictAt: null }, now);
  return left.stage === 'review' ? endOfWork(left, now, 'skipped') : left;
}

function settleTestsFailed(state: StepState, open: DecisionPoint, request: DecisionRequest, now: number): StepState {
  const fresh = { ...state, failedVerifications: 0, lastSignature: null };
  switch (request.answer) {
    case 'revise':
      return regenerateAll(fresh, { note: request.note ?? null, refusal: state.failureOutput });
    case 'keep':
      return { ...state, stage: 'apply', approvalNumber: open.n, incomplete: true };
    default:
      return settleWhole(fresh, request, now);
  }
}

function settleTestCommand(state: StepState, open: DecisionPoint, request: DecisionRequest): StepState {
  const command = request.answer === 'other' ? request.set?.command : open.subject;
  if (request.answer === 'no_tests' || typeof command !== 'string')
    return { ...state, testAnswered: true, testCommands: [] };
  return {
    ...state,
    testAnswered: true,
    testCommands: [command],
    rememberTest: request.answer === 'run' ? command : null,
  };
}
