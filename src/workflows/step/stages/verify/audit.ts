/** Audits: has a model judge the change, and takes up the answer to its doubts. */
import { auditText } from '../../../../shared/audit.js';
import type { PauseReason } from '../../../../shared/decisions.js';
import { answeredAgain, outageEffect } from '../../../../shared/outage.js';
import { cut } from '../../../../shared/rules.js';
import type { AuditResult } from '../../../../shared/step-activities.js';
import { asking } from '../../../frame/decisions/asking.js';
import { emit, onModelDown } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import type { Effect, Resolution } from '../../protocol.js';
import { auditOf, wantsAudit, wantsCommit } from '../../selectors.js';
import { spend, spendingPause } from '../../spending.js';
import type { StepState } from '../../state.js';
import { resolveWhole, rollBack, toReview } from '../../ways.js';
import { onFailedVerification, testsBeforeApproval } from './tests.js';

/** Returns the audit, or what must come before it. An audit of a proposal is paid for only after the tests that run before the approval. */
export function auditEffect(state: StepState, currentTime_ms: number): Effect {
  const tests = wantsAudit(state, 'before_approval') ? testsBeforeApproval(state) : null;
  return (
    tests ??
    spendingPause(state, currentTime_ms) ??
    outageEffect(state, currentTime_ms) ?? { kind: 'audit', calls: auditCalls(state) }
  );
}

/** Returns the number of calls that may be made until one gives an audit. */
function auditCalls({ base: { limits }, usage }: StepState): number {
  const remaining = (limits?.budget_calls ?? Infinity) - usage.calls;
  return Math.max(1, Math.min(limits?.maxAttemptsPerFile ?? 2, remaining));
}

export function onAudited(
  state: StepState,
  result: AuditResult,
  currentTime_ms: number,
): StepState {
  if (result.outcome === 'failed' && result.down !== undefined)
    return onModelDown(state, result.down, 'audit', currentTime_ms);
  const paid = spend({ ...state, ...answeredAgain(state, currentTime_ms) }, result.usage);
  if (result.outcome === 'failed')
    return asking(paid, result.reason, cut(state.input.rules, `audit: ${result.message}`));
  const { report, refusal: output } = result;
  const { proposal } = paid;
  // The reviewer reads the findings of the audit next to those of the guards.
  const reviewed =
    proposal === null
      ? null
      : { ...proposal, findings: [...proposal.findings, ...report.findings] };
  const nextState = emit(
    { ...paid, audit: { ...auditOf(paid), report }, proposal: reviewed },
    currentTime_ms,
    {
      type: 'audited',
      ...report,
    },
  );
  const summary = cut(state.input.rules, `the audit: ${auditText(report)}`);
  switch (report.verdict) {
    case 'fail_hard': {
      const failed = within(nextState, 'tests', { last: report.verdict });
      return onFailedVerification(
        failed,
        { kind: 'audit', signature: null, output, summary, suggestions: [] },
        currentTime_ms,
      );
    }
    case 'fail_soft':
      return asking(within(nextState, 'tests', { output }), 'audit', summary);
    default:
      return afterAudit(nextState, currentTime_ms);
  }
}

function afterAudit(state: StepState, currentTime_ms: number): StepState {
  if (wantsAudit(state, 'before_approval')) return toReview(state, currentTime_ms);
  return { ...state, stage: { at: wantsCommit(state) ? 'commit' : 'release' } };
}

/** Takes up the answer to an audit that doubts the change. */
export function resolveAudit(
  state: StepState,
  { request }: Resolution,
  currentTime_ms: number,
): StepState {
  switch (request.answer) {
    case 'keep':
      return afterAudit(state, currentTime_ms);
    case 'revise':
      return rollBack(state, { do: 'regenerate', note: request.note ?? null }, currentTime_ms);
    default:
      return resolveWhole(state, request, currentTime_ms);
  }
}

/** Failures after which the recorded response of the audit was not read, so that a `retry` reads it. */
const KEEPS_RESPONSE: readonly PauseReason[] = [
  'engine_failed',
  'model_unavailable',
  'workspace_unreachable',
  'budget',
];

/** Has `retry` ask for another audit, if the responses of this one could not be used. */
export function withNewAudit(state: StepState, { decision, request }: Resolution): StepState {
  if (state.stage.at !== 'audit' || request.answer !== 'retry') return state;
  if (KEEPS_RESPONSE.includes(decision.reason)) return state;
  const audit = auditOf(state);
  return { ...state, audit: { ...audit, regeneration: audit.regeneration + 1 } };
}
