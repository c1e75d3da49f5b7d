/**
 * The door of src/workspace/checkout: checkouts of repositories, in which no user works. `<home>-repositories/<URL>/` has a bare mirror, and a
 * worktree for each run and fencing token. All of it can be made again from the remote and the store. So it is neither locked nor recorded,
 * and what is not used for long is removed.
 */
import type { BlobStore } from '../../stores/ports.js';
import type { ApplyEngine, Workspace } from '../ports.js';
import type { Repository } from '../repository.js';
import { repositoryOf } from './bound-repository.js';
import { workspaceOf } from './bound-workspace.js';
import { openPlace, removeWorktree, type RunOnRepository } from './place.js';
import {
  resolveCommit,
  takeForReading,
  takeForWork,
  type CheckoutRequest,
  type TakenCheckout,
} from './take.js';

export type { RunOnRepository } from './place.js';
export type { CheckoutRequest } from './take.js';

/** A run's own checkout, its files as its base commit has them. Its ports work on it, whatever workspace they are called with. */
export interface Checkout {
  readonly workspace: Workspace;
  readonly repository: Repository;
  /** Removes the checkout of an attempt that was given up. That of another attempt of the same run stays. */
  leave(): Promise<void>;
}
export interface Checkouts {
  /** Id of the home. The next activity is first offered to the host that had the checkout last. */
  readonly host: string;
  /**
   * Returns the commit that the run's base names now. `knownCommit` has been checked before. Throws ProblemError `job_invalid`,
   * `repository_unsupported`, `remote_refused`, `git_failed`.
   */
  resolve(run: RunOnRepository, knownCommit?: string): Promise<{ readonly commit: string }>;
  /**
   * Takes a checkout of the commit that the base names now. Nothing is pushed from it, and the owner of the home removes it. Throws as both
   * others do.
   */
  look(run: RunOnRepository): Promise<Checkout>;
  /** Throws ProblemError `busy`: another attempt takes over at this moment; `remote_refused`, `git_failed`. */
  use(request: CheckoutRequest): Promise<Checkout>;
}

interface CheckoutHome {
  readonly home: string;
  readonly host: string;
  readonly blobs: BlobStore;
}

/** `engine` and `repository`: the adapters for directories. */
export const createCheckouts = (
  { home, host, blobs }: CheckoutHome,
  engine: ApplyEngine,
  repository: Repository,
): Checkouts => {
  const bind = (checkout: TakenCheckout): Checkout => {
    const workspace = workspaceOf(engine, checkout);
    return {
      workspace,
      leave: () => removeWorktree(checkout.place, checkout.hold),
      repository: repositoryOf({ blobs, engine, repository }, checkout, workspace),
    };
  };
  return {
    host,
    resolve: async (run, knownCommit) => ({
      commit: await resolveCommit(await openPlace(home, run), run, knownCommit),
    }),
    look: async (run) => bind(await takeForReading(await openPlace(home, run), run)),
    use: async (request) => bind(await takeForWork(await openPlace(home, request), request)),
  };
};
