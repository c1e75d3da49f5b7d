/**
 * The commit that a run made before its records on the server were put back (an older database, a reset). The archive and the repository
 * still know it, the run does not: an answer that ends it without a commit leaves that one where it is.
 */
import { existsSync } from 'node:fs';
import { isRecord } from '../../shared/text.js';
import { gitLine } from '../../workspace/git/index.js';
import type { ArchivedRun } from '../archive/run.js';
import type { ClosedRun } from '../types.js';

const commitIn = ({ activities }: ArchivedRun): string | null => {
  const found = activities.findLast(
    ({ name, result }) => name === 'commit' && isRecord(result) && result.outcome === 'committed',
  );
  const commit = isRecord(found?.result) ? found.result.commit : null;
  return typeof commit === 'string' ? commit : null;
};

/** Returns the commit, unless the branch does not have it any more. A workspace that is not on this machine is not asked. */
export const earlierCommit = async (run: ArchivedRun): Promise<string | null> => {
  const [commit, workspace] = [commitIn(run), run.started?.workspace];
  if (commit === null || workspace === undefined || !existsSync(workspace)) return commit;
  const above = ['merge-base', '--is-ancestor', commit, 'HEAD'];
  const isThere = await gitLine(above, { cwd: workspace, reading: true });
  return isThere.ok ? commit : null;
};

/** Returns how the run ended, with its commit also if only the archive knows it. */
export const withEarlierCommit = async (
  run: ArchivedRun,
  closed: ClosedRun,
): Promise<ClosedRun> => {
  const { result } = closed;
  if (result?.commit !== null) return closed;
  const commit = await earlierCommit(run);
  return commit === null ? closed : { ...closed, result: { ...result, commit } };
};

export const earlierCommitNote = (commit: string): string =>
  `This run has made commit ${commit.slice(0, 12)}, and the records of the server are from before it. The commit stays, whatever you answer; approve ends the run with it.`;
