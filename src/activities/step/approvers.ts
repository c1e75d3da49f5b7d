/**
 * Who must sign decisions. The file is read from the base commit, and so is the key that names it: neither a working tree nor a proposal
 * changes who may approve it.
 */
import { parseConfig, type ProjectConfig } from '../../documents/job/index.js';
import type { BlobRef } from '../../shared/ids.js';
import { SIGNATURES, signedStatement } from '../../shared/decisions.js';
import { fail } from '../../shared/problems.js';
import { canonicalJson } from '../../system/hash.js';
import { verifyText } from '../../system/ssh-signature.js';
import type { Activity } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { getText, putText } from './snapshot.js';

/** The `allowed_signers` file; null: a decision needs no signature. Throws ProblemError `config_invalid` where it cannot be had. */
export async function approversOf(
  { repository, blobs }: ActivityPorts,
  workspace: string,
  { approvers }: Pick<ProjectConfig, 'approvers'>,
): Promise<BlobRef | null> {
  const committed = parseConfig(await repository.committed(workspace, 'emend.yaml'));
  const path = (committed.ok ? committed.value.approvers : null) ?? approvers;
  if (path === null) return null;
  const file = await repository.committed(workspace, path);
  if (file === null || !/^[^#\s]/m.test(file))
    return fail(
      'config_invalid',
      `emend.yaml: approvers: ${path} must be an allowed_signers file in the base commit, with at least one key.`,
      `See ALLOWED SIGNERS in ssh-keygen's manual, then: git add ${path} && git commit`,
    );
  return putText(blobs, file);
}

export const verifyDecision: Activity<'verifyDecision'> = async (
  { blobs },
  { stepKey, approvers, proposal, request },
) => {
  const { signed } = request;
  if (signed === undefined) return { why: 'it is not signed' };
  const text = canonicalJson(signedStatement(stepKey, proposal, request, signed.at));
  return verifyText(text, signed.signature, await getText(blobs, approvers), SIGNATURES);
};
