/**
 * A host's work for a run on a repository, in a checkout of this host's own: the base commit's files, and over them what the run has applied.
 * So an activity needs nothing that an earlier one left on a disk, here or on another host.
 */
import { Context } from '@temporalio/activity';
import type { ActivityName } from '../../shared/activities.js';
import { ProblemError, sentence } from '../../shared/problems.js';
import type { ActivityBase } from '../../shared/proposal-activities.js';
import type { RunOnRepository } from '../../workspace/checkout/index.js';
import type { Work } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { asRefused } from '../frame/recorded.js';
import { appliedFiles } from './commit.js';

/** They begin at the branch's newest commit: the proposal is carried over to it, or is found not to fit. Nothing may be applied then. */
const ANEW: readonly ActivityName[] = ['preflight', 'rebaseProposal', 'applyProposal', 'checkMove'];

export const inCheckout =
  <I extends ActivityBase, O extends object>(name: ActivityName, work: Work<I, O>): Work<I, O> =>
  async (ports, input, scope) => {
    const { repository, stepKey, held } = input;
    if (repository === undefined) return work(ports, input, scope);
    const { checkouts } = ports;
    const run = { stepKey, repository, signal: scope.signal };
    const checkOut = async () => {
      const commit = held?.commit ?? (await baseOf(ports, run, isAnew(name, input)));
      // A rollback must not be followed by a late commit.
      const { attempt, currentAttemptScheduledTimestampMs: at } = Context.current().info;
      return checkouts.use({ ...run, commit, at, takeOver: attempt > 1 || name === 'rollBack' });
    };
    const own = await checkOut().catch((error: unknown) => {
      if (name === 'preflight') return asRefused(error);
      // A person named the URL, and hears at once what git says to it.
      if (name === 'checkMove' && error instanceof ProblemError) return { why: sentence(error.problem) };
      throw error;
    });
    if (!('workspace' in own)) return own as O;
    const applications = name === 'rollBack' ? [] : (held?.applications ?? []);
    const { files } = await appliedFiles(ports, { stepKey, applications });
    scope.assertCurrent();
    await own.workspace.putBack('', await own.workspace.differing('', files), scope.assertCurrent);
    return { ...(await work({ ...ports, ...own }, input, scope)), host: checkouts.host };
  };

/** A first look is recorded, and whoever repeats it finds the same. */
const isAnew = (name: ActivityName, input: object): boolean =>
  ANEW.includes(name) && !('snapshotNumber' in input && input.snapshotNumber === 1);

/** ◆ The commit that the run is based on, by all hosts alike: the newest of its records. */
async function baseOf({ records, checkouts }: ActivityPorts, run: RunOnRepository, anew: boolean): Promise<string> {
  type Base = { readonly commit: string } | null;
  const key = (number: number): string => `steps/${run.stepKey}/base-${number}`;
  let number = 1;
  let last: Base = null;
  for (let next: Base; (next = (await records.get(key(number))) as Base) !== null; number += 1) last = next;
  if (last !== null && !anew) return last.commit;
  const now = await checkouts.resolve(run, last?.commit);
  return now.commit === last?.commit
    ? now.commit
    : (await records.putIfAbsent(key(number), { commit: now.commit })).value.commit;
}
