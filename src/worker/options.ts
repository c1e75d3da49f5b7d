/** Options of Emend's workers, and what a program gets for them. */
import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { WorkerInterceptors } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Queues, Role } from '../shared/names.js';
import { resolveHome } from '../stores/home.js';
import type { Environment } from '../system/environment.js';
import type { ProgramConnection, ServerPlace } from '../temporal/connection.js';
import { configuredDataConverter } from '../temporal/data-converter.js';
import type { RecoveredTransaction } from '../workspace/ports.js';
import type { PortsOptions } from './adapters.js';
import { workerLog } from './log.js';
import type { TemporalOptions, WorkerParts, WorkflowOptions } from './temporal-options.js';

/** All may be left out: `env` is `process.env`, `home` is the one that `env` names, and `logger` writes warnings to standard error. */
export interface WorkerOptions extends Partial<PortsOptions>, WorkflowOptions {
  /** Yours, the same in every client and worker. Its codecs must not throw while they encode a failure: that ends the worker. */
  readonly dataConverter?: DataConverter | undefined;
  /** Yours, outermost first. `workflowModules`, and converters of your own, have the workflows bundled at the start. */
  readonly interceptors?: WorkerInterceptors | undefined;
}
/** With the connection of the workers. Emend asks about other runs over it, whatever server the environment names. */
export interface ActivitiesOptions extends WorkerOptions, ProgramConnection {}
/** How a worker of Emend serves. */
export interface ServedAs extends TemporalOptions {
  /** Default: all. */
  readonly roles?: readonly Role[] | undefined;
  /** Workflows and model calls as a version of the Worker Deployment `emend`, which is given nothing until it is made current. */
  readonly deployment?: true | undefined;
  /**
   * Address at which Temporal's SDK serves `/metrics`, as in `127.0.0.1:9464`; default: none. Over a connection of yours: `true`, for your
   * Runtime exports what is measured.
   */
  readonly metrics?: string | true | undefined;
  /** Address of `/healthz` and `/readyz`, as in `127.0.0.1:9465`. Default: none. */
  readonly health?: string | undefined;
}

/** Emend's activities, in options for Temporal workers of your own. */
export interface Activities {
  /** For the worker of the workflows; add a `workflowsPath` or bundle with what `emend/workflows` exports, next to your own. */
  readonly workflows: WorkerParts;
  readonly model: WorkerParts;
  /** For this machine's workspaces. */
  readonly host: WorkerParts;
  /** For commands of the project there: tests, hooks, formatters, `worktree.setup`. A program that serves `host` also serves them. */
  readonly commands: WorkerParts;
  /** For repositories, which any machine may work on. */
  readonly anyHost: WorkerParts;
  readonly queues: Queues;
  /** Transactions that recovery found at the start. */
  readonly recovered: readonly RecoveredTransaction[];
  /** To be called when the workers have ended. */
  readonly close: () => Promise<void>;
}
/** A worker that runs. */
export interface RunningWorker
  extends Pick<Activities, 'queues' | 'recovered'>, Pick<ServerPlace, 'address' | 'uiUrl'> {
  /** Asks for a graceful stop and waits for its end; rejects with `worker_stuck` if it does not come (run-workers.ts). */
  stop(): Promise<void>;
  /** Settles when the worker has ended, however that came. */
  readonly done: Promise<void>;
}

/** Options of a program for one of the doors: createActivities, EmendPlugin or createWorker. */
interface ProgramOptions extends WorkerOptions, ServedAs {
  /** The program's own connection; absent: Emend connects to the server that the environment names. */
  readonly connection?: ProgramConnection['connection'] | undefined;
  readonly namespace?: string | undefined;
  readonly client?: Client | undefined;
}
/** Options with their defaults. */
export interface CompleteOptions extends ProgramOptions {
  readonly env: Environment;
  readonly home: string;
  readonly logger: Logger;
}

export const completeOptions = async ({
  env = process.env,
  home,
  logger,
  dataConverter,
  ...others
}: ProgramOptions): Promise<CompleteOptions> => ({
  ...others,
  env,
  home: home ?? (await resolveHome(env)),
  logger: logger ?? workerLog('warn'),
  dataConverter: dataConverter ?? (await configuredDataConverter(env)) ?? undefined,
});
