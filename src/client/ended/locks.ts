/**
 * Workspaces that are held by runs which have ended (terminated, timed out, deleted). What stands for nothing any more is released;
 * what somebody applied and nobody committed is shown, and put right when a person says how.
 */
import { fail, nullOn, problemOn, sentence } from '../../shared/problems.js';
import { type StepKey, planOf, shownKey } from '../../shared/ids.js';
import {
  createApplyEngine,
  appliedRecords,
  appliedUnder,
  isLocal,
  stateOfLocal,
  createLocks,
  whyAway,
} from '../../workspace/apply/index.js';
import { homePaths } from '../../stores/home.js';
import { orNull } from '../../system/durable.js';
import { realSys } from '../../system/sys.js';
import type { ConflictFile, RollbackResult } from '../../shared/proposal-activities.js';
import type { LockEnd, WorkspaceLock, HolderState } from '../../workspace/ports.js';
import { readAmongOthers, type RecoveryData } from '../archive/run.js';
import { runIndex, type RunIndex } from '../run-index/index.js';
import { foundApplied, noteClosed, withLive, type ResolvedRun } from '../runs/resolve.js';
import { noServer, noServerNote, type DescribedRun, type Emend, type ClosedRun } from '../types.js';
import { hostOfQueue } from '../../shared/names.js';

// Whether the run that holds a workspace is still open, as far as the server (or, where it forgot, the archive) can say.

/** Never throws for an absent or slow server: that is `unknown`. */
export const stateOfRun = async (
  emend: Emend,
  holder: WorkspaceLock,
  workspace: string,
): Promise<HolderState> => {
  const local = await stateOfLocal(holder, hostOfQueue(emend.queues.host));
  if (local !== null) return local;
  const { runs } = emend;
  if (runs === null) return { state: 'unknown', why: noServer(emend) };
  // Held for a run of another namespace, so perhaps of another server: this one cannot know.
  if (holder.namespace !== emend.namespace) return { state: 'unknown', why: 'other_namespace' };
  try {
    const newest = await runs.describe({ workflowId: holder.workflowId, runId: null });
    // A plan marks its phases itself, each mark under a key of its own.
    const held = newest?.memo?.stepKey;
    const moved = held === holder.stepKey ? movedFrom(emend, workspace, newest) : null;
    if (moved !== null) return moved;
    if (
      newest !== null &&
      (held === holder.stepKey || (held !== undefined && held === planOf(holder.stepKey)))
    )
      return newest.open
        ? { state: 'open' }
        : await endedAs(emend, holder, await runs.closed(newest));
    const { closed } = await readAmongOthers(emend, holder.stepKey);
    if (closed !== null) return await endedAs(emend, holder, closed);
    // At most one run of a workflow id is open, and that is a later one.
    return newest?.memo == null
      ? { state: 'unknown', why: 'not_known' }
      : await endedAs(emend, holder, { status: 'ENDED', result: null });
  } catch (error) {
    return { state: 'unknown', why: problemOn()(error) };
  }
};

/** A moved run has left this workspace, and whoever was its host there puts back what it applied. Null: it has not. */
const movedFrom = (
  { queues }: Emend,
  workspace: string,
  run: DescribedRun | null,
): HolderState | null => {
  const left = run?.memo?.left?.filter((place) => place.workspace === workspace) ?? [];
  const own = hostOfQueue(queues.host);
  // Two hosts may share what is at one path: then not before its end.
  const isThere = run?.memo?.workspace === workspace && (run.open || run.memo.host === own);
  if (left.length === 0 || isThere) return null;
  const elsewhere = left.every(({ host }) => host !== own);
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

/** Homes may share a store, a repository or both: a lock in its git directory may be another home's. */
const isElsewhere = async (
  { home, archive, queues }: Emend,
  stepKey: StepKey,
): Promise<boolean> => {
  if ((await orNull(realSys.stat(`${homePaths(home).transactions}/${stepKey}`))) !== null)
    return false;
  const { started } = await readAmongOthers({ archive }, stepKey);
  return started === null || hostOfQueue(started.queues.host) !== hostOfQueue(queues.host);
};

/** Archives looked through for workspaces, newest first. */
export const ARCHIVES = { recover: 1000, list: 50, workerStart: 200 } as const;

interface Ended {
  readonly stepKey: StepKey;
  readonly workspace: string;
  readonly holder: WorkspaceLock;
  /** How the run ended, or that the server does not know it. */
  readonly ended: string;
  /** It worked from another `EMEND_HOME`: what it applied is recorded there, and can be undone only there. */
  readonly elsewhere: boolean;
}
export interface StaleLock extends Ended {
  /** What it applied under this lock and nobody rolled back or committed, as far as this home knows. */
  readonly files: readonly string[];
}
export interface ReleasedLock extends Ended {
  readonly because: 'nothing_applied' | 'committed' | 'finished' | 'put_back';
  /** With `put_back`. */
  readonly undone?: EndedLock;
}
export interface LocksOfEnded {
  /** A person must say what becomes of these. */
  readonly held: readonly StaleLock[];
  readonly released: readonly ReleasedLock[];
  /** Why not all of them could be judged; null: they were. */
  readonly note: string | null;
}
export type EndedLock = Omit<RollbackResult, 'commit'>;

/**
 * Asks the server about the holder of each workspace that the newest archives name. The lock of a closed run is released where it
 * applied nothing, or its commit exists; of one that was aborted or moved while this host took no work the files are put back first. `known`: the index, if it was brought up to date already. Without a server nothing can be said of any of them. Never throws for an absent server.
 */
export const releaseStaleLocks = async (
  emend: Emend,
  archives: number = ARCHIVES.recover,
  known?: RunIndex,
): Promise<LocksOfEnded> => {
  const held: StaleLock[] = [];
  const released: ReleasedLock[] = [];
  const away: string[] = [];
  if (emend.runs === null) return { held, released, note: noServerNote(emend) };
  const engine = createApplyEngine({ home: emend.home, blobs: emend.blobs });
  const index = known ?? (await runIndex(emend));
  const newest = index.keys().slice(0, archives);
  const workspaces = newest.map((stepKey) => index.workspace(stepKey));
  for (const workspace of new Set(workspaces.filter((path) => path !== ''))) {
    const why = await whyAway(realSys, workspace);
    if (why !== null && !['ENOENT', 'ENOTDIR', 'EACCES'].includes(why))
      away.push(`${workspace} (${why})`);
    // It holds one of the few threads that Node.js has for files: with some more nothing would go on.
    if (why === 'no answer') break;
    // A workspace whose git does not answer holds up none of the others.
    const holder = why === null ? await engine.readLock(workspace).catch(nullOn()) : null;
    // Commands hold for a moment and by themselves; workspace/apply/lock-owners.ts deals with those that died.
    if (holder === null || isLocal(holder)) continue;
    const standing = await stateOfRun(emend, holder, workspace);
    if (standing.state === 'open') continue;
    if (standing.state === 'unknown' && typeof standing.why === 'object')
      return { held, released, note: sentence(standing.why) };
    if (standing.state === 'unknown' && standing.why === 'other_namespace') continue;
    const { stepKey } = holder;
    const elsewhere =
      standing.state === 'ended' ? standing.elsewhere : await isElsewhere(emend, stepKey);
    if (standing.state === 'unknown' || elsewhere) {
      const ended = standing.state === 'unknown' ? 'not known to the server' : standing.how;
      held.push({
        stepKey,
        workspace,
        holder,
        ended,
        elsewhere,
        files: await filesUnder(emend, workspace, holder),
      });
      continue;
    }
    const end = await engine.releaseEnded(workspace, holder, standing.finished);
    await noteEnd(emend, holder, end);
    const ended = { stepKey, workspace, holder, ended: standing.how, elsewhere };
    if (end.outcome === 'ended') released.push({ ...ended, because: end.because });
    if (end.outcome !== 'kept') continue;
    const hold = { ...ended, files: end.files };
    // Its person has said abort. What cannot be put back is theirs to decide.
    const undone = standing.undo ? await releaseLock(emend, hold, 'undo').catch(nullOn()) : null;
    if (undone === null) held.push(hold);
    else released.push({ ...ended, because: 'put_back', undone });
  }
  return { held, released, note: away.length === 0 ? null : `${away.join(', ')}.` };
};

/** How it ended goes into its archive, as the server will forget it, and what recovery found that the archive had not heard. */
const noteEnd = async (emend: Emend, holder: WorkspaceLock, end: LockEnd): Promise<void> => {
  const run = await withLive(emend, holder.stepKey, null).catch(nullOn('disk'));
  if (run === null) return;
  const { applied } = run.live?.open === false ? await noteClosed(emend, run) : run.archived;
  if (end.outcome === 'kept')
    await emend.archive.append(holder.stepKey, foundApplied(holder, applied, end.files));
  if (end.outcome === 'ended' && end.because === 'committed' && applied.length > 0)
    await noteRecovery(emend, holder, 'committed', []);
};

export const noteRecovery = (
  { archive }: Pick<Emend, 'archive'>,
  { stepKey, token }: Pick<WorkspaceLock, 'stepKey' | 'token'>,
  how: RecoveryData['how'],
  files: readonly string[],
): Promise<void> => {
  const data: RecoveryData = { how, files };
  const id = `recovery-${token}-${how}`;
  return archive.append(stepKey, [{ id, at: new Date().toISOString(), kind: 'recovery', data }]);
};

/** `undo` puts the files back that the step applied and nobody changed since; then the workspace is free again. */
export const releaseLock = async (
  emend: Emend,
  hold: StaleLock,
  how: 'undo' | 'keep',
): Promise<EndedLock> => {
  if (how === 'undo' && hold.elsewhere)
    return fail(
      'conflict',
      `The run ${shownKey(hold.stepKey)} used another EMEND_HOME than ${emend.home}; its changes can be undone only there.`,
      'Run `emend recover` with that EMEND_HOME; if it is lost, restore the files with git and release the lock with --keep.',
    );
  const engine = createApplyEngine({ home: emend.home, blobs: emend.blobs });
  const files: string[] = [];
  const kept: ConflictFile[] = [];
  // The last application first: each goes back to what was there before it.
  const { stepKey, workspace, holder } = hold;
  const records = how === 'undo' ? await recordsUnder(emend, workspace, holder) : [];
  for (const { plan } of [...records].reverse()) {
    const { proposalId, decision } = plan;
    const undone = await engine.rollbackRecorded({
      stepKey,
      workspace,
      holder,
      proposalId,
      decision,
    });
    if (undone.outcome === 'committed') {
      const { commit } = undone;
      kept.push({
        path: '(commit)',
        why: `its commit ${commit.slice(0, 12)} exists: revert it with git revert`,
      });
      break;
    }
    files.push(...undone.files);
    kept.push(...undone.leftAlone);
  }
  await engine.releaseLock(workspace, stepKey);
  await noteRecovery(emend, holder, how, files);
  return { files, leftAlone: kept };
};

/**
 * A run that was cut off with files applied when it held its workspace no longer: it is held for it again, so that they can be put
 * back. Null: there is nothing of that kind. Throws ProblemError `busy` where another step has the workspace by now.
 */
export const lockAgain = async (
  emend: Emend,
  { stepKey, live, archived }: ResolvedRun,
): Promise<StaleLock | null> => {
  const { started, closed, applied, kept } = archived;
  // A reset made another run of it, which is at work.
  if (
    live?.open === true ||
    started === null ||
    closed?.result !== null ||
    applied.length === 0 ||
    kept
  )
    return null;
  const { workspace, workflowId, namespace } = started;
  const records = await appliedRecords(
    realSys,
    homePaths(emend.home).transactions,
    workspace,
    stepKey,
  );
  const last = Math.max(0, ...records.map(({ plan }) => plan.lock.token));
  if (last === 0) return null;
  const locks = createLocks({ home: emend.home });
  const taken = await locks.take(workspace, stepKey, { workflowId, namespace, continues: last });
  if (taken.outcome === 'busy')
    return fail(
      'busy',
      `${workspace} is now locked by run ${shownKey(taken.holder.stepKey)}.`,
      'See `emend list`.',
    );
  const files = await filesUnder(emend, workspace, taken.lock);
  const ended = closed.status.toLowerCase();
  return { stepKey, workspace, holder: taken.lock, ended, elsewhere: false, files };
};

const recordsUnder = ({ home }: Emend, workspace: string, holder: WorkspaceLock) =>
  appliedUnder(realSys, homePaths(home).transactions, workspace, holder);

const filesUnder = async (
  emend: Emend,
  workspace: string,
  holder: WorkspaceLock,
): Promise<readonly string[]> => [
  ...new Set((await recordsUnder(emend, workspace, holder)).flatMap(({ closed }) => closed.files)),
];
