/** Emend's parts in the worker of another team: what EmendPlugin adds to that worker, and the workers next to it. */
import { resolveTimings } from '../temporal/settings.js';
import { ensureSearchAttributes } from '../temporal/search-attributes.js';
import { completeOptions, type CompleteOptions } from './options.js';
import { STOP_END_MS, stopLimit_ms, withAllRoles } from './parts.js';
import type { OpenParts, PluginOptions, TeamWorkerOptions } from './plugin.js';
import { prepare } from './prepare.js';
import { connectWorker, type WorkerConnection } from './run-workers.js';
import { tuned, tunedByRole } from './temporal-options.js';

/** Recovers the home, and divides Emend's activities between the worker of the team and the workers next to it. */
export const openParts: OpenParts = async (pluginOptions, worker) => {
  const { tuners = {} } = pluginOptions;
  const options = await completeOptions(optionsOf(pluginOptions, worker));
  const { shutdownGrace_ms } = resolveTimings(options.env);
  const connected = await connectTo(worker, pluginOptions, options);
  const { connection, namespace } = connected;
  await ensureSearchAttributes(connection, namespace, (message) => options.logger.warn(message));
  const { activities, report } = await prepare(options, connected);
  void report();
  const { workflows, model, host, commands, anyHost, queues } = tunedByRole(activities, tuners);
  const isShared = queues.workflow === queues.host;
  const shared = tuned(withAllRoles(activities, activities.workflows), tuners.hosts);
  return {
    close: () => activities.close(),
    own: isShared ? shared : workflows,
    others: isShared ? [shared, commands] : [model, host, commands, anyHost],
    stop_ms: stopLimit_ms(shutdownGrace_ms),
    close_ms: STOP_END_MS,
  };
};

/** Returns the options of Emend for a plugin in this worker. The worker's task queue is Emend's queue. */
const optionsOf = (
  { client, home, store, env = process.env, logger }: PluginOptions,
  worker: TeamWorkerOptions,
): Parameters<typeof completeOptions>[0] => ({
  env: {
    ...env,
    EMEND_QUEUE: worker.taskQueue,
    ...(home === undefined ? {} : { EMEND_HOME: home }),
    ...(store === undefined ? {} : { EMEND_STORE: store }),
  },
  ...(logger === undefined ? {} : { logger }),
  client,
  dataConverter: worker.dataConverter ?? client.options.dataConverter,
  interceptors: worker.interceptors,
  sinks: worker.sinks,
});

const connectTo = (
  { connection }: TeamWorkerOptions,
  { client }: PluginOptions,
  { env, home }: CompleteOptions,
): Promise<WorkerConnection> =>
  connectWorker({
    env,
    home,
    connect_ms: resolveTimings(env).connect_ms,
    connection,
    namespace: client.options.namespace,
  });
