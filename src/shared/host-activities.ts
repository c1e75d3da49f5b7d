/** What crosses between workflows and the activities that are about hosts: which one lives, and which one has a checkout. */
import type { ActivityBase } from './proposal-activities.js';

export interface CheckHostInput extends ActivityBase {
  /** The host's own task queue. */
  readonly queue: string;
}

export interface HostActivities {
  /** Looks whether a live worker runs the commands of a host, also while all its slots are busy. */
  checkHost(input: CheckHostInput): Promise<{ readonly isServed: boolean }>;
  /** Makes the checkout of a run on a repository. `host`: the id of the host that has it now; absent: the run is on no repository. */
  prepareCheckout(input: ActivityBase): Promise<{ readonly host?: string }>;
}
