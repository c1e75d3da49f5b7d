/** Signs an answer with the key that git signs with (`gpg.format=ssh`, `user.signingkey`), if an approver must sign it. */
import { existsSync } from 'node:fs';
import {
  SIGNATURES,
  signedStatement,
  type DecisionPoint,
  type DecisionRequest,
} from '../../shared/decisions.js';
import type { StepKey } from '../../shared/ids.js';
import { fail } from '../../shared/problems.js';
import { canonicalJson } from '../../system/hash.js';
import { signText } from '../../system/ssh-signature.js';
import { gitLine } from '../../workspace/git/index.js';
import type { Emend } from '../types.js';
import type { ResolvedRun } from './resolve.js';
import { showRun } from './show.js';

/** Returns the request, signed if an approver must sign it and a key is configured. Throws ProblemError `no_worker`, `usage`. */
export const signIfNeeded = async (
  emend: Emend,
  run: ResolvedRun,
  request: DecisionRequest,
): Promise<DecisionRequest> => {
  const key = await signingKey(run.live?.memo?.workspace);
  if (key === null) return request;
  const { source, status } = await showRun(emend, run, { full: false });
  if (status.decision?.mustSign !== true || status.decision.id !== request.decision) return request;
  if (source === 'run') return sign(run.stepKey, status.decision, request, key);
  return fail(
    'no_worker',
    'An approver must sign this answer, but no worker is reachable to name the proposal.',
  );
};

/** Returns the key that git is configured with in the workspace, if that is on this machine. Null: there is none. */
const signingKey = async (workspace: string | undefined): Promise<string | null> => {
  const cwd = workspace !== undefined && existsSync(workspace) ? workspace : process.cwd();
  const ask = async (args: readonly string[]): Promise<string | null> => {
    const line = await gitLine(['config', ...args], { cwd, environment: process.env });
    return line.ok && line.value !== '' ? line.value : null;
  };
  return (await ask(['--get', 'gpg.format'])) === 'ssh'
    ? ask(['--type=path', '--get', 'user.signingkey'])
    : null;
};

/** Throws ProblemError `usage` if the key cannot sign. */
export const sign = async (
  stepKey: StepKey,
  { proposalId }: Pick<DecisionPoint, 'proposalId'>,
  request: DecisionRequest,
  key: string,
): Promise<DecisionRequest> => {
  const time = new Date().toISOString();
  const text = canonicalJson(signedStatement(stepKey, proposalId, request, time));
  return { ...request, signed: { at: time, signature: await signText(text, key, SIGNATURES) } };
};
