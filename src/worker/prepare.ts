/**
 * Recovers a home, and makes the activities of its workers. Recovery comes first: no activity may run next to a transaction that a crash left
 * open.
 */
import { askEndedRuns, type EndedRuns } from '../client/ended/runs.js';
import { queuesFor } from '../shared/names.js';
import { resolveStore, type Store } from '../stores/location.js';
import { useLauncher } from '../system/launcher.js';
import { clearScratch } from '../system/scratch.js';
import * as live from '../temporal/live-workers.js';
import { createPorts } from './adapters.js';
import { reportLeftovers } from './leftovers.js';
import type { Activities, CompleteOptions } from './options.js';
import { partsOfRoles } from './parts.js';
import type { WorkerConnection } from './run-workers.js';
import { startAsHost, warnOfNewHome } from './start-as-host.js';

export interface PreparedActivities {
  readonly activities: Activities;
  readonly store: Store;
  /** To be called without a wait for its end: a server that answers slowly, or not at all, must not delay the work. */
  readonly report: () => Promise<void>;
}

/**
 * Throws ProblemError: home_unusable, store_unusable, config_invalid. `server`: Emend asks it for other workers of this home before it touches
 * the home; null: it does not ask.
 */
export async function prepare(
  options: CompleteOptions,
  server: WorkerConnection | null,
): Promise<PreparedActivities> {
  const { env, home, logger } = options;
  useLauncher();
  await warnOfNewHome(home, logger);
  const store = await resolveStore(env, home);
  const { id, start } = await startAsHost(options, store, server);
  const queues = queuesFor(env, id);
  const endedRuns = endedRunsOf(options);
  const ports = await createPorts(options, store, endedRuns);
  const recovered = await ports.workspace.recoverMarked();
  for (const transaction of recovered) logger.warn(transaction, 'recovered a transaction');
  await clearScratch();
  const identity = live.workerIdentity(store.id, id, start, options.deployment);
  const activities: Activities = {
    queues,
    recovered,
    ...partsOfRoles(options, ports, { queues, identity }),
    close: () => endedRuns.close(),
  };
  return { activities, store, report: () => reportLeftovers(endedRuns, home, logger) };
}

const endedRunsOf = ({
  env,
  home,
  client,
  connection,
  namespace,
  dataConverter,
}: CompleteOptions): EndedRuns =>
  askEndedRuns({
    env: { ...env, EMEND_HOME: home },
    ...(client === undefined ? {} : { client }),
    ...(connection === undefined ? {} : { connection, namespace }),
    ...(dataConverter === undefined ? {} : { dataConverter }),
  });
