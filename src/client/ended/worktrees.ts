/**
 * Removes the worktrees of plans that ended without cleaning up (terminated, failed), with their branches, once the run of the phase has ended
 * as well. The state of a run that the server does not know is not known, so its worktree stays.
 */
import { join } from 'node:path';
import { isStepKey, planOf, type StepKey } from '../../shared/ids.js';
import { problemOn, sentence } from '../../shared/problems.js';
import { orNull } from '../../system/durable.js';
import { realSys } from '../../system/sys.js';
import { createLocks } from '../../workspace/apply/index.js';
import { createWorktreeKeeper } from '../../workspace/git/index.js';
import type { RemovedWorktree } from '../../workspace/repository.js';
import { withLive } from '../runs/resolve.js';
import type { Emend } from '../types.js';

export interface EndedWorktree extends Omit<RemovedWorktree, 'branch'> {
  readonly plan: StepKey;
  readonly path: string;
  /** `kept`: another step has locked the worktree. `failed`: it, or the record of it or of its plan, cannot be read or removed. A plan has no name. */
  readonly outcome: 'removed' | 'kept' | 'failed';
  readonly why: string | null;
}

/** Removes the worktrees of ended plans. Without a server it removes none. Damage in one plan keeps those of no other. */
export const removeEndedWorktrees = async (emend: Emend): Promise<readonly EndedWorktree[]> => {
  if (emend.runs === null) return [];
  const removal = new WorktreeRemoval(emend);
  const plans = (await orNull(realSys.readdir(join(emend.home, 'worktrees')))) ?? [];
  for (const plan of plans.filter((name) => isStepKey(name) && planOf(name) === name))
    await removal.removeOfPlan(plan);
  return removal.worktrees;
};

class WorktreeRemoval {
  readonly worktrees: EndedWorktree[] = [];
  readonly #emend: Emend;
  readonly #locks: ReturnType<typeof createLocks>;

  constructor(emend: Emend) {
    this.#emend = emend;
    this.#locks = createLocks({ home: emend.home });
  }

  async removeOfPlan(plan: StepKey): Promise<void> {
    try {
      if (!(await hasEnded(this.#emend, plan))) return;
      const { home } = this.#emend;
      const readLock = (workspace: string) => this.#locks.read(workspace);
      for (const { name, path } of await createWorktreeKeeper({ home, readLock }).list(plan))
        await this.#removeOne(plan, name, path);
    } catch (error) {
      this.#noteProblem(error, { plan, name: '', path: '' });
    }
  }

  async #removeOne(plan: StepKey, name: string, path: string): Promise<void> {
    const phase = `${plan}-${name}`;
    try {
      // The run of a phase may outlive the run of its plan. While it is open, the worktree is its workspace. No other run can start there.
      if ((await withLive(this.#emend, phase, null)).live?.open === true) return;
      const { home } = this.#emend;
      const readLock = async (workspace: string) => {
        const holder = await this.#locks.read(workspace);
        return holder?.stepKey === phase ? null : holder;
      };
      const removed = await createWorktreeKeeper({ home, readLock }).remove(plan, name);
      const { dropped = null, kept = null } = removed ?? {};
      this.worktrees.push({ plan, name, path, outcome: 'removed', dropped, kept, why: null });
    } catch (error) {
      this.#noteProblem(error, { plan, name, path });
    }
  }

  /** Notes that the worktree stays. Throws the error again if no server answers. */
  #noteProblem(error: unknown, worktree: Pick<EndedWorktree, 'plan' | 'name' | 'path'>): void {
    const problem = problemOn()(error);
    if (problem.code === 'no_server') throw error;
    this.worktrees.push({
      ...worktree,
      outcome: problem.code === 'busy' ? 'kept' : 'failed',
      dropped: null,
      kept: null,
      why: sentence(problem),
    });
  }
}

/** Returns whether the plan has ended. The server knows it, or the archive if the server has forgotten the run. */
const hasEnded = async (emend: Emend, stepKey: StepKey): Promise<boolean> => {
  const { live, archived } = await withLive(emend, stepKey, null);
  if (archived.started?.namespace !== emend.namespace) return false;
  return live === null ? archived.closed !== null : !live.open;
};
