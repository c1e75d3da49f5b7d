/**
 * Which process holds an open call. A process that is surely gone loses its call at once; where that cannot be known (another machine,
 * another container, a process that hangs) only the lease decides.
 */
import { randomUUID } from 'node:crypto';
import { isAlive, ownProcess, pidNamespace, type ProcessIdentity } from '../workspace/apply-process.js';
import type { Sys } from '../workspace/sys.js';

export interface SlotOwner {
  /** One per call, so that a process knows its own calls from those of an earlier attempt in the same process. */
  readonly id: string;
  readonly process: ProcessIdentity;
  /** Pids mean something only inside their namespace: two containers share a boot, not their processes. Null: not known. */
  readonly pidNamespace: string | null;
}

/** Calls that run in this process. */
const running = new Set<string>();

export const takeOwnership = async (sys: Sys): Promise<SlotOwner> => {
  const owner = { id: randomUUID(), process: await ownProcess(sys), pidNamespace: await pidNamespace(sys) };
  running.add(owner.id);
  return owner;
};

export const endOwnership = (owner: SlotOwner): void => {
  running.delete(owner.id);
};

/** True only where it is certain that nobody works on the call any more. */
export const isSurelyGone = async (sys: Sys, owner: SlotOwner): Promise<boolean> => {
  const own = await ownProcess(sys);
  const comparable =
    owner.process.boot === own.boot &&
    own.boot !== '-' &&
    owner.pidNamespace !== null &&
    owner.pidNamespace === (await pidNamespace(sys));
  if (!comparable) return false;
  if (!(await isAlive(sys, owner.process))) return true;
  return owner.process.pid === own.pid && !running.has(owner.id);
};
