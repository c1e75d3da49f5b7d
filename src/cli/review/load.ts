/** What a review goes through: the files of the open decision with their part of the sealed diff, and which hunk needs which. */
import { proposalNeeds } from '../../client/proposal-needs.js';
import { diffText } from '../../client/show-run.js';
import type { Emend } from '../../client/types.js';
import { readSealedDiff, type ChangeNeed } from '../../edits/index.js';
import type { DecisionPoint } from '../../shared/decisions.js';
import type { SealedProposal } from '../../shared/protocol.js';
import type { ReviewFile } from './walk.js';

export interface Review {
  readonly decision: DecisionPoint;
  readonly proposal: SealedProposal;
  readonly diff: string;
  readonly files: readonly ReviewFile[];
  readonly needs: readonly ChangeNeed[];
}

/** `whole`: files that are asked about in one piece at first. */
export const loadReview = async (
  emend: Emend,
  decision: DecisionPoint,
  proposal: SealedProposal,
  whole: ReadonlySet<string>,
): Promise<Review> => {
  const diff = await diffText(emend, proposal);
  const sections = readSealedDiff(diff);
  const open = new Set(
    decision.files.map(({ path }) => path).filter((path) => !Object.hasOwn(decision.answered, path)),
  );
  const files = proposal.files
    .filter(({ path }) => open.has(path))
    .map(({ path, changes = 0 }): ReviewFile => {
      const section = sections.find((each) => each.path === path);
      return { path, section, changes, whole: whole.has(path) };
    });
  return { decision, proposal, diff, files, needs: await proposalNeeds(emend, proposal, sections) };
};

/** Number of the hunk that a change stands in, as the review and `emend diff` count them; 0: in none. */
export const hunkOf = ({ files }: Pick<Review, 'files'>, path: string, n: number): number => {
  const hunks = files.find((file) => file.path === path)?.section?.hunks ?? [];
  return hunks.findIndex((hunk) => hunk.changes.some((change) => change.n === n)) + 1;
};
