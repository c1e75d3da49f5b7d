/** Names made of bytes: blob references and the id of a proposal. */
import { sha256, canonicalJson } from '../system/hash.js';
import type { BlobRef, StepKey } from '../shared/ids.js';
import type { ClaimedUnfinished } from '../shared/unfinished.js';

/** ◆ The id that an approval names: sha-256 (hex) of the proposal's canonical JSON. Kept as a blob under the same hash. */
export const proposalIdOf = (proposal: Proposal): string => sha256(canonicalJson(proposal));

/** A file of a proposal. Paths are workspace-relative with `/`. */
export interface ProposalFile {
  readonly path: string;
  readonly base: { readonly ref: BlobRef; readonly mode: number } | null;
  readonly result: { readonly ref: BlobRef; readonly mode: number } | null;
  /** `person`: changed by hand after a `manual` decision; already on disk, verified and committed, never written by us. */
  readonly by: 'model' | 'person';
}
/** All files of a proposal; its id is the sha-256 (hex) of its canonical JSON without `id`. Kept as a blob. */
export interface Proposal {
  readonly stepKey: StepKey;
  readonly files: readonly ProposalFile[];
  readonly renames: readonly { readonly from: string; readonly to: string }[];
  /** Tasks of the job that the model left undone; absent: none. */
  readonly unfinished?: readonly ClaimedUnfinished[];
}

/** What is to be applied of a proposal; `files` null: all. */
export const toApply = (proposal: Proposal, files: readonly string[] | null = null) => {
  const all = proposal.files.map(({ path }) => path);
  return { proposal, proposalId: proposalIdOf(proposal), files: files ?? all };
};

export const recordName = (stepKey: StepKey, proposalId: string, decision: number): string =>
  `${stepKey}/${proposalId}-${decision}`;
