/** Commits in a checkout and pushes the commit. A commit that an earlier attempt pushed is found on the branch. */
import type { StepKey } from '../../shared/ids.js';
import { fail, ProblemError, type Problem } from '../../shared/problems.js';
import { commitOfStep, markTrailer } from '../git/commit-hooks.js';
import type { CommitOutcome, CommitRequest } from '../ports.js';
import type { Repository } from '../repository.js';
import { removeRun, type Place } from './place.js';
import * as remotes from './remote.js';
import type { TakenCheckout } from './take.js';

/** Commits and pushes, unless the branch holds the step's commit, or a commit that this run must not replace. */
export async function commitAndPush(
  repository: Repository,
  checkout: TakenCheckout,
  request: CommitRequest,
  signal: AbortSignal | undefined,
): Promise<CommitOutcome> {
  const { place, hold } = checkout;
  const { remote } = place;
  const note = `pushed to ${branchTextOf(place)}`;
  const earlierCommit = await findPushedCommit(checkout, request.stepKey);
  if (earlierCommit !== null) {
    const marks = await hasMarks(repository, checkout, request, earlierCommit);
    await removeRun(place);
    return { outcome: 'committed', note, commit: earlierCommit, marks };
  }
  await remotes.refuseTakenOut(remote, hold);
  const obstacle = obstacleOf(checkout, request);
  if (obstacle !== null) {
    // No attempt works for this run any more, and the next one reads the remote again.
    await removeRun(place);
    return { outcome: 'conflict', why: obstacle };
  }
  const outcome = await repository.commit(request, signal);
  if (outcome.outcome === 'failed') await remotes.clearDamage(remote, outcome.problem.message);
  if (outcome.outcome !== 'committed') return outcome;
  if ((await request.mayMove?.()) === false) fail('busy', 'This attempt may push no more.');
  const failure = await pushTip(checkout, outcome.commit);
  if (failure === null) return { ...outcome, note };
  return failure.code === 'conflict'
    ? { outcome: 'conflict', why: failure.message }
    : { outcome: 'failed', problem: failure };
}

const branchTextOf = ({ remote }: Place): string => `the branch ${remote.branch} of ${remote.url}`;

/** Returns the commit of the step that an earlier attempt pushed; null: there is none. */
export const findPushedCommit = async (
  { hold: { path, tip }, startCommit }: TakenCheckout,
  stepKey: StepKey,
): Promise<string | null> => (tip === null ? null : commitOfStep(path, startCommit, tip, stepKey));

const hasMarks = async (
  repository: Repository,
  { hold }: TakenCheckout,
  { marks = [] }: CommitRequest,
  commit: string,
): Promise<boolean> => {
  const [mark] = marks;
  const message = await repository.message(hold.path, commit);
  return mark !== undefined && message.includes(markTrailer(mark));
};

/** Returns why the tip of the branch keeps this run from pushing; null: there is no branch yet, or the tip is the request's parent. */
const obstacleOf = (
  { place, hold: { tip } }: TakenCheckout,
  { lock }: CommitRequest,
): string | null => {
  if (tip === null || (place.isShared && tip === lock.head)) return null;
  return place.isShared
    ? `${branchTextOf(place)} has moved to ${tip.slice(0, 12)} since the files were changed`
    : `${branchTextOf(place)} is not this run's: delete it first`;
};

/**
 * Pushes a commit as the tip of the branch, and removes the checkout. Returns null if the branch is there; `conflict`: the branch has moved,
 * and the next attempt reads it again. Throws ProblemError `busy`.
 */
export async function pushTip(
  { place, hold }: TakenCheckout,
  tip: string,
): Promise<Problem | null> {
  const { remote } = place;
  try {
    const token = await remotes.newToken(remote, hold.at);
    await remotes.push(remote, hold, { token, tip });
  } catch (error) {
    if (!(error instanceof ProblemError) || error.problem.code === 'busy') throw error;
    if (error.problem.code === 'conflict') await removeRun(place);
    return error.problem;
  }
  await removeRun(place);
  return null;
}
