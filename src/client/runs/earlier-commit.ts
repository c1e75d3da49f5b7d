/**
 * The commit that a run made before its records on the server were put back (an older database, a reset). The archive and the repository
 * still know it, the run does not: an answer that ends it without a commit leaves that one where it is.
 */
import { existsSync } from 'node:fs';
import { earlierCommitIn, type EarlierCommit } from '../../shared/earlier-commit.js';
import { gitLine } from '../../workspace/git/index.js';
import type { ArchivedRun } from '../archive/run.js';
import type { ClosedRun } from '../types.js';

/** Returns the commit, unless the branch does not have it any more. A workspace that is not on this machine is not asked. */
export const earlierCommit = async (run: ArchivedRun): Promise<EarlierCommit | null> => {
  const [earlier, workspace] = [earlierCommitIn(run.activities), run.started?.workspace];
  if (earlier === null || workspace === undefined || !existsSync(workspace)) return earlier;
  const above = ['merge-base', '--is-ancestor', earlier.commit, 'HEAD'];
  const isThere = await gitLine(above, { cwd: workspace, reading: true });
  return isThere.ok ? earlier : null;
};

/** Returns how the run ended, with its commit also if only the archive knows it. */
export const withEarlierCommit = async (
  run: ArchivedRun,
  closed: ClosedRun,
): Promise<ClosedRun> => {
  const { result } = closed;
  if (result?.commit !== null) return closed;
  const earlier = await earlierCommit(run);
  return earlier === null ? closed : { ...closed, result: { ...result, commit: earlier.commit } };
};

/** Says what becomes of the commit. `proposal`: the id of the one that is reviewed; null: there is none. */
export const earlierCommitNote = (
  { commit, proposals }: EarlierCommit,
  proposal: string | null,
): string => {
  const sentence = `This run has made commit ${commit.slice(0, 12)}, and the records of the server are from before it. The commit stays, whatever you answer`;
  return proposal === null || proposals.has(proposal)
    ? `${sentence}; approve ends the run with it.`
    : `${sentence}. The proposal is newer than the commit: approve applies it to the files as they are now, or asks about a conflict.`;
};
