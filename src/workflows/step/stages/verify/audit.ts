/** Has a model audit the change, and takes up the answers to its doubts. */
import { auditText } from '../../../../shared/audit.js';
import type { DecisionPoint, DecisionRequest } from '../../../../shared/decisions.js';
import { answeredAgain, outageEffect } from '../../../../shared/outage.js';
import { cut } from '../../../../shared/rules.js';
import type { AuditResult } from '../../../../shared/step-activities.js';
import { asking } from '../../../frame/decisions/asking.js';
import { emit, onModelDown } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import type { Effect } from '../../protocol.js';
import { auditOf, wantsAudit, wantsCommit } from '../../selectors.js';
import { spend, spendingPause } from '../../spending.js';
import type { StepState } from '../../state.js';
import { resolveCombined, rollBack, toReview } from '../../ways.js';
import { onFailedVerification, testsBeforeApproval } from './tests.js';

/** An audit of a proposal is paid for only after its tests, if they run before the approval. */
export function auditEffect(state: StepState, currentTime_ms: number): Effect {
  const tests = wantsAudit(state, 'before_approval') ? testsBeforeApproval(state) : null;
  return (
    tests ??
    spendingPause(state, currentTime_ms) ??
    outageEffect(state, currentTime_ms) ?? { kind: 'audit', calls: auditCalls(state) }
  );
}

/** Answers that may be asked for until one is an audit. */
function auditCalls({ base: { limits }, usage }: StepState): number {
  const left = (limits?.budget_calls ?? Infinity) - usage.calls;
  return Math.max(1, Math.min(limits?.maxAttemptsPerFile ?? 2, left));
}

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
