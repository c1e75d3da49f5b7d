/** Runs Emend's own worker: recovery, then its task queues until it is stopped. */
import { Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import { fail } from '../shared/problems.js';
import type { Store } from '../stores/location.js';
import { build } from '../system/version.js';
import { commandToSetCurrent } from '../temporal/deployment.js';
import { resolveTimings } from '../temporal/settings.js';
import { installRuntime } from './code.js';
import { serveHealth, type WatchedWorker } from './health.js';
import { sdkLog } from './log.js';
import { measureRuns, type MeasuredGroup } from './metrics.js';
import {
  completeOptions,
  type Activities,
  type CompleteOptions,
  type RunningWorker,
  type ServedAs,
  type WorkerOptions,
} from './options.js';
import { STOP_END_MS, stopLimit_ms } from './parts.js';
import { prepare, type PreparedActivities } from './prepare.js';
import {
  connectWorker,
  runWorkers,
  type WorkerConnection,
  type WorkerPlace,
} from './run-workers.js';
import { createTemporalWorkers, type TemporalWorkers } from './temporal-workers.js';

/**
 * Runs what `emend worker` runs: one Temporal worker each for workflows, model calls, this host's workspaces and the commands there. At the dev
 * server of its home one worker serves all but the commands. Installs Temporal's runtime, one for each process, unless a connection is passed in.
 * Throws ProblemError as `createActivities`, no_server, and usage for some of the roles if they share a queue.
 */
export async function createWorker(
  options: WorkerOptions & ServedAs & WorkerPlace = {},
): Promise<RunningWorker> {
  const complete = await completeOptions(options);
  const endRuntime = installOwnRuntime(options, complete.logger);
  const resources: Resources = { endHealth: null, activities: null, connected: null };
  const opened = await openWorker(complete, options, resources).catch(async (error: unknown) => {
    // The runtime and an open connection each keep the process alive, also if nothing uses them.
    await closeAll(resources);
    await endRuntime?.();
    throw error;
  });
  return serve(complete, opened, resources);
}

/**
 * Installs the runtime, and returns the function that ends it. Null: the program made its connection with its own runtime, and a process has only
 * one. Throws ProblemError `usage` for an address that it could not serve.
 */
const installOwnRuntime = (
  { connection, metrics }: ServedAs & WorkerPlace,
  logger: Logger,
): (() => Promise<void>) | null => {
  if (connection === undefined)
    return installRuntime({
      logger: sdkLog(logger),
      core: 'WARN',
      metrics: metrics === true ? undefined : metrics,
    });
  if (typeof metrics === 'string')
    fail(
      'usage',
      `metrics: ${metrics}: the runtime of this connection is your program's.`,
      'Give your Runtime an exporter, and pass `metrics: true`.',
    );
  return null;
};

/** What a worker has opened so far, and has to close. */
interface Resources {
  endHealth: (() => Promise<void>) | null;
  activities: Activities | null;
  connected: WorkerConnection | null;
}

const closeAll = async ({ endHealth, activities, connected }: Resources): Promise<void> => {
  await endHealth?.();
  await activities?.close();
  await connected?.close();
};

interface OpenedWorker {
  readonly connected: WorkerConnection;
  readonly prepared: PreparedActivities;
  readonly temporal: TemporalWorkers;
}

/** Opens what the worker needs, and keeps it in `resources`. */
async function openWorker(
  complete: CompleteOptions,
  { connection, namespace }: WorkerPlace,
  resources: Resources,
): Promise<OpenedWorker> {
  const { env, home, health } = complete;
  const { connect_ms } = resolveTimings(env);
  let watched: WatchedWorker | null = null;
  if (health !== undefined) resources.endHealth = await serveHealth(health, () => watched);
  const connected = await connectWorker({ env, home, connect_ms, connection, namespace });
  resources.connected = connected;
  const prepared = await prepare(complete, connected);
  resources.activities = prepared.activities;
  const temporal = await createTemporalWorkers(complete, prepared.activities, connected);
  const polls = (): boolean => temporal.workers.every((worker) => worker.getState() === 'RUNNING');
  watched = { connection: connected.connection, polls };
  return { connected, prepared, temporal };
}

/** Starts the Temporal workers, and what runs next to them until they end. */
const serve = (
  complete: CompleteOptions,
  { connected, prepared, temporal }: OpenedWorker,
  resources: Resources,
): RunningWorker => {
  const { env, home } = complete;
  const { connection, namespace, address, uiUrl } = connected;
  const { activities, store, report } = prepared;
  const { workers, queues } = temporal;
  const homeEnv = { ...env, EMEND_HOME: home };
  const endMeasuring = startMeasuring(complete, { env: homeEnv, connection, namespace, queues });
  const { done, stop } = runWorkers(workers, {
    stop_ms: stopLimit_ms(resolveTimings(env).shutdownGrace_ms),
    close_ms: STOP_END_MS,
    close: async () => {
      endMeasuring?.();
      await closeAll(resources);
    },
  });
  void report();
  logStart(complete, connected, store, temporal);
  return { queues, address, uiUrl, recovered: activities.recovered, done, stop };
};

const startMeasuring = (
  { metrics, dataConverter }: CompleteOptions,
  group: MeasuredGroup,
): (() => void) | null => {
  if (metrics === undefined) return null;
  const conversion = dataConverter === undefined ? {} : { dataConverter };
  return measureRuns(Runtime.instance().metricMeter, { ...group, ...conversion });
};

const logStart = (
  { logger, home }: CompleteOptions,
  { address, namespace }: WorkerConnection,
  store: Store,
  { queues, roles, isVersioned }: TemporalWorkers,
): void => {
  logger.info(
    { address, namespace, queues, roles, build: build(), home, store, pid: process.pid },
    'worker ready',
  );
  if (isVersioned)
    logger.info(`given nothing until its build is current: ${commandToSetCurrent(build())}`);
};
