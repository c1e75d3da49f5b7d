/** Which changes of a proposal use names that other changes of it bring: for faces that let people take a part of it. */
import { getJson } from '../../stores/ports.js';
import { changeNeeds, wordsOf, type ChangeNeed, type DiffSection } from '../../edits/index.js';
import type { ProposalSummary } from '../../shared/proposal-activities.js';
import type { Proposal } from '../../workspace/proposal.js';
import type { Emend } from '../types.js';
import { fail } from '../../shared/problems.js';
import type { BlobRef } from '../../shared/ids.js';

/** `sections`: of the proposal's diff. Only a warning hangs on it: where a base is not in reach, nothing is said. */
export const proposalNeeds = async (
  { blobs }: Pick<Emend, 'blobs'>,
  summary: ProposalSummary,
  sections: readonly DiffSection[],
): Promise<readonly ChangeNeed[]> => {
  try {
    const { files } = await getJson<Proposal>(blobs, summary.ref, 'proposal');
    const bases = new Map<string, ReadonlySet<string>>();
    for (const { path, base } of files)
      if (base !== null) bases.set(path, new Set(wordsOf(new TextDecoder().decode(await blobs.get(base.ref)))));
    return changeNeeds(sections, (path) => bases.get(path) ?? null);
  } catch {
    return [];
  }
};

// A file of a proposal before and after, as text: for faces that show more of it than the diff does.

export interface ProposalTexts {
  /** Null: there is no such file before (or after), or its bytes are no UTF-8. */
  readonly before: string | null;
  readonly after: string | null;
}

/** Only what the proposal itself names can be asked for. Throws ProblemError `usage` for another path, `blob_lost`, `version_unknown`. */
export const proposalTexts = async (
  { blobs }: Pick<Emend, 'blobs'>,
  summary: ProposalSummary,
  path: string,
): Promise<ProposalTexts> => {
  const proposal = await getJson<Proposal>(blobs, summary.ref, 'proposal');
  const file = proposal.files.find((each) => each.path === path);
  if (file === undefined) return fail('usage', `The proposal ${summary.id.slice(0, 8)} has no file of this name.`);
  const movedFrom = proposal.renames.find((move) => move.to === path)?.from;
  const base = file.base ?? proposal.files.find((each) => each.path === movedFrom)?.base ?? null;
  const text = async (ref: BlobRef | undefined): Promise<string | null> => {
    if (ref === undefined) return null;
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await blobs.get(ref));
    } catch (error) {
      if (error instanceof TypeError) return null;
      throw error;
    }
  };
  return { before: await text(base?.ref), after: await text(file.result?.ref) };
};
