/** What `emend patch` and `emend undo` work with: this machine's stores and transactions, no server. */
import { workspaceOf } from '../../client/workspace-of.js';
import { repositoryOf } from '../../workspace/git.js';
import { createApplyEngine } from '../../workspace/apply.js';
import { ownProcess } from '../../workspace/apply-process.js';
import { hostId, homePaths, requireHome, resolveHome } from '../../workspace/home.js';
import { endDeadHold, localHolder } from '../../workspace/local-holder.js';
import { openStores, resolveStore } from '../../workspace/store.js';
import { realSys } from '../../workspace/sys.js';
import type { ApplyEngine, ApplyRequest, Archive, BlobStore, RecoveredTransaction } from '../../workspace/types.js';
import type { Io } from '../io.js';

export interface Local {
  readonly engine: ApplyEngine;
  readonly blobs: BlobStore;
  readonly archive: Archive;
  /** Directory of this home's transactions. */
  readonly transactions: string;
  readonly holder: ApplyRequest['holder'];
  /** What earlier commands left half done and was finished or reverted now. */
  readonly recovered: readonly RecoveredTransaction[];
  /** Ends the workspace's hold of a command that died. */
  freeDead(workspace: string): Promise<void>;
}

/** The directory named, else the git repository that holds the current directory, else that. Throws ProblemError `usage`. */
export const localWorkspace = async ({ cwd }: Io, named: string | undefined): Promise<string> => {
  const here = await workspaceOf('', named ?? '.', cwd);
  return named === undefined ? ((await repositoryOf(here))?.root ?? here) : here;
};

/**
 * `recover`: whatever died half-way is finished or reverted before anything else is done. `existing`: a home that is not there is
 * refused, not made.
 */
export const openLocal = async (
  { env }: Io,
  { existing, recover }: { readonly existing: boolean; readonly recover: boolean },
): Promise<Local> => {
  if (existing) await requireHome(env);
  const home = await resolveHome(env);
  const { blobs, archive } = await openStores(home, await resolveStore(env, home));
  const engine = createApplyEngine({ home, blobs });
  const host = await hostId(home);
  return {
    engine,
    blobs,
    archive,
    transactions: homePaths(home).transactions,
    holder: localHolder(host, await ownProcess(realSys)),
    recovered: recover ? await engine.recover() : [],
    freeDead: async (workspace) => {
      await endDeadHold(engine, workspace, host);
    },
  };
};
