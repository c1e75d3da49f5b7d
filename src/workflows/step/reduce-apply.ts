/** Facts from the sealed proposal to the commit. */
import { type Chunk, wantsCommit } from './effects.js';
import type {
  ApplyResult,
  CommitResult,
  ConflictFile,
  HeldLock,
  RebaseResult,
  RollbackResult,
  ProposalSummary,
  BuildProposalResult,
  VerifyResult,
} from '../../shared/proposal-activities.js';
import { failChunk, onRefusedAnswer } from './reduce-propose.js';
import type { StepState } from './state.js';
import { cut } from '../../shared/rules.js';
import { NO_USAGE } from '../../shared/usage.js';
import { afterApply, close, endOfWork, newBase, regenerable, regenerateAll, resolveReview } from './transitions.js';
import { asking } from '../frame/decision-state.js';
import { emit } from '../frame/log.js';

// ----------------------------------------------------------------------------------------------------------- seal, review, apply
/** A new proposal: verdicts on files whose base and result are the same stand. */
function onProposal(state: StepState, proposal: ProposalSummary, now: number): StepState {
  const next = { ...state, stage: 'review' as const, proposal };
  return resolveReview(
    emit(next, now, {
      type: 'sealed',
      proposal: proposal.id,
      file_count: proposal.files.length,
      added: proposal.files.reduce((sum, file) => sum + file.added, 0),
      removed: proposal.files.reduce((sum, file) => sum + file.removed, 0),
    }),
    now,
  );
}

export function onProposalBuilt(state: StepState, result: BuildProposalResult, now: number): StepState {
  switch (result.outcome) {
    case 'sealed':
      return onProposal(state, result.proposal, now);
    case 'empty': {
      const allSkipped = state.files.every((file) => file.status === 'skipped');
      return endOfWork(state, now, allSkipped ? 'skipped' : 'unchanged');
    }
    case 'refused': {
      const known = new Set(state.files.filter((file) => file.status === 'done').map((file) => file.path));
      const stranger = result.files.find((file) => !known.has(file.path));
      // Nothing that could be asked for again: sealing it again would go on for ever.
      if (result.files.length === 0 || stranger !== undefined) {
        const message = cut(state, `seal: ${stranger?.message ?? 'refused without a file'}`);
        return asking(state, 'engine_failed', message);
      }
      return result.files.reduce((next, refused) => {
        const entry = next.files.find((file) => file.path === refused.path);
        if (entry === undefined) return next;
        const chunk: Chunk = {
          file: entry.path,
          seq: next.chunksUsed,
          total: next.files.length,
          attempt: entry,
          heads: [],
        };
        // What a person wrote is never asked for again over their head.
        if (entry.manual)
          return failChunk(
            { ...next, stage: 'propose' },
            chunk,
            { reason: 'engine_failed', message: refused.message },
            now,
          );
        return onRefusedAnswer(
          { ...next, stage: 'propose' },
          chunk,
          { v: 1, usage: NO_USAGE, outcome: 'refused', ...refused },
          now,
        );
      }, state);
    }
  }
}

export function onApplied(before: StepState, result: ApplyResult, now: number): StepState {
  const state = { ...before, applying: null };
  const proposal = state.proposal;
  if (proposal === null) return state;
  switch (result.outcome) {
    case 'applied':
    case 'conflict': {
      const application = { proposal: proposal.ref, decision: state.approvalNumber, files: result.files };
      const applied = {
        ...state,
        busySince: null,
        busyTries: 0,
        busyAdvice: null,
        lease: lockAfter(state, result.lease),
        applications: result.files.length === 0 ? state.applications : [...state.applications, application],
      };
      const told = emit(applied, now, { type: 'applied', file_count: result.files.length, proposal: proposal.id });
      return result.outcome === 'applied'
        ? afterApply(told, now)
        : askConflict(told, { at: 'apply', conflicts: result.conflicts }, now);
    }
    case 'busy': {
      const { holder, advice } = result;
      const busyAdvice = advice ?? null;
      const busy = { ...state, busySince: state.busySince ?? now, busyTries: state.busyTries + 1, busyAdvice };
      // Told once, and again when there is something that a person can do about it.
      if (state.busyTries > 0 && (busyAdvice === null || busyAdvice === state.busyAdvice)) return busy;
      return emit(busy, now, { type: 'apply_busy', holder, ...(advice === undefined ? {} : { advice }) });
    }
    case 'base_changed':
      return askConflict(state, { at: 'apply', conflicts: result.conflicts }, now);
    case 'failed':
      return asking(state, 'engine_failed', cut(state, result.problem.message));
  }
}

/** The commit's parent is HEAD as it was at the first application; the lease that is held is the newest. */
const lockAfter = ({ applications, lease }: StepState, newest: HeldLock): HeldLock =>
  applications.length === 0 || lease === null ? newest : { ...lease, number: newest.number };

/** A reason that names its file already is not told the name twice. */
const withPath = ({ path, message }: { readonly path: string; readonly message: string }): string =>
  message.startsWith(path) ? message : `${path}: ${message}`;

interface Conflict {
  readonly at: 'apply' | 'commit' | 'rebase';
  readonly conflicts: readonly ConflictFile[];
  readonly reason?: 'conflict' | 'hook_changed';
}

function askConflict(state: StepState, { at, conflicts, reason = 'conflict' }: Conflict, now: number): StepState {
  const files = conflicts.map((conflict) => ({ path: conflict.path, reason, message: cut(state, conflict.why) }));
  const message = cut(state, files.map((file) => withPath(file)).join('; '));
  const told = emit(state, now, { type: 'conflict', files: files.map((file) => file.path), where: at });
  return { ...told, conflictAt: at, ask: { reason, message, files, subject: null } };
}

/**
 * What was found in the edit, and the rungs it needed, hold for the edit carried over: the reviewer sees them again, with the lines of
 * the merged file where its guard found them there, too.
 */
function withEarlierFindings(proposal: ProposalSummary, earlier: ProposalSummary | null): ProposalSummary {
  if (earlier === null) return proposal;
  const paths = new Set(proposal.files.map((file) => file.path));
  const again = new Set(proposal.findings.map(({ guard, path }) => `${guard} ${path}`));
  const still = earlier.findings.filter(({ guard, path }) => paths.has(path) && !again.has(`${guard} ${path}`));
  const findings = [...still, ...proposal.findings];
  return { ...proposal, findings, rungs: [...new Set([...earlier.rungs, ...proposal.rungs])] };
}

export function onRebased(state: StepState, result: RebaseResult, now: number): StepState {
  const told = emit({ ...state, rebaseFiles: null }, now, { type: 'rebased', clean: result.outcome !== 'conflict' });
  switch (result.outcome) {
    case 'sealed':
      return onProposal(told, withEarlierFindings(result.proposal, state.proposal), now);
    case 'empty':
      return endOfWork(told, now, 'unchanged');
    case 'conflict':
      return askConflict(told, { at: 'rebase', conflicts: result.conflicts }, now);
  }
}

// ------------------------------------------------------------------------------------------------------ verify, rollback, commit
export function onVerified(state: StepState, result: VerifyResult, now: number): StepState {
  const told = emit({ ...state, verification: result.outcome, rememberTest: null }, now, {
    type: 'verified',
    outcome: result.outcome,
    kind: result.kind,
    signature: result.signature,
    summary: cut(state, result.summary),
  });
  if (result.outcome === 'pass' || result.outcome === 'pass_with_warnings' || result.outcome === 'no_tests')
    return wantsCommit(told) ? { ...told, stage: 'commit', transientRetried: false } : close(told, now, 'applied');
  if (result.transient && !state.transientRetried) return { ...told, transientRetried: true };
  if (state.input.testsFailed === 'return') {
    const { kind, signature, output, suggestions = [] } = result;
    const failure = { kind, signature, output, summary: cut(state, result.summary), suggestions };
    return { ...told, stage: 'rollback', afterRollback: 'finish', outcome: 'tests_failed', problem: null, failure };
  }
  const failures = state.failedVerifications + 1;
  const again = result.signature !== null && result.signature === state.lastSignature;
  const spent = failures >= (state.limits?.maxFailedVerifications ?? 3);
  return {
    ...told,
    stage: 'rollback',
    transientRetried: false,
    failedVerifications: failures,
    lastSignature: result.signature,
    failureOutput: result.output,
    failedProposals: [...(state.failedProposals ?? []), ...(state.proposal === null ? [] : [state.proposal.id])],
    afterRollback: again || spent || regenerable(state).length === 0 ? 'ask' : 'regenerate',
    problem: null,
  };
}

export function onRolledBack(state: StepState, result: RollbackResult, now: number): StepState {
  // The branch had moved before the step was ended (its commit activity died after that): what is committed is not taken back.
  if (result.commit !== undefined) {
    const landed = { ...state, applying: null, lease: null, afterRollback: null, commit: result.commit };
    const note = 'the commit had been made before the files were to be put back';
    return close(emit(landed, now, { type: 'committed', commit: result.commit, note }), now, 'committed');
  }
  const back = { ...state, applications: [], applying: null, lease: null, afterRollback: null };
  const told = emit(back, now, {
    type: 'rolled_back',
    file_count: result.files.length,
    kept: result.kept.map((file) => file.path),
  });
  switch (state.afterRollback) {
    case 'ask':
      return asking({ ...told, stage: 'review' }, 'tests_failed', cut(state, lastSummary(state)));
    case 'regenerate':
      return regenerateAll(told, { refusal: state.failureOutput });
    case 'new_base':
      return newBase(told);
    case 'finish':
    case null:
      return close(told, now, state.outcome ?? 'aborted', state.problem);
  }
}

const lastSummary = (state: StepState): string => {
  const verified = state.events.filter((event) => event.type === 'verified').at(-1);
  return verified?.type === 'verified' ? verified.summary : 'the tests failed';
};

export function onCommitted(state: StepState, result: CommitResult, now: number): StepState {
  switch (result.outcome) {
    case 'committed': {
      const told = emit({ ...state, commit: result.commit }, now, {
        type: 'committed',
        commit: result.commit,
        note: result.note,
      });
      return close(told, now, 'committed');
    }
    case 'nothing':
      return close(state, now, 'unchanged');
    case 'conflict': {
      const { staged, reason } = result;
      const held = staged === undefined ? state : { ...state, staged };
      return askConflict(held, { at: 'commit', conflicts: [{ path: '(commit)', why: result.why }], reason }, now);
    }
    case 'failed':
      return asking(state, 'engine_failed', cut(state, result.problem.message));
  }
}
