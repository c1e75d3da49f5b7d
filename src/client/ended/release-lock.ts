/** Releases the lock of a run that has ended, as a person decided: the applied files are restored, or they stay. */
import { fail } from '../../shared/problems.js';
import { type StepKey, shownKey } from '../../shared/ids.js';
import type { ConflictFile, RollbackResult } from '../../shared/proposal-activities.js';
import { homePaths } from '../../stores/home.js';
import { realSys } from '../../system/sys.js';
import {
  appliedRecords,
  appliedUnder,
  createApplyEngine,
  createLocks,
} from '../../workspace/apply/index.js';
import type { WorkspaceLock } from '../../workspace/ports.js';
import type { RecoveryData } from '../archive/run.js';
import type { ResolvedRun } from '../runs/resolve.js';
import type { Emend } from '../types.js';

/** The lock of a run that has ended. */
export interface StaleLock {
  readonly stepKey: StepKey;
  readonly workspace: string;
  readonly holder: WorkspaceLock;
  /** How the run ended, or that the server does not know it. */
  readonly ended: string;
  /** True: the run worked from another `EMEND_HOME`, which has the records of what it applied. Only from there can they be undone. */
  readonly elsewhere: boolean;
  /** The files that the run applied under this lock and that were neither rolled back nor committed, as far as this home knows. */
  readonly files: readonly string[];
}
export type EndedLock = Omit<RollbackResult, 'commit'>;

/** Writes into the archive of the run what recovery did or found. */
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

/** Releases the lock. `undo` first restores the files that the run applied and that did not change since. */
export const releaseLock = async (
  emend: Emend,
  lock: StaleLock,
  how: 'undo' | 'keep',
): Promise<EndedLock> => {
  if (how === 'undo' && lock.elsewhere)
    return fail(
      'conflict',
      `The run ${shownKey(lock.stepKey)} used another EMEND_HOME than ${emend.home}; its changes can be undone only there.`,
      'Run `emend recover` with that EMEND_HOME; if it is lost, restore the files with git and release the lock with --keep.',
    );
  const { stepKey, workspace, holder } = lock;
  const engine = createApplyEngine({ home: emend.home, blobs: emend.blobs });
  const files: string[] = [];
  const leftAlone: ConflictFile[] = [];
  const records = how === 'undo' ? await recordsUnder(emend, workspace, holder) : [];
  // The last application first: each one is replaced by what was there before it.
  for (const { plan } of [...records].reverse()) {
    const { proposalId, decision } = plan;
    const request = { stepKey, workspace, holder, proposalId, decision };
    const rollback = await engine.rollbackRecorded(request);
    if (rollback.outcome === 'committed') {
      const commit = rollback.commit.slice(0, 12);
      leftAlone.push({
        path: '(commit)',
        why: `its commit ${commit} exists: revert it with git revert`,
      });
      break;
    }
    files.push(...rollback.files);
    leftAlone.push(...rollback.leftAlone);
  }
  await engine.releaseLock(workspace, stepKey);
  await noteRecovery(emend, holder, how, files);
  return { files, leftAlone };
};

/**
 * Takes the lock again for a run that was cut off with files applied and has lost its lock, so that the files can be restored. Null: the run
 * is open, or has no such files. Throws ProblemError `busy` if another run has the lock now.
 */
export const lockAgain = async (
  emend: Emend,
  { stepKey, live, archived }: ResolvedRun,
): Promise<StaleLock | null> => {
  const { started, closed, applied, kept } = archived;
  // A reset made another execution of the run, which is at work.
  const isOpen = live?.open === true;
  if (isOpen || started === null || closed?.result !== null || applied.length === 0 || kept)
    return null;
  const { workspace, workflowId, namespace } = started;
  const { transactions } = homePaths(emend.home);
  const records = await appliedRecords(realSys, transactions, workspace, stepKey);
  const last = Math.max(0, ...records.map(({ plan }) => plan.lock.token));
  if (last === 0) return null;
  const locks = createLocks({ home: emend.home });
  const taking = await locks.take(workspace, stepKey, { workflowId, namespace, continues: last });
  if (taking.outcome === 'busy')
    return fail(
      'busy',
      `${workspace} is now locked by run ${shownKey(taking.holder.stepKey)}.`,
      'See `emend list`.',
    );
  const files = await filesUnder(emend, workspace, taking.lock);
  const ended = closed.status.toLowerCase();
  return { stepKey, workspace, holder: taking.lock, ended, elsewhere: false, files };
};

const recordsUnder = ({ home }: Emend, workspace: string, holder: WorkspaceLock) =>
  appliedUnder(realSys, homePaths(home).transactions, workspace, holder);

/** Returns the paths that were applied under the lock, each once. */
export const filesUnder = async (
  emend: Emend,
  workspace: string,
  holder: WorkspaceLock,
): Promise<readonly string[]> => {
  const records = await recordsUnder(emend, workspace, holder);
  return [...new Set(records.flatMap(({ closed }) => closed.files))];
};
