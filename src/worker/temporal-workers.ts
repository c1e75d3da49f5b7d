/** Creates the Temporal workers of a process: one for each queue that it serves. */
import { Worker } from '@temporalio/worker';
import {
  hostOfQueue,
  queuesFor,
  ROLES,
  workflowQueues,
  type Queues,
  type Role,
} from '../shared/names.js';
import { fail } from '../shared/problems.js';
import { build } from '../system/version.js';
import { DEPLOYMENT } from '../temporal/deployment.js';
import { ensureSearchAttributes } from '../temporal/search-attributes.js';
import { workflows } from './code.js';
import type { Activities, CompleteOptions } from './options.js';
import { withAllRoles } from './parts.js';
import type { WorkerConnection } from './run-workers.js';
import { tuned, tunedByRole, type WorkerParts } from './temporal-options.js';

const SEPARATE =
  'Leave out --roles, or give all workers and clients queues for each role: unset EMEND_ONE_QUEUE; export EMEND_QUEUE=emend';

export interface TemporalWorkers {
  readonly workers: readonly Worker[];
  readonly queues: Queues;
  readonly roles: readonly Role[];
  /** Some of them get no task until their build is current. */
  readonly isVersioned: boolean;
}

/** Throws ProblemError `usage` for some of the roles if all share a queue. */
export async function createTemporalWorkers(
  options: CompleteOptions,
  activities: Activities,
  { connection, namespace, own }: WorkerConnection,
): Promise<TemporalWorkers> {
  const { env, logger, roles = ROLES, plugins = [] } = options;
  const queues = queuesFor(env, hostOfQueue(activities.queues.host), own);
  const isShared = queues.workflow === queues.host;
  if (isShared && ROLES.some((role) => options.roles?.includes(role) === false))
    fail('usage', `All roles share the queue ${queues.host}.`, SEPARATE);
  await ensureSearchAttributes(connection, namespace, (message) => logger.warn(message));
  const servedParts = isShared
    ? partsOfOneQueue(options, activities, queues)
    : roles.flatMap((role) => partsOfRole(options, activities, role));
  const workers = await Promise.all(
    servedParts.map(({ part, isVersioned }) =>
      Worker.create({
        connection,
        namespace,
        plugins: [...plugins],
        ...(isVersioned ? versionedBuild() : unversionedBuild()),
        ...part,
      }),
    ),
  );
  const isVersioned = servedParts.some((served) => served.isVersioned);
  return { workers, queues, roles, isVersioned };
}

interface ServedPart {
  readonly part: WorkerParts;
  readonly isVersioned: boolean;
}

/** Returns the part of all roles for the queue that they share, and that of the commands. */
const partsOfOneQueue = (
  options: CompleteOptions,
  activities: Activities,
  queues: Queues,
): readonly ServedPart[] => {
  const workflowsPart = { ...workflows(options), ...activities.workflows };
  const shared = tuned(withAllRoles(activities, workflowsPart), options.tuners?.hosts);
  return [
    ...workflowQueues(queues).map((taskQueue) => ({
      part: { ...shared, taskQueue },
      isVersioned: options.deployment === true,
    })),
    { part: activities.commands, isVersioned: false },
  ];
};

/**
 * Returns the parts of a role. ◆ A queue of hosts is never versioned: a server takes 100 queues in one version and leaves out every further
 * one, so that no worker would serve the runs of the hosts that come later.
 */
const partsOfRole = (
  options: CompleteOptions,
  activities: Activities,
  role: Role,
): readonly ServedPart[] => {
  const parts = tunedByRole(activities, options.tuners ?? {});
  if (role === 'hosts')
    return [parts.host, parts.commands, parts.anyHost].map((part) => ({
      part,
      isVersioned: false,
    }));
  const part = role === 'model' ? parts.model : { ...workflows(options), ...parts.workflows };
  return [{ part, isVersioned: options.deployment === true }];
};

/** The build is in the events of each workflow task. The SDK's default for it has 90 characters. */
const unversionedBuild = () => ({ buildId: build() });

const versionedBuild = () =>
  ({
    workerDeploymentOptions: {
      version: { deploymentName: DEPLOYMENT, buildId: build() },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  }) as const;
