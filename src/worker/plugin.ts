/**
 * Emend in the worker of another team. Their worker serves their task queue, on which they start workflows and runs of Emend; the plugin adds the activity that
 * reads a run's input, and runs Emend's other workers for as long as theirs runs: `<queue>-model`, `<queue>-host-<id>`, and so on.
 *
 * `Worker.create` awaits `configureWorker`, so the recovery of the home ends before any worker polls. TypeScript's workflows are in one bundle, which no
 * plugin can extend: the team's workflows export those of `emend/workflows`.
 */
import type { Client } from '@temporalio/client';
import {
  Worker,
  type NativeConnection,
  type WorkerOptions,
  type WorkerPlugin,
} from '@temporalio/worker';
import type { Logger } from 'pino';
import { fail } from '../shared/problems.js';
import type { Environment } from '../system/environment.js';
import { runWorkers, type OneWorker } from './run-workers.js';
import type { TemporalOptions, WorkerParts } from './temporal-options.js';

/** What a plugin is created with. All but the client may be left out. */
export interface PluginOptions extends Pick<TemporalOptions, 'tuners'> {
  /** Asks the server about other runs. Its data converter counts for the worker also, unless the worker has its own. */
  readonly client: Client;
  /** EMEND_HOME. Default: as the environment has it. */
  readonly home?: string | undefined;
  /** EMEND_STORE. Default: as the environment has it. */
  readonly store?: string | undefined;
  /** Other settings of Emend. Default: `process.env`. */
  readonly env?: Environment | undefined;
  readonly logger?: Logger | undefined;
}

/** What the plugin adds to a worker. */
export interface PluginParts {
  /** Closes what the activities use, once all workers have ended. */
  readonly close: () => Promise<void>;
  /** The part of the worker's own queue. */
  readonly own: WorkerParts;
  /** Parts of the workers next to it. Those with `sinks` also serve workflows. */
  readonly others: readonly WorkerParts[];
  /** Maximum time from the wish to stop to the end of waiting. */
  readonly stop_ms: number;
  readonly close_ms: number;
}
/** Options of a worker of the team, once they are known to fit. */
export type TeamWorkerOptions = WorkerOptions & { readonly connection: NativeConnection };
export type OpenParts = (options: PluginOptions, worker: TeamWorkerOptions) => Promise<PluginParts>;

export class TeamWorkerPlugin implements WorkerPlugin {
  readonly name = 'emend';
  readonly #options: PluginOptions;
  readonly #open: OpenParts;
  #added: { readonly parts: PluginParts; readonly worker: TeamWorkerOptions } | null = null;

  constructor(options: PluginOptions, open: OpenParts) {
    this.#options = options;
    this.#open = open;
  }

  /** Recovers the home and adds Emend's part. Throws ProblemError as `createActivities`, and `usage` for a worker that does not fit. */
  async configureWorker(options: WorkerOptions): Promise<WorkerOptions> {
    const { client } = this.#options;
    if (this.#added !== null)
      fail('usage', 'This EmendPlugin already has a worker.', 'Create a plugin for each worker.');
    const { connection } = options;
    if (connection === undefined)
      return fail(
        'usage',
        'EmendPlugin: the worker has no connection.',
        'Pass one: Worker.create({ connection: await NativeConnection.connect({ address }), … })',
      );
    const { namespace } = client.options;
    if ((options.namespace ?? 'default') !== namespace)
      fail(
        'usage',
        `EmendPlugin: the worker serves the namespace "${options.namespace ?? 'default'}", but the client is of "${namespace}".`,
        'Create both with the same namespace.',
      );
    const worker = { ...options, connection };
    const parts = await this.#open(this.#options, worker);
    this.#added = { parts, worker };
    return merged(worker, parts.own);
  }

  /** Runs Emend's other workers next to the team's, and ends them with it. */
  async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    if (this.#added === null) return next(worker);
    const { parts, worker: options } = this.#added;
    const others = await Promise.all(
      parts.others.map((part) => Worker.create(nextTo(worker, options, part))),
    ).catch(async (error: unknown) => {
      await parts.close();
      throw error;
    });
    const end = (): void => {
      for (const other of others) if (other.getState() === 'RUNNING') other.shutdown();
    };
    const team: OneWorker = {
      run: () => next(worker).finally(end),
      getState: () => worker.getState(),
      getStatus: () => worker.getStatus(),
      shutdown: () => worker.shutdown(),
    };
    const { stop_ms, close_ms, close } = parts;
    await runWorkers([team, ...others], { stop_ms, close_ms, close }).done;
  }
}

/** Returns the options of the team's worker with Emend's part. What both set is the team's, except what Emend cannot work without. */
const merged = (worker: TeamWorkerOptions, part: WorkerParts): WorkerOptions => {
  const { maxConcurrentActivityTaskExecutions, ...rest } = part;
  const slots =
    worker.tuner === undefined && maxConcurrentActivityTaskExecutions !== undefined
      ? { maxConcurrentActivityTaskExecutions }
      : {};
  const { activities, dataConverter, interceptors, sinks } = part;
  return {
    ...slots,
    ...rest,
    ...worker,
    activities: { ...withoutClash(worker.activities, activities), ...activities },
    ...(dataConverter === undefined ? {} : { dataConverter }),
    ...(interceptors === undefined ? {} : { interceptors }),
    ...(sinks === undefined ? {} : { sinks }),
  };
};

/** Returns the activities of the team. Throws ProblemError `usage` if one has the name of one of Emend's. */
const withoutClash = (theirs: object = {}, ours: object = {}): Record<string, unknown> => {
  const entries: Iterable<[string, unknown]> =
    theirs instanceof Map ? theirs : Object.entries(theirs);
  const named = Object.fromEntries(entries);
  const clash = Object.keys(ours).find((name) => name in named);
  if (clash !== undefined)
    fail('usage', `The activity "${clash}" is also one of Emend's.`, 'Give yours another name.');
  return named;
};

/**
 * Returns the options of a worker next to the team's. Its interceptors are those that the team's worker has after all plugins, whatever
 * their order; so are its sinks if it serves workflows, in the team's bundle.
 */
const nextTo = (
  { options: { interceptors, sinks } }: Worker,
  { connection, namespace, workflowsPath, workflowBundle, bundlerOptions }: TeamWorkerOptions,
  part: WorkerParts,
): WorkerOptions => {
  const { activity, workflowModules } = interceptors;
  const base = { connection, ...part, ...(namespace === undefined ? {} : { namespace }) };
  if (part.sinks === undefined) return { ...base, interceptors: { activity } };
  return {
    ...base,
    interceptors: { activity, workflowModules },
    sinks: ofPrograms(sinks),
    ...(workflowsPath === undefined ? {} : { workflowsPath }),
    ...(workflowBundle === undefined ? {} : { workflowBundle }),
    ...(bundlerOptions === undefined ? {} : { bundlerOptions }),
  };
};

/** Returns the sinks without those that the SDK adds to every worker, and takes from nobody else. */
const ofPrograms = (sinks: WorkerParts['sinks'] = {}): NonNullable<WorkerParts['sinks']> =>
  Object.fromEntries(Object.entries(sinks).filter(([name]) => !name.startsWith('__temporal_')));
