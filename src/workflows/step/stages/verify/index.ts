/** Verify: runs the tests on the base, on the proposal and in the workspace, and has a model audit the change. */
import { asLeft, resolveWhole } from '../../ways.js';
import type { Decide, Next, On, Resolution } from '../../protocol.js';
import type { StepState } from '../../state.js';
import { auditEffect, onAudited, resolveAudit } from './audit.js';
import { resolveBase } from './base.js';
import { onTested, resolveTestsFailed } from './tests.js';

export const next: Next<'verify' | 'audit'> = {
  verify: () => ({ kind: 'verify' }),
  audit: auditEffect,
};

export const on: On<'tested' | 'audited'> = {
  tested: onTested,
  audited: (state, { result }, currentTime_ms) => onAudited(state, result, currentTime_ms),
};

export const decide: Decide<
  | 'tests_failed'
  | 'tests_changed_files'
  | 'audit'
  | 'baseline'
  | 'sandbox_unavailable'
  | 'sandbox_blocks_tests'
> = {
  tests_failed: resolveTestsFailed,
  tests_changed_files: resolveChangedFiles,
  audit: resolveAudit,
  baseline: resolveBaseline,
  sandbox_unavailable: resolveSandbox,
  sandbox_blocks_tests: resolveSandbox,
};

/** Takes up the answer to files that the tests changed. `retry` leaves the state as it is, so the tests run again. */
function resolveChangedFiles(
  state: StepState,
  { request }: Resolution,
  currentTime_ms: number,
): StepState {
  if (request.answer === 'adopt') return asLeft(state);
  return request.answer === 'skip' ? resolveWhole(state, request, currentTime_ms) : state;
}

/** Takes up the answer to tests that fail on the base. Before a `retry` the sandbox may have been set in another way, so it is read again. */
function resolveBaseline(state: StepState, resolution: Resolution): StepState {
  const nextState = resolveBase(state, resolution);
  return resolution.request.answer === 'retry'
    ? { ...nextState, sandbox: { ...state.sandbox, reread: true } }
    : nextState;
}

/** Takes up the answer to commands that have no sandbox, or that their sandbox stops. */
function resolveSandbox(
  state: StepState,
  resolution: Resolution,
  currentTime_ms: number,
): StepState {
  const { request } = resolution;
  if (request.answer === 'skip') return resolveWhole(state, request, currentTime_ms);
  const nextState = resolveBase(state, resolution);
  if (request.answer === 'retry')
    return { ...nextState, sandbox: { ...state.sandbox, reread: true } };
  const without = request.answer === 'run_once' ? 'once' : 'run';
  return { ...nextState, sandbox: { ...state.sandbox, without } };
}
