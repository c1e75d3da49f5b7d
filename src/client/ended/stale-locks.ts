/**
 * Releases the locks of workspaces whose runs have ended (terminated, timed out, deleted), if nothing depends on them any more. If files were
 * applied and not committed, the lock stays, and commands show it until a person decides.
 */
import { nullOn, sentence } from '../../shared/problems.js';
import type { StepKey } from '../../shared/ids.js';
import { createApplyEngine, isLocal, whyAway } from '../../workspace/apply/index.js';
import { realSys } from '../../system/sys.js';
import type { HolderState, LockEnd, WorkspaceLock } from '../../workspace/ports.js';
import { runIndex, type RunIndex } from '../run-index/index.js';
import { foundApplied, noteClosed, withLive } from '../runs/resolve.js';
import { noServerNote, type Emend } from '../types.js';
import {
  filesUnder,
  noteRecovery,
  releaseLock,
  type EndedLock,
  type StaleLock,
} from './release-lock.js';
import { isElsewhere, stateOfRun } from './run-state.js';

/** Number of archives whose workspaces are looked at, the newest first. */
export const ARCHIVES = { recover: 1000, list: 50, workerStart: 200 } as const;
/** A workspace with one of these errors is gone, or belongs to another user. Any other error may pass. */
const GONE = ['ENOENT', 'ENOTDIR', 'EACCES'];

export interface ReleasedLock extends Omit<StaleLock, 'files'> {
  readonly because: 'nothing_applied' | 'committed' | 'finished' | 'put_back';
  /** The restored files, if `because` is `put_back`. */
  readonly undone?: EndedLock;
}
export interface LocksOfEnded {
  /** The locks of which a person must say what happens to the files. */
  readonly held: readonly StaleLock[];
  readonly released: readonly ReleasedLock[];
  /** The reason why not all locks could be judged; null: all were. */
  readonly note: string | null;
}

/**
 * Asks the server about the lock of each workspace that the newest archives name. It releases the lock of a closed run that applied nothing,
 * or whose commit exists. If the run was aborted or moved while this host did no work, it restores the files first. `known`: the index, if it
 * is up to date. Without a server no lock can be judged, which `note` says.
 */
export const releaseStaleLocks = async (
  emend: Emend,
  archives: number = ARCHIVES.recover,
  known?: RunIndex,
): Promise<LocksOfEnded> => {
  if (emend.runs === null) return { held: [], released: [], note: noServerNote(emend) };
  const sweep = new LockSweep(emend);
  const index = known ?? (await runIndex(emend));
  const newest = index.keys().slice(0, archives);
  const workspaces = newest.map((stepKey) => index.workspace(stepKey));
  for (const workspace of new Set(workspaces.filter((path) => path !== ''))) {
    await sweep.look(workspace);
    if (sweep.isOver) break;
  }
  return sweep.result();
};

class LockSweep {
  readonly #emend: Emend;
  readonly #engine: ReturnType<typeof createApplyEngine>;
  readonly #held: StaleLock[] = [];
  readonly #released: ReleasedLock[] = [];
  /** Workspaces that cannot be reached now, each with the error. */
  readonly #unreachable: string[] = [];
  /** The problem of the server that ends the sweep; null: it answers. */
  #serverProblem: string | null = null;
  isOver = false;

  constructor(emend: Emend) {
    this.#emend = emend;
    this.#engine = createApplyEngine({ home: emend.home, blobs: emend.blobs });
  }

  result(): LocksOfEnded {
    const unreachable = this.#unreachable.length === 0 ? null : `${this.#unreachable.join(', ')}.`;
    return {
      held: this.#held,
      released: this.#released,
      note: this.#serverProblem ?? unreachable,
    };
  }

  async look(workspace: string): Promise<void> {
    const holder = await this.#holderOf(workspace);
    // A command has its lock for a moment. workspace/apply/lock-owners.ts ends the lock of one that died.
    if (holder === null || isLocal(holder)) return;
    const run = await stateOfRun(this.#emend, holder, workspace);
    switch (run.state) {
      case 'open':
        return;
      case 'unknown':
        return this.#keepUnknown(workspace, holder, run);
      case 'ended':
        return this.#end(workspace, holder, run);
    }
  }

  async #holderOf(workspace: string): Promise<WorkspaceLock | null> {
    const error = await whyAway(realSys, workspace);
    // A workspace whose git does not answer delays none of the others.
    if (error === null) return this.#engine.readLock(workspace).catch(nullOn());
    if (!GONE.includes(error)) this.#unreachable.push(`${workspace} (${error})`);
    // The call that waits has one of the few threads that Node.js has for files. Some more of them would stop everything.
    if (error === 'no answer') this.isOver = true;
    return null;
  }

  async #keepUnknown(
    workspace: string,
    holder: WorkspaceLock,
    { why: reason }: Extract<HolderState, { state: 'unknown' }>,
  ): Promise<void> {
    if (reason === 'other_namespace') return;
    if (reason !== 'not_known') {
      this.#serverProblem = sentence(reason);
      this.isOver = true;
      return;
    }
    const elsewhere = await isElsewhere(this.#emend, holder.stepKey);
    await this.#keep(workspace, holder, 'not known to the server', elsewhere);
  }

  async #keep(
    workspace: string,
    holder: WorkspaceLock,
    ended: string,
    elsewhere: boolean,
  ): Promise<void> {
    const files = await filesUnder(this.#emend, workspace, holder);
    this.#held.push({ stepKey: holder.stepKey, workspace, holder, ended, elsewhere, files });
  }

  async #end(
    workspace: string,
    holder: WorkspaceLock,
    run: Extract<HolderState, { state: 'ended' }>,
  ): Promise<void> {
    if (run.elsewhere) return this.#keep(workspace, holder, run.how, true);
    const end = await this.#engine.releaseEnded(workspace, holder, run.finished);
    await noteEnd(this.#emend, holder, end);
    const stepKey: StepKey = holder.stepKey;
    const lock = { stepKey, workspace, holder, ended: run.how, elsewhere: false };
    if (end.outcome === 'ended') this.#released.push({ ...lock, because: end.because });
    if (end.outcome !== 'kept') return;
    const stale = { ...lock, files: end.files };
    // The person of this run aborted it. Files that cannot be restored are for that person to decide.
    const undone = run.undo ? await releaseLock(this.#emend, stale, 'undo').catch(nullOn()) : null;
    if (undone === null) this.#held.push(stale);
    else this.#released.push({ ...lock, because: 'put_back', undone });
  }
}

/** Writes the end of the run into its archive, because the server will forget it, and what recovery found that the archive did not have. */
const noteEnd = async (emend: Emend, holder: WorkspaceLock, end: LockEnd): Promise<void> => {
  const run = await withLive(emend, holder.stepKey, null).catch(nullOn('disk'));
  if (run === null) return;
  const { applied } = run.live?.open === false ? await noteClosed(emend, run) : run.archived;
  if (end.outcome === 'kept')
    await emend.archive.append(holder.stepKey, foundApplied(holder, applied, end.files));
  if (end.outcome === 'ended' && end.because === 'committed' && applied.length > 0)
    await noteRecovery(emend, holder, 'committed', []);
};
