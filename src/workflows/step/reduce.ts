/**
 * The one reducer of an edit step: facts (what an activity returned, what a person decided) in, the next state out. Pure and
 * deterministic: it runs inside the workflow, so ◆ a change of its outcomes for a kept history needs `patched`.
 */
import type { ActivityName } from '../../shared/activities.js';
import type { StepUsage } from '../../shared/usage.js';
import { abortStep, applyDecision } from './decide.js';
import type { Answer, Pause } from '../../shared/decisions.js';
import { pathsToApply, type Chunk } from './effects.js';
import { answeredAgain, waited } from '../../shared/outage.js';
import type {
  ApplyResult,
  CommitResult,
  NotYet,
  RebaseResult,
  RollbackResult,
  BuildProposalResult,
  VerifyOutcome,
} from '../../shared/proposal-activities.js';
import type { AuditResult } from '../../shared/audit-activities.js';
import type { BriefResult, PickResult, PreflightResult, TryResult } from '../../shared/step-activities.js';
import { onApplied, onCommitted, onRebased, onProposalBuilt, onVerified } from './reduce-apply.js';
import { onAudited, onRolledBack } from './reduce-verify.js';
import { onPreflight } from './reduce-preflight.js';
import { onTried } from './reduce-tests.js';
import { failChunk, onChunkStarted, onProposed, onUsageCounted, spend, type Proposed } from './reduce-propose.js';
import { asking, decisionId } from '../frame/decision-state.js';
import { isPart, type FileEntry, type StepState, type Verdict } from './state.js';
import { close, lookAgain, progressOf, resolveReview, withFiles } from './transitions.js';
import { emit, recordIgnored, noProgress, onModelDown, openDecision, tellFailed } from '../frame/log.js';
import { within, type ActivityFailed, type FrameFact } from '../frame/machine.js';
import { answersTo, cut } from '../../shared/rules.js';

export type Fact =
  | FrameFact
  | { readonly type: 'preflighted'; readonly result: PreflightResult }
  | { readonly type: 'picked'; readonly result: PickResult }
  | { readonly type: 'briefed'; readonly result: BriefResult }
  | { readonly type: 'chunk_started'; readonly chunk: Chunk }
  | ({ readonly type: 'proposed' } & Proposed)
  /** Usage of the whole step by the journal; null: it could not be counted. */
  | { readonly type: 'usage_counted'; readonly usage: StepUsage | null }
  | { readonly type: 'proposal_built'; readonly result: BuildProposalResult | NotYet }
  | { readonly type: 'approved_by_policy' }
  | { readonly type: 'applied'; readonly result: ApplyResult }
  | { readonly type: 'rebased'; readonly result: RebaseResult }
  | { readonly type: 'verified'; readonly result: VerifyOutcome | NotYet }
  | { readonly type: 'tried'; readonly result: TryResult | NotYet }
  | { readonly type: 'audited'; readonly result: AuditResult }
  /** The lock is ended. */
  | { readonly type: 'released' }
  | { readonly type: 'rolled_back'; readonly result: RollbackResult }
  | { readonly type: 'committed'; readonly result: CommitResult | NotYet }
  | (ActivityFailed & { readonly chunk: Chunk | null })
  | { readonly type: 'finished' };

// ---------------------------------------------------------------------------------------------------------------------- decisions
function onPaused(state: StepState, wanted: Pause, now: number): StepState {
  // Before the files are known nobody can have changed them by hand.
  const inPart = (state.proposal?.files ?? []).some((file) => (file.changes ?? 0) > 1);
  const offered: Partial<Record<Answer, boolean>> = {
    manual: state.base.ready !== null,
    // Before the proposal is built, where a formatter may take it up.
    run_once: state.stage.at !== 'propose',
    select: inPart,
    approve: wanted.reason === 'approval' || (isPart(state) && wanted.files.length > 0),
  };
  const answers = answersTo(state, wanted.reason).filter((answer) => offered[answer] ?? true);
  const proposalId = state.proposal?.id ?? null;
  return openDecision(state, wanted, now, { answers, proposalId, progress: progressOf(state) });
}

function onActivityFailed(state: StepState, fact: Extract<Fact, { type: 'activity_failed' }>, now: number): StepState {
  const told = tellFailed(state, fact, now);
  const message = cut(state, `${fact.activity}: ${fact.message}`);
  if (fact.chunk !== null) return failChunk(told, fact.chunk, { reason: fact.reason, message }, now);
  // A new base does not help what must be put back first.
  const reason = state.stage.at === 'roll_back' && fact.reason === 'blob_lost' ? 'engine_failed' : fact.reason;
  if (fact.activity !== 'applyProposal' || reason !== 'engine_failed' || state.proposal === null)
    return asking(told, reason, message);
  const uncertain = { proposal: state.proposal.ref, decision: state.applied.decision, files: pathsToApply(state) };
  return asking(within(told, 'applied', { uncertain }), reason, message);
}

/** The same move comes next: the wait was in the activity. */
const onNoTurn = (state: StepState, activity: ActivityName, now: number): StepState =>
  emit(state, now, { type: 'warning', message: `${activity} waits for its turn: commands of other runs are at work` });

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
      if (fact.result.outcome === 'failed' && fact.result.down !== undefined)
        return onModelDown(state, fact.result.down, 'pick', now);
      const paid = spend({ ...state, ...answeredAgain(state, now) }, fact.result.usage);
      if (fact.result.outcome === 'failed') {
        const { reason, message } = fact.result;
        return asking(paid, reason, cut(state, message));
      }
      const told = emit(paid, now, { type: 'files_picked', file_count: fact.result.paths.length });
      return lookAgain(within(told, 'base', { picked: fact.result.paths }), null);
    }
    case 'briefed': {
      if (fact.result.down !== undefined) return onModelDown(state, fact.result.down, 'brief', now);
      const { brief } = fact.result;
      const answered = spend({ ...state, ...answeredAgain(state, now) }, fact.result.usage);
      const paid = within(answered, 'edits', { brief, briefWanted: brief !== null });
      return fact.result.message === null
        ? emit(paid, now, { type: 'brief_ready' })
        : emit(paid, now, { type: 'warning', message: cut(state, fact.result.message) });
    }
    case 'chunk_started':
      return onChunkStarted(state, fact.chunk, now);
    case 'proposed':
      return onProposed(state, fact, now);
    case 'usage_counted':
      return onUsageCounted(state, fact.usage, now);
    case 'proposal_built':
      return fact.result.outcome === 'busy'
        ? onNoTurn(state, 'buildProposal', now)
        : onProposalBuilt(state, fact.result, now);
    case 'approved_by_policy':
      return resolveReview(
        emit(policyVerdict(state), now, {
          type: 'decided',
          decision: decisionId(state, state.proposal?.id),
          answer: 'approve',
          files: state.proposal?.files.length ?? 0,
          skipped: [],
          by: 'policy (approval: auto)',
        }),
        now,
      );
    case 'applied':
      return onApplied(state, fact.result, now);
    case 'waited': {
      const { stage } = state;
      const busy = stage.at === 'apply' && stage.busy !== null ? { ...stage.busy, waiting: false } : null;
      return { ...state, ...(busy === null ? {} : { stage: { at: 'apply', busy } }), ...waited(state, now) };
    }
    case 'rebased':
      return onRebased(state, fact.result, now);
    case 'verified':
      return fact.result.outcome === 'busy' ? onNoTurn(state, 'verify', now) : onVerified(state, fact.result, now);
    case 'tried':
      return onTried(state, fact.result, now);
    case 'audited':
      return onAudited(state, fact.result, now);
    case 'released':
      return close(state, now, 'applied');
    case 'rolled_back':
      return onRolledBack(state, fact.result, now);
    case 'committed':
      return fact.result.outcome === 'busy' ? onNoTurn(state, 'commit', now) : onCommitted(state, fact.result, now);
    case 'paused':
      return onPaused(state, fact.pause, now);
    case 'decided':
      return applyDecision(state, fact.request, now);
    case 'ignored':
      return recordIgnored(state, fact, now);
    case 'activity_failed':
      return onActivityFailed(state, fact, now);
    case 'no_progress':
      return asking(state, 'engine_failed', noProgress(fact.effects, state.stage.at));
    case 'abort': {
      const by = { name: fact.by, from: '' };
      const record = { answer: 'abort', files: [], note: null, by, at: now, requestId: '' } as const;
      return abortStep(state, record, now);
    }
    case 'finished':
      return state.stage.at === 'closed' ? state : close(state, now, 'failed');
  }
}
