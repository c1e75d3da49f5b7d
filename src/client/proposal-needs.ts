/** Which changes of a proposal use names that other changes of it bring: for faces that let people take a part of it. */
import { changeNeeds, wordsOf, type ChangeNeed, type DiffSection } from '../edits/index.js';
import type { SealedProposal } from '../shared/protocol.js';
import type { Proposal } from '../workspace/types.js';
import type { Emend } from './types.js';

/** `sections`: of the sealed diff. Only a warning hangs on it: where a base is not in reach, nothing is said. */
export const proposalNeeds = async (
  { blobs }: Pick<Emend, 'blobs'>,
  proposal: SealedProposal,
  sections: readonly DiffSection[],
): Promise<readonly ChangeNeed[]> => {
  try {
    const { files } = JSON.parse(new TextDecoder().decode(await blobs.get(proposal.ref))) as Proposal;
    const bases = new Map<string, ReadonlySet<string>>();
    for (const { path, base } of files)
      if (base !== null) bases.set(path, new Set(wordsOf(new TextDecoder().decode(await blobs.get(base.ref)))));
    return changeNeeds(sections, (path) => bases.get(path) ?? null);
  } catch {
    return [];
  }
};
