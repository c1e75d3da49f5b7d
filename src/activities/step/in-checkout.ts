/**
 * A host's work for a run on a repository, in a checkout of this host's own: the base commit's files, and over them what the run has applied.
 * So an activity needs nothing that an earlier one left on a disk, here or on another host.
 */
import { Context } from '@temporalio/activity';
import type { ActivityName } from '../../shared/activities.js';
import { ProblemError, sentence } from '../../shared/problems.js';
import type { ActivityBase } from '../../shared/proposal-activities.js';
import { planOf } from '../../shared/ids.js';
import { isCommitId } from '../../shared/repository.js';
import type { RunOnRepository } from '../../workspace/checkout/index.js';
import type { Work } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { asRefused } from '../frame/recorded.js';
import { appliedFiles, marksIn } from './commit.js';

/** They begin at the branch's newest commit: the proposal is carried over to it, or is found not to fit. Nothing may be applied then. */
const ANEW: readonly ActivityName[] = ['preflight', 'rebaseProposal', 'applyProposal', 'checkMove'];
/** What is wrong with the repository at the first look is a refusal of the run; later it is asked about, as work was done by then. */
const FIRST: readonly ActivityName[] = ['preflight', 'readPlan'];
/** They look at no file. */
const ANYWHERE: readonly ActivityName[] = ['saveCheckpoint', 'removeLayers'];

export const inCheckout =
  <I extends ActivityBase, O extends object>(name: ActivityName, work: Work<I, O>): Work<I, O> =>
  async (ports, input, scope) => {
    const { repository, stepKey, held, marked } = input;
    if (repository === undefined || ANYWHERE.includes(name)) return work(ports, input, scope);
    const { checkouts } = ports;
    const run = { stepKey, repository, signal: scope.signal };
    const checkOut = async () => {
      const commit = held?.commit ?? (await baseOf(ports, run, isAnew(name, input)));
      // A rollback must not be followed by a late commit.
      const { attempt, currentAttemptScheduledTimestampMs: scheduledAt_ms } =
        Context.current().info;
      const takeOver = attempt > 1 || name === 'rollBack';
      const atTip = marked !== undefined;
      return checkouts.use({ ...run, commit, scheduledAt_ms, takeOver, atTip });
    };
    const own = await checkOut().catch((error: unknown) => {
      if (FIRST.includes(name) && !isAnew(name, input)) return asRefused(error);
      // A person named the URL, and hears at once what git says to it.
      if (name === 'checkMove' && error instanceof ProblemError)
        return { why: sentence(error.problem) };
      throw error;
    });
    if (!('workspace' in own)) return own as O;
    try {
      const applications = name === 'rollBack' ? [] : (held?.applications ?? []);
      const marks = (await marksIn(ports, marked)).flatMap(({ files }) => files);
      const { files } = await appliedFiles(ports, { stepKey, applications });
      const wanted = [...new Map([...marks, ...files].map((file) => [file.path, file])).values()];
      scope.assertCurrent();
      await own.workspace.putBack(
        '',
        stepKey,
        await own.workspace.differing('', wanted),
        scope.assertCurrent,
      );
      return { ...(await work({ ...ports, ...own }, input, scope)), host: checkouts.host };
    } catch (error) {
      const isBusy = error instanceof ProblemError && error.problem.code === 'busy';
      const isCancelled =
        scope.signal.aborted && Context.current().cancellationDetails?.workerShutdown !== true;
      if (isBusy || isCancelled) await own.leave();
      throw error;
    }
  };

/** A first look is recorded, and whoever repeats it finds the same. */
const isAnew = (name: ActivityName, input: object): boolean =>
  ANEW.includes(name) && !('snapshotNumber' in input && input.snapshotNumber === 1);

/** ◆ The commit that the run is based on, by all hosts alike: the newest of its records. */
async function baseOf(
  { records, checkouts }: ActivityPorts,
  given: RunOnRepository,
  anew: boolean,
): Promise<string> {
  type Base = { readonly commit: string };
  const { stepKey, repository } = given;
  const key = (number: number, of = stepKey): string => `steps/${of}/base-${number}`;
  let number = 1;
  let last: Base | null = null;
  for (let next; (next = await records.get<Base>(key(number))) !== null; number += 1) last = next;
  if (last !== null && !anew) return last.commit;
  // A phase begins where its plan did, until that has a branch.
  const isFixed = planOf(stepKey) === stepKey || isCommitId(repository.base);
  const plans = isFixed ? null : await records.get<Base>(key(1, planOf(stepKey)));
  const run =
    plans === null ? given : { ...given, repository: { ...repository, base: plans.commit } };
  const now = await checkouts.resolve(run, last?.commit);
  return now.commit === last?.commit
    ? now.commit
    : (await records.putIfAbsent(key(number), { commit: now.commit })).value.commit;
}
