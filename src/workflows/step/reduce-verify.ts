/** What a model's audit and a failed verification lead to, what a person answers to doubts, and what comes after a rollback. Pure. */
import { within } from '../frame/machine.js';
import { emit, onModelDown } from '../frame/log.js';
import { asking } from '../frame/decision-state.js';
import type { DecisionPoint, DecisionRequest } from '../../shared/decisions.js';
import type { AuditResult } from '../../shared/step-activities.js';
import { auditText } from '../../shared/audit.js';
import type { RollbackResult } from '../../shared/proposal-activities.js';
import type { Failure } from '../../shared/failure.js';
import { answeredAgain } from '../../shared/outage.js';
import { cut } from '../../shared/rules.js';
import { resolveCombined } from './decide-conflict.js';
import { wantsAudit, wantsCommit } from './effects.js';
import { spend } from './reduce-propose.js';
import { answersLeft, auditOf, type AfterRollback, type StepState } from './state.js';
import {
  close,
  newBase,
  regenerateAll,
  regenerateWith,
  toRegenerate,
  toReview,
} from './transitions.js';

export function onAudited(state: StepState, result: AuditResult, now: number): StepState {
  if (result.outcome === 'failed' && result.down !== undefined)
    return onModelDown(state, result.down, 'audit', now);
  const paid = spend({ ...state, ...answeredAgain(state, now) }, result.usage);
  if (result.outcome === 'failed')
    return asking(paid, result.reason, cut(state.input.rules, `audit: ${result.message}`));
  const { report, refusal: output } = result;
  const { proposal } = paid;
  // A reviewer sees what the auditor found where guards' findings are.
  const reviewed =
    proposal === null
      ? null
      : { ...proposal, findings: [...proposal.findings, ...report.findings] };
  const told = emit({ ...paid, audit: { ...auditOf(paid), report }, proposal: reviewed }, now, {
    type: 'audited',
    ...report,
  });
  const summary = cut(state.input.rules, `the audit: ${auditText(report)}`);
  switch (report.verdict) {
    case 'fail_hard': {
      const failed = within(told, 'tests', { last: report.verdict });
      return onFailedVerification(
        failed,
        { kind: 'audit', signature: null, output, summary, suggestions: [] },
        now,
      );
    }
    case 'fail_soft':
      return asking(within(told, 'tests', { output }), 'audit', summary);
    default:
      return afterAudit(told, now);
  }
}

function afterAudit(state: StepState, now: number): StepState {
  if (wantsAudit(state, 'before_approval')) return toReview(state, now);
  return { ...state, stage: { at: wantsCommit(state) ? 'commit' : 'release' } };
}

export function resolveAudit(state: StepState, request: DecisionRequest, now: number): StepState {
  switch (request.answer) {
    case 'keep':
      return afterAudit(state, now);
    case 'revise':
      return rollBack(state, { do: 'regenerate', note: request.note ?? null }, now);
    default:
      return resolveCombined(state, request, now);
  }
}

/** `retry` where answers could not be used wants a new one; a recorded answer that was not read yet is still wanted. */
export function auditAnew(
  state: StepState,
  { reason }: DecisionPoint,
  { answer }: DecisionRequest,
): StepState {
  const stands = ['engine_failed', 'model_unavailable', 'workspace_unreachable', 'budget'].includes(
    reason,
  );
  if (state.stage.at !== 'audit' || answer !== 'retry' || stands) return state;
  const audit = auditOf(state);
  return { ...state, audit: { ...audit, regeneration: audit.regeneration + 1 } };
}

/** What was verified is put back and asked for again, told why; or whoever decides is asked. */
export function onFailedVerification(told: StepState, failure: Failure, now: number): StepState {
  const { tests, proposal, input } = told;
  const { kind, signature, output } = failure;
  if (input.testsFailed === 'return') {
    const then = { do: 'finish', outcome: 'tests_failed', problem: null } as const;
    return rollBack(within(told, 'tests', { failure }), then, now);
  }
  const failures = tests.failures + 1;
  const again = signature !== null && signature === tests.signature;
  const spent = failures >= (told.base.limits?.maxFailedVerifications ?? 3);
  const tested = proposal === null || kind === 'audit' ? [] : [proposal.id];
  const failedProposals = [...tests.failedProposals, ...tested];
  const wanted = toRegenerate(told);
  const usedUp = told.edits.files.some(
    (file) => wanted.includes(file.path) && answersLeft(told, file) <= 0,
  );
  const asks = again || spent || usedUp || wanted.length === 0;
  const counted = within(told, 'tests', { failures, signature, output, failedProposals });
  return rollBack(counted, { do: asks ? 'ask' : 'regenerate' }, now);
}

/** Before it is applied there is nothing to put back. */
const rollBack = (state: StepState, then: AfterRollback, now: number): StepState =>
  state.applied.all.length === 0 && state.applied.uncertain === null
    ? afterRollback(state, then, now)
    : { ...state, stage: { at: 'roll_back', then } };

export function onRolledBack(state: StepState, result: RollbackResult, now: number): StepState {
  const { stage } = state;
  // The branch had moved before the step was ended (its commit activity died after that): what is committed is not taken back.
  if (result.commit !== undefined) {
    const committed = {
      ...within(state, 'applied', { uncertain: null, lock: null }),
      commit: result.commit,
    };
    const note = 'the commit had been made before the files were to be put back';
    return close(
      emit(committed, now, { type: 'committed', commit: result.commit, note }),
      now,
      'committed',
    );
  }
  const told = emit(within(state, 'applied', { all: [], uncertain: null, lock: null }), now, {
    type: 'rolled_back',
    file_count: result.files.length,
    leftAlone: result.leftAlone.map((file) => file.path),
  });
  return stage.at === 'roll_back'
    ? afterRollback(told, stage.then, now)
    : close(told, now, 'aborted');
}

function afterRollback(state: StepState, then: AfterRollback, now: number): StepState {
  switch (then.do) {
    case 'ask':
      return asking(
        { ...state, stage: { at: 'review' } },
        'tests_failed',
        cut(state.input.rules, lastSummary(state)),
      );
    case 'regenerate':
      return then.note === undefined
        ? regenerateAll(state, { refusal: state.tests.output })
        : regenerateWith(state, then.note);
    case 'new_base':
      return newBase(state);
    case 'apply':
      return { ...state, stage: { at: 'apply', busy: null } };
    case 'finish':
      return close(state, now, then.outcome, then.problem);
  }
}

const lastSummary = (state: StepState): string => {
  const last = state.events.filter(({ type }) => type === 'verified' || type === 'audited').at(-1);
  if (last?.type === 'audited') return `the audit: ${auditText(last)}`;
  return last?.type === 'verified' ? last.summary : 'the tests failed';
};
