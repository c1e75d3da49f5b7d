/** What `emend patch` and `emend undo` work with: this machine's stores and transactions, no server. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../../shared/problems.js';
import { toApply, type Proposal } from '../../workspace/proposal.js';
import {
  isLocal,
  releaseDead,
  localHolder,
  createApplyEngine,
} from '../../workspace/apply/index.js';
import type {
  ApplyOutcome,
  ApplyRequest,
  ConflictFile,
  WorkspaceLock,
  ApplyEngine,
  RecoveredTransaction,
} from '../../workspace/ports.js';
import { shownKey } from '../../shared/ids.js';
import { workspaceOf } from '../../workspace/documents/index.js';
import { topOf } from '../../workspace/git/index.js';
import { ownProcess } from '../../system/process.js';
import { hostId, requireHome, resolveHome } from '../../stores/home.js';
import { openStores, resolveStore } from '../../stores/location.js';
import { realSys } from '../../system/sys.js';
import type { Archive, BlobStore } from '../../stores/ports.js';
import type { Io } from '../io.js';
import { transactionLines } from '../render/run.js';

// bound: A command that works on a workspace by itself is done in a moment; another one waits this long for it, asking this often.
const LOCAL_WAIT_MS = 10_000;
const LOCAL_POLL_MS = 100; // bound: It asks this often.

export interface Local {
  readonly engine: ApplyEngine;
  readonly blobs: BlobStore;
  readonly archive: Archive;
  readonly home: string;
  readonly holder: ApplyRequest['holder'];
  /** What earlier commands left half done and was finished or reverted now. */
  readonly recovered: readonly RecoveredTransaction[];
  /** Ends the workspace's hold of a command that died. */
  freeDead(workspace: string): Promise<unknown>;
}

/** The directory named, else the git repository that holds the current directory, else that. Throws ProblemError `usage`. */
export const localWorkspace = async ({ cwd }: Io, named: string | undefined): Promise<string> => {
  const here = await workspaceOf('', named ?? '.', cwd);
  return named === undefined ? topOf(here) : here;
};

/**
 * `recover`: whatever died half-way is finished or reverted, and told, before anything else is done. `existing`: a home that is not
 * there is refused, not made.
 */
export const openLocal = async (
  io: Io,
  { existing, recover }: { readonly existing: boolean; readonly recover: boolean },
): Promise<Local> => {
  const { env } = io;
  if (existing) await requireHome(env);
  const home = await resolveHome(env);
  const { blobs, archive } = await openStores(home, await resolveStore(env, home));
  const engine = createApplyEngine({ home, blobs });
  const host = await hostId(home);
  const recovered = recover ? await engine.recoverMarked() : [];
  for (const line of transactionLines(recovered)) io.err(line);
  return {
    engine,
    blobs,
    archive,
    home,
    holder: localHolder(host, await ownProcess(realSys)),
    recovered,
    freeDead: (workspace) => releaseDead(engine, workspace, host),
  };
};

// Why a workspace cannot be changed now, and what to type.

/** Throws ProblemError `busy`. */
export const failBusy = (workspace: string, holder: WorkspaceLock): never => {
  if (isLocal(holder))
    return fail(
      'busy',
      `Another command is working in ${workspace}. Nothing was changed.`,
      'Try again in a moment.',
    );
  const run = shownKey(holder.stepKey);
  return fail(
    'busy',
    `Run ${run} has locked ${workspace}. Nothing was changed.`,
    `Answer or abort it: \`emend show ${run}\`. If it has ended, \`emend recover\` shows what it left.`,
  );
};

// Applies what a command has built: waits for other commands that work in the workspace, and frees it again.

/** `applied`: all of it. `conflict`: except files that someone saved in the meantime. `base_changed`: nothing, for that reason. */
export interface LocallyApplied {
  readonly outcome: 'applied' | 'conflict' | 'base_changed';
  readonly conflicts: readonly ConflictFile[];
}

/** Throws ProblemError `busy`, or what the disk refuses; then nothing was changed. */
export const applyLocally = async (
  local: Local,
  workspace: string,
  proposal: Proposal,
): Promise<LocallyApplied> => {
  const { stepKey } = proposal;
  const applied = await applyOrWait(local, {
    stepKey,
    workspace,
    holder: local.holder,
    decision: 0,
    ...toApply(proposal),
  });
  switch (applied.outcome) {
    case 'busy':
      return failBusy(workspace, applied.holder);
    case 'failed': {
      const { code, message, next } = applied.problem;
      return fail(code, `${message} Nothing was changed.`, next);
    }
    case 'base_changed':
      return { outcome: 'base_changed', conflicts: applied.conflicts };
    case 'applied':
    case 'conflict': {
      await local.engine.releaseLock(workspace, stepKey, applied.lock.token);
      return {
        outcome: applied.outcome,
        conflicts: applied.outcome === 'conflict' ? applied.conflicts : [],
      };
    }
  }
};

/** Another command is done in a moment, and one that died holds nothing; a run may hold its workspace for days. */
const applyOrWait = async (local: Local, request: ApplyRequest): Promise<ApplyOutcome> => {
  const deadline = performance.now() + LOCAL_WAIT_MS;
  for (;;) {
    const outcome = await local.engine.apply(request);
    if (outcome.outcome !== 'busy' || !isLocal(outcome.holder) || performance.now() > deadline)
      return outcome;
    await local.freeDead(request.workspace);
    await sleep(LOCAL_POLL_MS);
  }
};
