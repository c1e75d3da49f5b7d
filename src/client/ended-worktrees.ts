/**
 * Worktrees of plans that have ended without cleaning up (terminated, failed): removed with their branches once the phase's own run has
 * ended too. Of a run that the server does not know nothing can be said, and its worktree stays.
 */
import { join } from 'node:path';
import { ProblemError } from '../shared/problems.js';
import { isStepKey, planOf, type StepKey } from '../shared/refs.js';
import { createLeaseKeeper } from '../workspace/lease.js';
import { orNull } from '../workspace/sys-put.js';
import { realSys } from '../workspace/sys.js';
import { createWorktreeKeeper } from '../workspace/worktrees.js';
import { withLive } from './resolve-run.js';
import type { Emend } from './types.js';

export interface EndedWorktree {
  readonly plan: StepKey;
  readonly name: string;
  readonly path: string;
  /** `why`: it is still there. */
  readonly outcome: 'removed' | 'kept';
  /** The branch's last commit, where nothing else holds it, and the ref that keeps it. */
  readonly dropped: string | null;
  readonly kept: string | null;
  readonly why: string | null;
}

/** Never throws for an absent server: then nothing is looked at. */
export const settleWorktrees = async (emend: Emend): Promise<readonly EndedWorktree[]> => {
  const settled: EndedWorktree[] = [];
  if (emend.runs === null) return settled;
  const leases = createLeaseKeeper({ home: emend.home });
  const plans = (await orNull(realSys.readdir(join(emend.home, 'worktrees')))) ?? [];
  for (const plan of plans.filter((name) => isStepKey(name) && planOf(name) === name)) {
    if (!(await hasEnded(emend, plan))) continue;
    for (const { name, path } of await keeperOf(emend, (workspace) => leases.read(workspace)).list(plan)) {
      const phase = `${plan}-${name}`;
      // A phase's run outlives its plan's: while it is open the worktree is its workspace. No other can be started any more.
      if ((await withLive(emend, phase, null)).live?.open === true) continue;
      const keeper = keeperOf(emend, async (workspace) => {
        const holder = await leases.read(workspace);
        return holder?.stepKey === phase ? null : holder;
      });
      try {
        const removed = await keeper.remove(plan, name);
        const { dropped = null, kept = null } = removed ?? {};
        settled.push({ plan, name, path, outcome: 'removed', dropped, kept, why: null });
      } catch (error) {
        if (!(error instanceof ProblemError)) throw error;
        settled.push({ plan, name, path, outcome: 'kept', dropped: null, kept: null, why: error.problem.message });
      }
    }
  }
  return settled;
};

const keeperOf = ({ home }: Emend, readLease: Parameters<typeof createWorktreeKeeper>[0]['readLease']) =>
  createWorktreeKeeper({ home, readLease });

/** The server says so, or the archive where it has forgotten the run. */
const hasEnded = async (emend: Emend, stepKey: StepKey): Promise<boolean> => {
  const { live, archived } = await withLive(emend, stepKey, null);
  if (archived.started?.namespace !== emend.namespace) return false;
  return live === null ? archived.closed !== null : !live.open;
};
