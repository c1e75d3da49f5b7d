/**
 * The commit that a run made before its records on the server were put back (a reset, an older database). The archive names it, next to
 * the activities that the run had done by then.
 */
import { isBlobRef, type BlobRef } from './ids.js';
import { isRecord } from './text.js';

/** One activity of the run, in the order of its archive. */
export interface DoneActivity {
  readonly name: string;
  readonly result?: unknown;
}

export interface EarlierCommit {
  readonly commit: string;
  /** The proposals that the run made before the commit, the committed ones also, by their ids. */
  readonly proposals: ReadonlyMap<string, BlobRef>;
}

/** Returns the last commit of the activities; null: there is none. */
export const earlierCommitIn = (activities: readonly DoneActivity[]): EarlierCommit | null => {
  const index = activities.findLastIndex((activity) => commitOf(activity) !== null);
  const commit = index < 0 ? null : commitOf(activities[index]);
  if (commit === null) return null;
  const proposals = activities.slice(0, index).flatMap(({ result }) => proposalIn(result));
  return { commit, proposals: new Map(proposals) };
};

const commitOf = (activity: DoneActivity | undefined): string | null => {
  if (activity?.name !== 'commit' || !isRecord(activity.result)) return null;
  const { outcome, commit } = activity.result;
  return outcome === 'committed' && typeof commit === 'string' ? commit : null;
};

/** Returns id and reference of the proposal that the result has; none: it has no proposal. */
const proposalIn = (result: unknown): readonly (readonly [string, BlobRef])[] => {
  const proposal = isRecord(result) ? result.proposal : null;
  if (!isRecord(proposal)) return [];
  const { id, ref } = proposal;
  return typeof id === 'string' && isBlobRef(ref) ? [[id, ref]] : [];
};
