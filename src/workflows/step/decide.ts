/** What a person's decision does to the step. Which decisions count is in shared/validate-decision.ts. Pure. */
import {
  type Answer,
  type DecisionPoint,
  type DecisionRecord,
  type DecisionRequest,
  isOfTheRest,
  namedFiles,
} from '../../shared/decisions.js';
import type { LimitName, Limits } from '../../shared/limits.js';
import { defaultChunks, isLimitName } from '../../shared/rules.js';
import { answerOf } from '../../shared/validate-decision.js';
import {
  decidedBy,
  recordOf,
  resolvedBy,
  seenWith,
  testsBy,
  tryNow,
} from '../frame/decisions/answering.js';
import { waitsForHost } from '../frame/decisions/state.js';
import { emit } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { askAgain, asManual, splitByFile, withFiles } from './ledger.js';
import { moved } from './move.js';
import { testsOfProposal, unfinishedPaths, withMakers } from './selectors.js';
import { asksOverEstimate } from './spending.js';
import { resolveConflict } from './stages/apply.js';
import { lookFor, takePicked, trustConfiguration } from './stages/preflight.js';
import { askFailedAgain, callSettings, resolveFailed } from './stages/propose/failures.js';
import { resolveRunaway } from './stages/propose/index.js';
import { anew, chosen, withConsent } from './stages/review.js';
import { auditAnew, resolveAudit } from './stages/verify/audit.js';
import { resolveBase } from './stages/verify/base.js';
import { resolveTestsFailed } from './stages/verify/tests.js';
import type { FileEntry, StepState, Verdict } from './state.js';
import {
  asLeft,
  endAfterRollback,
  endWithoutHost,
  newBase,
  resolveCombined,
  resolveReview,
} from './ways.js';

/** Folds a request that counts (see `validateDecision`) into the state. */
export const applyDecision = (state: StepState, request: DecisionRequest, now: number): StepState =>
  reportSkipped(state, takeAnswer(state, request, now));

function takeAnswer(state: StepState, request: DecisionRequest, now: number): StepState {
  const open = state.decision;
  const seen = { ...state, seenRequests: seenWith(state, request.requestId) };
  if (request.answer === 'abort') return abortStep(seen, recordOf(request, now), now);
  if (open === null) return tryNow(seen, request, now);
  const unanswered = open.files
    .map((file) => file.path)
    .filter((path) => answerOf(open, path) === undefined);
  const wanted = namedFiles(request);
  const named = wanted === undefined ? null : new Set(wanted);
  const files = named === null ? unanswered : unanswered.filter((path) => named.has(path));
  const taken = isOfTheRest(open, request.answer) ? (state.proposal?.files ?? []) : files;
  const told = emit(seen, now, decidedBy(request, open.id, taken.length));
  const answered = {
    ...open.answered,
    ...Object.fromEntries(files.map((path) => [path, request.answer])),
  };
  const complete = open.files.every((file) => Object.hasOwn(answered, file.path));
  const records = [...state.pendingRecords, recordOf(request, now, files)];
  const set = withSettings(mayExceedEstimate(told, request), open, request);
  const effected = onward(perFile(set, open, request, files), now);
  if (!complete && !state.input.rules.wholeAnswers.includes(request.answer))
    return { ...effected, decision: { ...open, answered }, pendingRecords: records };
  const closed = { ...effected, ...resolvedBy(state, open, records, now) };
  const resolved = emit(closed, now, {
    type: 'decision_resolved',
    decision: open.id,
    reason: open.reason,
  });
  return resolve(resolved, { ...open, answered }, request, now);
}

/** Names in the `decided` event what the decision left out: without a worker only events tell what became of a file. */
const reportSkipped = (before: StepState, after: StepState): StepState => {
  const open = new Set(
    before.edits.files.filter((file) => file.status !== 'skipped').map((file) => file.path),
  );
  const skipped = after.edits.files.filter(
    (file) => file.status === 'skipped' && open.has(file.path),
  );
  if (skipped.length === 0) return after;
  const paths = skipped.map((file) => file.path);
  const events = after.events.map((event) =>
    event.type === 'decided' && event.seq >= before.nextSeq ? { ...event, skipped: paths } : event,
  );
  return { ...after, events };
};

/** Raises limits and takes settings; `retry` at a reached limit without a number raises it by as much again. */
function withSettings(state: StepState, open: DecisionPoint, request: DecisionRequest): StepState {
  const said = Object.entries(request.set ?? {}).filter(
    ([name, value]) => isLimitName(state.input.rules, name) && typeof value === 'number',
  );
  const { base, edits } = state;
  if (base.limits === null)
    return within(state, 'base', { early: { ...base.early, ...Object.fromEntries(said) } });
  const limits: Record<LimitName, number | null> = { ...base.limits, ...Object.fromEntries(said) };
  const reached = open.subject;
  // Answered file by file, it is raised once.
  const isFirstRetry = !Object.values(open.answered).includes('retry');
  if (
    isFirstRetry &&
    request.answer === 'retry' &&
    reached !== null &&
    isLimitName(state.input.rules, reached)
  ) {
    const most = defaultChunks(state.input.rules, edits.files.length);
    // What cannot be counted is not limited any more, whatever the answer sets.
    if (reached === 'budget_usd' && state.usage.usd === null) limits[reached] = null;
    else if (request.set?.[reached] === undefined) {
      const fallback = reached === 'budget_usd' ? (base.budget?.usd ?? most) : most;
      limits[reached] = (limits[reached] ?? fallback) + (base.ready?.limits[reached] ?? fallback);
    }
  }
  return within(state, 'base', { limits: limits satisfies Limits });
}

const ORDERS_CALLS: ReadonlySet<Answer> = new Set(['retry', 'revise', 'regenerate']);

/** An answer that orders calls although the run is over its estimate lets it continue: it is not asked for the estimate right after that. */
const mayExceedEstimate = (state: StepState, { answer }: DecisionRequest): StepState =>
  ORDERS_CALLS.has(answer) && asksOverEstimate(state)
    ? { ...state, answered: { ...state.answered, overEstimate: true } }
    : state;

/** Ends the step, whatever it does or waits for; an open decision is resolved by it. */
export function abortStep(state: StepState, record: DecisionRecord, now: number): StepState {
  const open = state.decision;
  const by = record.by.from === '' ? record.by.name : `${record.by.name} (${record.by.from})`;
  const closed =
    open === null ? {} : resolvedBy(state, open, [...state.pendingRecords, record], now);
  const told = emit({ ...state, ...closed, abortedBy: by, ask: null }, now, {
    type: 'abort_requested',
    by,
  });
  return waitsForHost(state) ? endWithoutHost(told, now) : endAfterRollback(told, now, 'aborted');
}

/** A call for all files goes on only while it is for all of them; after answers for some, the rest is asked for file by file. */
function onward(state: StepState, now: number): StepState {
  const { combined, files } = state.edits;
  if (combined === null) return state;
  const wanted = unfinishedPaths(state);
  if (wanted.length === files.length) return state;
  if (wanted.length > 0) return splitByFile(state, 'answered by file', now, wanted.length > 1);
  return files.some((file) => file.status === 'failed')
    ? state
    : within(state, 'edits', { combined: null });
}

/** What an answer does to the files it names, at once: the first verdict on a file stands. */
function perFile(
  state: StepState,
  open: DecisionPoint,
  request: DecisionRequest,
  files: readonly string[],
): StepState {
  // Where its tests failed, too, their output says more than the change alone.
  const tested = testsOfProposal(state);
  const rejected =
    (tested?.signature == null ? null : tested.output) ?? state.proposal?.diff ?? null;
  const keys = new Map((state.proposal?.files ?? []).map((file) => [file.path, file.key]));
  const verdict = (file: FileEntry, answer: Verdict['answer']): FileEntry => ({
    ...file,
    status: answer === 'skip' ? 'skipped' : file.status,
    verdict: {
      answer,
      decision: open.n,
      key: keys.get(file.path) ?? '',
      ...(request.by.from === 'policy' ? { isAutomatic: true as const } : {}),
    },
  });
  const change: Partial<Record<Answer, (file: FileEntry) => FileEntry>> = {
    // Of failed files: those that are done are approved, and these are left out.
    approve: (file) =>
      isOfTheRest(open, 'approve') ? { ...file, status: 'skipped' } : verdict(file, 'approve'),
    skip: (file) =>
      open.reason === 'approval' ? verdict(file, 'skip') : { ...file, status: 'skipped' },
    take_theirs: (file) => ({ ...file, status: 'skipped' }),
    select: (file) =>
      chosen(
        file,
        state.proposal,
        new Map(Object.entries(request.select ?? {})).get(file.path) ?? null,
      ),
    revise: (file) => askAgain(file, { ...callSettings(request), refusal: rejected }),
    manual: asManual,
    // The host is back: the same answer is wanted, not a new one.
    wait: (file) =>
      file.status === 'failed' ? { ...file, status: 'pending', failure: null } : file,
  };
  if (request.answer === 'retry') {
    const reached = open.files.length === 0 ? unfinishedPaths(state) : files;
    return askFailedAgain(state, reached, request);
  }
  const effect = change[request.answer];
  if (effect === undefined) return state;
  if (isOfTheRest(open, request.answer))
    return withFiles(withFiles(state, files, effect), [...keys.keys()], (file) =>
      verdict(file, 'approve'),
    );
  const revised = request.answer === 'revise' ? withMakers(state, files) : files;
  return withFiles(state, revised, effect);
}

/** Every file of the decision has its answer: what follows. */
function resolve(
  state: StepState,
  open: DecisionPoint,
  request: DecisionRequest,
  now: number,
): StepState {
  const answers = new Set(Object.values(open.answered));
  switch (open.reason) {
    case 'tests_changed_files':
      if (request.answer === 'adopt') return asLeft(state);
      return request.answer === 'skip' ? resolveCombined(state, request, now) : state;
    case 'baseline': {
      const resolved = resolveBase(state, open, request);
      // Whoever answers retry changed something, which may be what the sandbox shows.
      return request.answer === 'retry'
        ? { ...resolved, sandbox: { ...state.sandbox, reread: true } }
        : resolved;
    }
    case 'sandbox_unavailable':
    case 'sandbox_blocks_tests': {
      if (request.answer === 'skip') return resolveCombined(state, request, now);
      const told = resolveBase(state, open, request);
      if (request.answer === 'retry')
        return { ...told, sandbox: { ...state.sandbox, reread: true } };
      const without = request.answer === 'run_once' ? 'once' : 'run';
      return { ...told, sandbox: { ...state.sandbox, without } };
    }
    case 'pick':
    case 'nothing_found': {
      if (answers.has('retry'))
        return lookFor(state, request.note === undefined ? [] : [request.note]);
      const taken = open.files.filter(({ path }) => answerOf(open, path) === 'take');
      if (taken.length === 0) return endAfterRollback(state, now, 'skipped');
      return takePicked(
        state,
        taken.map(({ path, message }) => ({ path, why: message })),
        now,
      );
    }
    case 'configuration':
      return request.answer === 'trust' ? trustConfiguration(state) : state;
    case 'secret_found':
      return request.answer === 'mask' || request.answer === 'send'
        ? { ...state, secrets: request.answer }
        : state;
    case 'approval':
      if (answers.has('revise')) return { ...anew(state, open), stage: { at: 'propose' } };
      if (answers.has('select')) return { ...anew(state, open), stage: { at: 'build' } };
      return resolveReview(withConsent(state, request), now);
    case 'conflict':
    case 'hook_changed':
      return resolveConflict(state, open, request, now);
    case 'tests_failed':
      return resolveTestsFailed(state, open, request, now);
    case 'audit':
      return resolveAudit(state, request, now);
    case 'test_command':
      return {
        ...within(state, 'tests', testsBy(request, open.subject, state.base.ready?.test.from)),
        answered: { ...state.answered, tests: true },
      };
    case 'runaway':
      return resolveRunaway(state, request, now);
    case 'estimate':
      return resolveCombined(
        { ...state, answered: { ...state.answered, estimate: true } },
        request,
        now,
      );
    case 'workspace_unreachable':
      return request.answer === 'move' ? moved(state, request, now) : state;
    case 'blob_lost': {
      // What was picked is kept; an answer that was lost while picking is asked for anew.
      const anew = within(state, 'base', { pickRegeneration: state.base.pickRegeneration + 1 });
      // The files as they are now hold what was applied: the new base is the one from before.
      return anew.applied.all.length > 0 && anew.commit === null
        ? { ...anew, stage: { at: 'roll_back', then: { do: 'new_base' } } }
        : newBase(anew);
    }
    default:
      // Failed files and limits: decided per file, or for the step where no file is named.
      return open.files.length === 0
        ? resolveCombined(auditAnew(state, open, request), request, now)
        : resolveFailed(state, answers, request, now);
  }
}
