/**
 * Holds of commands that work on a workspace by themselves (`emend patch`, `emend undo`): no server knows them, so the lease itself says
 * which process it is. Where that process is gone the hold stands for nothing: its transaction is finished or reverted, and it ends.
 */
import { isStepKey } from '../shared/refs.js';
import { isAlive, type ProcessIdentity } from './apply-process.js';
import { recordsOf } from './apply-record.js';
import { homePaths } from './home.js';
import { orNull } from './sys-put.js';
import { realSys, type Sys } from './sys.js';
import type { ApplyEngine, ApplyRequest, LeaseEnd, LeaseHolder, RunStanding } from './types.js';

/** No Temporal namespace may be named so. */
const NAMESPACE = '-local-';

/** `host`: the id of the home that has the transaction's record. */
export const localHolder = (host: string, { boot, pid, started }: ProcessIdentity): ApplyRequest['holder'] => ({
  namespace: NAMESPACE,
  workflowId: JSON.stringify({ host, boot, pid, started }),
});

const readHolder = ({ namespace, workflowId }: ApplyRequest['holder']): (ProcessIdentity & { host: string }) | null => {
  if (namespace !== NAMESPACE) return null;
  try {
    return JSON.parse(workflowId) as ProcessIdentity & { host: string };
  } catch {
    return { host: '', boot: '', pid: 0, started: '' };
  }
};

export const isLocal = (holder: ApplyRequest['holder']): boolean => holder.namespace === NAMESPACE;

/** What can be said of the command that holds a workspace; null: the holder is a run. `host`: id of the home that asks. */
export const standingOfLocal = async (
  holder: LeaseHolder,
  host: string,
  sys: Sys = realSys,
): Promise<RunStanding | null> => {
  const who = readHolder(holder);
  if (who === null) return null;
  if (await isAlive(sys, who)) return { state: 'open' };
  return { state: 'ended', how: 'its process is gone', finished: true, undo: false, elsewhere: who.host !== host };
};

/** Ends the hold of a command whose process is gone, after its transaction was recovered. Null: nothing of that kind holds the workspace. */
export const endDeadHold = async (engine: ApplyEngine, workspace: string, host: string): Promise<LeaseEnd | null> => {
  const holder = await engine.readLease(workspace);
  const standing = holder === null ? null : await standingOfLocal(holder, host);
  if (holder === null || standing?.state !== 'ended' || standing.elsewhere) return null;
  return engine.endLease(workspace, holder, true);
};

/** The same in every workspace that this home's transactions name and that is there; their paths. */
export const endDeadHolds = async (engine: ApplyEngine, home: string, host: string): Promise<readonly string[]> => {
  const { transactions } = homePaths(home);
  const workspaces = new Set<string>();
  for (const stepKey of ((await orNull(realSys.readdir(transactions))) ?? []).filter(isStepKey))
    for (const record of await recordsOf(realSys, transactions, stepKey, ['ENOENT', 'ENOTDIR'])) {
      const { plan } = await record.load();
      if (plan !== null && isLocal(plan.lease)) workspaces.add(plan.workspace);
    }
  const freed: string[] = [];
  for (const workspace of workspaces) {
    if ((await orNull(realSys.stat(workspace), ['ENOENT', 'ENOTDIR', 'EACCES'])) === null) continue;
    if ((await endDeadHold(engine, workspace, host))?.outcome === 'ended') freed.push(workspace);
  }
  return freed;
};
