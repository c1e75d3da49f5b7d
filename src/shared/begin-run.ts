/**
 * The first activity of a run: it reads the typed input, and returns all that the run goes by from then on. The run has no
 * settings before, so how it is called is part of the protocol.
 */
import type { Queues } from './names.js';
import type { PlanCheckpoint } from './plan.js';
import type { ActivityBase } from './proposal-activities.js';
import type { PlanSetup, StepSetup } from './run.js';

/**
 * Options of the call, which no setting changes. The task queue is that of the workflow. It is retried until it succeeds: a store that
 * cannot be reached for a while loses no run.
 */
export const BEGIN_RUN_OPTIONS = {
  startToCloseTimeout: '2 minutes', // bound: Maximum time of one attempt, which reads the store and asks the server for its workers.
  heartbeatTimeout: '20 seconds', // bound: A worker that died is replaced after this time.
  retry: {
    initialInterval: '1 second', // bound: Wait before the second attempt.
    maximumInterval: '30 seconds', // bound: Maximum wait between two attempts.
  },
} as const;

export interface BeginRunInput extends ActivityBase {
  readonly kind: 'job' | 'plan';
  /** As it was typed. */
  readonly input: unknown;
}
export type BeginRunResult =
  | { readonly outcome: 'begun'; readonly setup: StepSetup | PlanSetup }
  /** The input does not fit; `message` names the field and an example. */
  | { readonly outcome: 'invalid'; readonly message: string };

export interface BeginActivities {
  beginRun(input: BeginRunInput): Promise<BeginRunResult>;
}

/** A host of the group, and whether a worker serves it now. */
export interface LiveHost {
  /** 32 hex digits. */
  readonly id: string;
  readonly name: string;
  readonly isLive: boolean;
}
/** What a run takes over from the worker that begins it. */
export interface GroupFacts {
  readonly queues: Queues;
  /** Address of the Temporal server. */
  readonly address: string;
  /** The search attributes are registered. */
  readonly searchAttributes: boolean;
  /** Address of the review page; null: none is served. */
  readonly page: string | null;
}
/** The workers that serve the same task queues, as the server and the store know them. Each call throws ProblemError `no_server`. */
export interface WorkerGroup {
  /** Asks the server and reads the home. */
  facts(): Promise<GroupFacts>;
  /** All hosts that the store knows. */
  hosts(): Promise<readonly LiveHost[]>;
  /** Whether a live worker runs the commands of the host with this queue. */
  runsCommands(hostQueue: string): Promise<boolean>;
  /** The newest checkpoint of an earlier run of the plan on this host; null: there is none. `stepKey`: of this run. */
  lastCheckpoint(
    plan: Pick<PlanSetup, 'workspace' | 'planPath' | 'queues' | 'stepKey'>,
  ): Promise<PlanCheckpoint | null>;
}
