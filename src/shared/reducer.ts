/**
 * The one reducer of an edit step: facts (what an activity returned, what a person decided) in, the next state out. Pure and
 * deterministic: it runs inside the workflow, so ◆ a change of its outcomes for a kept history needs `patched`.
 */
import { abortStep, applyDecision } from './decide.js';
import { decisionId, ANSWERS_BY_REASON, type DecisionRequest, type PauseReason } from './decisions.js';
import { BOUNDS } from './limits.js';
import { pathsToApply, type Chunk } from './moves.js';
import type {
  ApplyResult,
  BriefResult,
  CommitResult,
  PickResult,
  PreflightResult,
  ProposeResult,
  RebaseResult,
  RollbackResult,
  SealResult,
  StepUsage,
  VerifyResult,
} from './protocol.js';
import { onApplied, onCommitted, onRebased, onRolledBack, onSealed, onVerified } from './reduce-apply.js';
import { failChunk, onChunkStarted, onPreflight, onProposed, onTallied, spend } from './reduce-propose.js';
import type { Pause } from './decision-state.js';
import type { FileEntry, StepState, Verdict } from './state.js';
import { close, cut, emit, progressOf, settleReview, withFiles } from './transitions.js';

export type Fact =
  | { readonly type: 'preflighted'; readonly result: PreflightResult }
  | { readonly type: 'picked'; readonly result: PickResult }
  | { readonly type: 'briefed'; readonly result: BriefResult }
  | { readonly type: 'chunk_started'; readonly chunk: Chunk }
  /** `everyCall`: calls of the chunk that were cut off count against `maxTotalChunks` too. */
  | { readonly type: 'proposed'; readonly chunk: Chunk; readonly result: ProposeResult; readonly everyCall?: boolean }
  /** Usage of the whole step by the journal; null: it could not be counted. */
  | { readonly type: 'tallied'; readonly usage: StepUsage | null }
  | { readonly type: 'sealed'; readonly result: SealResult }
  | { readonly type: 'approved_by_policy' }
  | { readonly type: 'applied'; readonly result: ApplyResult }
  | { readonly type: 'waited' }
  | { readonly type: 'rebased'; readonly result: RebaseResult }
  | { readonly type: 'verified'; readonly result: VerifyResult }
  | { readonly type: 'rolled_back'; readonly result: RollbackResult }
  | { readonly type: 'committed'; readonly result: CommitResult }
  | { readonly type: 'paused'; readonly pause: Pause }
  | { readonly type: 'decided'; readonly request: DecisionRequest }
  | { readonly type: 'ignored'; readonly what: string; readonly why: string }
  | {
      readonly type: 'activity_failed';
      readonly activity: string;
      readonly chunk: Chunk | null;
      readonly reason: PauseReason;
      readonly message: string;
    }
  | { readonly type: 'abort'; readonly by: string }
  | { readonly type: 'finished' };

// ---------------------------------------------------------------------------------------------------------------------- decisions
function onPaused(state: StepState, wanted: Pause, now: number): StepState {
  const n = state.nextDecision;
  const proposalId = state.proposal?.id ?? null;
  const id = decisionId(n, state.input.stepKey, proposalId);
  // Before the files are known nobody can have changed them by hand.
  const inPart = (state.proposal?.files ?? []).some((file) => (file.changes ?? 0) > 1);
  const answers = ANSWERS_BY_REASON[wanted.reason].filter((answer) =>
    answer === 'manual' ? state.preflight !== null : answer !== 'select' || inPart,
  );
  const opened: StepState = {
    ...state,
    ask: null,
    nextDecision: n + 1,
    decision: {
      id,
      n,
      reason: wanted.reason,
      message: wanted.message,
      files: wanted.files,
      accepts: [...answers, 'abort'],
      proposalId,
      answered: {},
      openedAt: now,
      subject: wanted.subject,
    },
  };
  return emit(opened, now, {
    type: 'edit_step_paused',
    reason: wanted.reason,
    progress: progressOf(state),
    decision: id,
  });
}

function onActivityFailed(state: StepState, fact: Extract<Fact, { type: 'activity_failed' }>, now: number): StepState {
  const told = emit(state, now, { type: 'activity_failed', activity: fact.activity, message: cut(fact.message) });
  if (fact.chunk !== null) return failChunk(told, fact.chunk, fact.reason, fact.message, now);
  const message = cut(`${fact.activity}: ${fact.message}`);
  // A new base does not help what must be put back first.
  const reason = state.stage === 'rollback' && fact.reason === 'blob_lost' ? 'engine_failed' : fact.reason;
  const applying =
    fact.activity === 'apply' && reason === 'engine_failed' && state.proposal !== null
      ? { proposal: state.proposal.ref, decision: state.approvalNumber, files: pathsToApply(state) }
      : state.applying;
  return { ...told, applying, ask: { reason, message, files: [], subject: null } };
}

const policyVerdict = (state: StepState): StepState => {
  const n = state.nextDecision;
  const keys = new Map((state.proposal?.files ?? []).map((file) => [file.path, file.key]));
  const approved = withFiles({ ...state, nextDecision: n + 1 }, [...keys.keys()], (file): FileEntry => {
    const key = keys.get(file.path) ?? '';
    const standing = file.verdict?.key === key;
    const verdict: Verdict = { answer: 'approve', decision: n, key };
    return standing ? file : { ...file, verdict };
  });
  return approved;
};

/** Folds one fact into the state. `now` is workflow time, ms since the epoch. */
export function reduce(state: StepState, fact: Fact, now: number): StepState {
  switch (fact.type) {
    case 'preflighted':
      return onPreflight(state, fact.result, now);
    case 'picked': {
      const paid = spend(state, fact.result.usage);
      if (fact.result.outcome === 'failed') {
        const { reason, message } = fact.result;
        return { ...paid, ask: { reason, message: cut(message), files: [], subject: null } };
      }
      const told = emit(paid, now, { type: 'files_picked', file_count: fact.result.paths.length });
      return { ...told, stage: 'preflight', picked: fact.result.paths, snapshotNumber: state.snapshotNumber + 1 };
    }
    case 'briefed': {
      const paid = {
        ...spend(state, fact.result.usage),
        brief: fact.result.brief,
        briefWanted: fact.result.brief !== null,
      };
      return fact.result.message === null
        ? emit(paid, now, { type: 'brief_ready' })
        : emit(paid, now, { type: 'warning', message: cut(fact.result.message) });
    }
    case 'chunk_started':
      return onChunkStarted(state, fact.chunk, now);
    case 'proposed':
      return onProposed(state, fact, now);
    case 'tallied':
      return onTallied(state, fact.usage, now);
    case 'sealed':
      return onSealed(state, fact.result, now);
    case 'approved_by_policy':
      return settleReview(
        emit(policyVerdict(state), now, {
          type: 'decided',
          decision: decisionId(state.nextDecision, state.input.stepKey, state.proposal?.id ?? null),
          answer: 'approve',
          files: state.proposal?.files.length ?? 0,
          by: 'policy (approval: auto)',
        }),
        now,
      );
    case 'applied':
      return onApplied(state, fact.result, now);
    case 'waited':
      return { ...state, busySince: null };
    case 'rebased':
      return onRebased(state, fact.result, now);
    case 'verified':
      return onVerified(state, fact.result, now);
    case 'rolled_back':
      return onRolledBack(state, fact.result, now);
    case 'committed':
      return onCommitted(state, fact.result, now);
    case 'paused':
      return onPaused(state, fact.pause, now);
    case 'decided':
      return applyDecision(state, fact.request, now);
    case 'ignored':
      return emit(
        { ...state, ignored: [...state.ignored, cut(`${fact.what}: ${fact.why}`)].slice(-BOUNDS.ignoredKept) },
        now,
        {
          type: 'decision_ignored',
          what: cut(fact.what),
          why: cut(fact.why),
        },
      );
    case 'activity_failed':
      return onActivityFailed(state, fact, now);
    case 'abort': {
      const by = { name: fact.by, from: '' };
      return abortStep(state, { answer: 'abort', files: [], note: null, by, at: now, requestId: '' }, now);
    }
    case 'finished':
      return state.outcome === null ? close(state, now, 'failed') : state;
  }
}
