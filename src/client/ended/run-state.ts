/**
 * Finds out whether the run that locks a workspace is still open. The server knows it, or the archive if the server has forgotten the run.
 */
import { hostOfQueue } from '../../shared/names.js';
import { problemOn } from '../../shared/problems.js';
import { planOf, type StepKey } from '../../shared/ids.js';
import { homePaths } from '../../stores/home.js';
import { orNull } from '../../system/durable.js';
import { realSys } from '../../system/sys.js';
import { stateOfLocal } from '../../workspace/apply/index.js';
import type { HolderState, WorkspaceLock } from '../../workspace/ports.js';
import { readAmongOthers } from '../archive/run.js';
import { noServer, type ClosedRun, type DescribedRun, type Emend } from '../types.js';

type ConnectedEmend = Emend & { readonly runs: NonNullable<Emend['runs']> };

/** Returns the state of the run that has the lock. Without a server, or if it is slow, the state is `unknown`. */
export const stateOfRun = async (
  emend: Emend,
  holder: WorkspaceLock,
  workspace: string,
): Promise<HolderState> => {
  const local = await stateOfLocal(holder, hostOfQueue(emend.queues.host));
  if (local !== null) return local;
  const { runs } = emend;
  if (runs === null) return { state: 'unknown', why: noServer(emend) };
  // A run of another namespace may be on another server, which this one does not know.
  if (holder.namespace !== emend.namespace) return { state: 'unknown', why: 'other_namespace' };
  try {
    const newest = await runs.describe({ workflowId: holder.workflowId, runId: null });
    return (
      (await stateOnServer({ ...emend, runs }, holder, workspace, newest)) ??
      (await stateInArchive(emend, holder, newest))
    );
  } catch (error) {
    return { state: 'unknown', why: problemOn()(error) };
  }
};

/** `newest`: the newest run of the workflow id. Returns null if the lock is of an earlier run. */
const stateOnServer = async (
  emend: ConnectedEmend,
  holder: WorkspaceLock,
  workspace: string,
  newest: DescribedRun | null,
): Promise<HolderState | null> => {
  const newestKey = newest?.memo?.stepKey;
  if (newest === null || newestKey === undefined) return null;
  if (newestKey === holder.stepKey) {
    const moved = movedFrom(emend, workspace, newest);
    if (moved !== null) return moved;
  } else if (newestKey !== planOf(holder.stepKey)) {
    // A plan marks its phases itself, under keys that belong to it. Any other key is of an earlier run.
    return null;
  }
  if (newest.open) return { state: 'open' };
  return endedAs(emend, holder, await emend.runs.closed(newest));
};

const stateInArchive = async (
  emend: Emend,
  holder: WorkspaceLock,
  newest: DescribedRun | null,
): Promise<HolderState> => {
  const { closed } = await readAmongOthers(emend, holder.stepKey);
  if (closed !== null) return endedAs(emend, holder, closed);
  // At most one run of a workflow id is open, and the newest one is a later run.
  if (newest?.memo != null) return endedAs(emend, holder, { status: 'ENDED', result: null });
  return { state: 'unknown', why: 'not_known' };
};

/** Returns the state of a run that has moved away from this workspace. Its former host restores what it applied. Null: the run is here. */
const movedFrom = (
  { queues }: Emend,
  workspace: string,
  { memo, open }: DescribedRun,
): HolderState | null => {
  const formerPlaces = memo?.left?.filter((place) => place.workspace === workspace) ?? [];
  const host = hostOfQueue(queues.host);
  // Two hosts may share the files at one path. Then nothing is restored before the run ends.
  const isHere = memo?.workspace === workspace && (open || memo.host === host);
  if (formerPlaces.length === 0 || isHere) return null;
  const elsewhere = formerPlaces.every((place) => place.host !== host);
  return { state: 'ended', how: 'moved to another place', finished: false, undo: true, elsewhere };
};

const endedAs = async (
  emend: Emend,
  { stepKey }: WorkspaceLock,
  { status, result }: Pick<ClosedRun, 'status' | 'result'>,
): Promise<HolderState> => ({
  state: 'ended',
  how: status.toLowerCase().replaceAll('_', ' '),
  finished: status === 'COMPLETED' && result?.openOnHost === undefined,
  undo: result?.openOnHost !== undefined,
  elsewhere: await isElsewhere(emend, stepKey),
});

/**
 * Returns whether the run worked from another home. Homes may share a store, a repository or both, so the lock in a git directory may be one of
 * another home.
 */
export const isElsewhere = async (
  { home, archive, queues }: Emend,
  stepKey: StepKey,
): Promise<boolean> => {
  const transactions = `${homePaths(home).transactions}/${stepKey}`;
  if ((await orNull(realSys.stat(transactions))) !== null) return false;
  const { started } = await readAmongOthers({ archive }, stepKey);
  return started === null || hostOfQueue(started.queues.host) !== hostOfQueue(queues.host);
};
