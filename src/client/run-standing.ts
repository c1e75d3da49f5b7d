/** Whether the run that holds a workspace is still open, as far as the server (or, where it forgot, the archive) can say. */
import { hostOfQueue } from '../shared/protocol.js';
import { ProblemError } from '../shared/problems.js';
import { planOf, type StepKey } from '../shared/refs.js';
import { homePaths } from '../workspace/home.js';
import { standingOfLocal } from '../workspace/local-holder.js';
import { orNull } from '../workspace/sys-put.js';
import { realSys } from '../workspace/sys.js';
import type { LeaseHolder, RunStanding } from '../workspace/types.js';
import { archivedRun } from './archived.js';
import type { ClosedRun, Emend } from './types.js';

/** Never throws for an absent or slow server: that is `unknown`. */
export const standingOfRun = async (emend: Emend, holder: LeaseHolder): Promise<RunStanding> => {
  const local = await standingOfLocal(holder, hostOfQueue(emend.queues.host));
  if (local !== null) return local;
  const { runs } = emend;
  if (runs === null) return { state: 'unknown', why: 'no_answer' };
  // Held for a run of another namespace, so perhaps of another server: this one cannot know.
  if (holder.namespace !== emend.namespace) return { state: 'unknown', why: 'other_namespace' };
  try {
    const newest = await runs.describe({ workflowId: holder.workflowId, runId: null });
    // A plan marks its phases itself, each mark under a key of its own.
    const held = newest?.memo?.stepKey;
    if (newest !== null && (held === holder.stepKey || (held !== undefined && held === planOf(holder.stepKey))))
      return newest.open ? { state: 'open' } : await endedAs(emend, holder, await runs.closed(newest));
    const { closed } = archivedRun(holder.stepKey, await emend.archive.read(holder.stepKey));
    if (closed !== null) return await endedAs(emend, holder, closed);
    // At most one run of a workflow id is open, and that is a later one.
    return newest?.memo == null
      ? { state: 'unknown', why: 'not_known' }
      : await endedAs(emend, holder, { status: 'ENDED', result: null });
  } catch (error) {
    if (error instanceof ProblemError) return { state: 'unknown', why: 'no_answer' };
    throw error;
  }
};

const endedAs = async (
  emend: Emend,
  { stepKey }: LeaseHolder,
  { status, result }: Pick<ClosedRun, 'status' | 'result'>,
): Promise<RunStanding> => ({
  state: 'ended',
  how: status.toLowerCase().replaceAll('_', ' '),
  finished: status === 'COMPLETED' && result?.openOnHost === undefined,
  undo: result?.openOnHost !== undefined,
  elsewhere: await isElsewhere(emend, stepKey),
});

/** Homes may share a store, a repository or both: a lease in its git directory may be another home's. */
export const isElsewhere = async ({ home, archive, queues }: Emend, stepKey: StepKey): Promise<boolean> => {
  if ((await orNull(realSys.stat(`${homePaths(home).transactions}/${stepKey}`))) !== null) return false;
  const { started } = archivedRun(stepKey, await archive.read(stepKey));
  return started === null || hostOfQueue(started.queues.host) !== hostOfQueue(queues.host);
};
