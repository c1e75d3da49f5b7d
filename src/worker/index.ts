/**
 * The door of src/worker. A worker: recovery first, then its task queues (workflows, model calls, this host's workspaces; or one for all) until
 * it is stopped. Stopping lets running model calls finish within the grace time or hands them back.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { Runtime, Worker, type WorkerInterceptors } from '@temporalio/worker';
import type { Logger } from 'pino';
import { archiveSink, createActivities as activitiesOf } from '../activities/index.js';
import { askEndedRuns, type EndedRuns } from '../client/ended/runs.js';
import {
  commandQueueOf,
  hostOfQueue,
  workflowQueues,
  queuesFor,
  queuesOfAny,
  ROLES,
  type Queues,
  type Role,
} from '../shared/names.js';
import { fail } from '../shared/problems.js';
import { resolveTimings } from '../temporal/settings.js';
import {
  homePaths,
  hostId,
  resolveHome,
  knownHosts,
  recordStart,
  startOn,
} from '../stores/home.js';
import { openStores, resolveStore, type Store } from '../stores/location.js';
import { orNull } from '../system/durable.js';
import { clearScratch } from '../system/scratch.js';
import { useLauncher } from '../system/launcher.js';
import { openRedo } from '../system/redo.js';
import type { Environment } from '../system/environment.js';
import { realSys } from '../system/sys.js';
import { build } from '../system/version.js';
import { boundFailures } from '../temporal/failures.js';
import { asFailure, withBlobs } from '../temporal/payloads.js';
import { ensureSearchAttributes } from '../temporal/search-attributes.js';
import type { ProgramConnection, ServerPlace } from '../temporal/connection.js';
import { configuredDataConverter } from '../temporal/data-converter.js';
import { commandToSetCurrent, DEPLOYMENT } from '../temporal/deployment.js';
import * as live from '../temporal/live-workers.js';
import { clearLayers } from '../workspace/layers/index.js';
import type { RecoveredTransaction } from '../workspace/ports.js';
import { createPorts, type PortsOptions } from './adapters.js';
import { installRuntime, workflows } from './code.js';
import { serveHealth, type WatchedWorker } from './health.js';
import { logRun, sdkLog, workerLog } from './log.js';
import { countCalls, measureRuns, type MeasuredGroup } from './metrics.js';
import { TeamWorkerPlugin, type OpenParts, type PluginOptions } from './plugin.js';
import {
  tuned,
  tunedByRole,
  withOwnSinks,
  type TemporalOptions,
  type WorkerParts,
  type WorkflowOptions,
} from './temporal-options.js';
import {
  connectWorker,
  runWorkers,
  type WorkerConnection,
  type WorkerPlace,
} from './run-workers.js';

export { replayOpen, type Replayed } from './code.js';
export { workerLog } from './log.js';
export type { PluginOptions } from './plugin.js';
export type { WorkerParts } from './temporal-options.js';
export { estimateOnly, type Estimated, type ToEstimate } from './estimate.js';

// bound: Activities of a host that one worker runs at once, model calls that wait for a turn among them: with the SDK's 100 they keep all else out.
const HOST_SLOTS = 2_000;
// bound: Commands of the project (tests, hooks, formatters, `worktree.setup`) that one worker runs at once: as many as the machine has cores. Others wait on the server.
const COMMAND_SLOTS = availableParallelism();
// bound: Part of their heartbeat time-out after which the beats of commands reach the server: each costs an action, and one may be lost. A cancel comes with its answer.
const COMMAND_BEAT_PART = 1 / 2;
const CACHED_RUNS = 200; // bound: Runs whose state a worker keeps; of another it reads the history again when something happens.
const STOP_FORCE_MS = 10_000; // bound: Past the grace time activities are told to stop; those that do not listen are waited for this long,
const STOP_END_MS = 5_000; // bound: and the end of worker and connection after that.

/** All may be left out: `env` is `process.env`, `home` what it names, `logger` says warnings on standard error. */
export interface WorkerOptions extends Partial<PortsOptions>, WorkflowOptions {
  /** Yours, the same in every client and worker. Its codecs must not throw while they encode a failure: that ends the worker. */
  readonly dataConverter?: DataConverter | undefined;
  /** Yours, outermost first. `workflowModules`, and converters of your own, have the workflows bundled at the start. */
  readonly interceptors?: WorkerInterceptors | undefined;
}
/** The connection of the workers: runs other than those that they work for are asked for over it, whatever server the environment names. */
export interface ActivitiesOptions extends WorkerOptions, ProgramConnection {}
/** How a worker of ours serves. */
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
  /** For the worker of the workflows; add a `workflowsPath` or bundle with what `emend/workflows` exports, beside your own. */
  readonly workflows: WorkerParts;
  readonly model: WorkerParts;
  /** For this machine's workspaces. */
  readonly host: WorkerParts;
  /** For commands of the project there: tests, hooks, formatters, `worktree.setup`. Whoever serves `host` serves them too. */
  readonly commands: WorkerParts;
  /** For repositories, which any machine may work on. */
  readonly anyHost: WorkerParts;
  readonly queues: Queues;
  /** What recovery found at the start. */
  readonly recovered: readonly RecoveredTransaction[];
  /** To be called when the workers have ended. */
  close(): Promise<void>;
}
/** A worker that runs. */
export interface RunningWorker
  extends Pick<Activities, 'queues' | 'recovered'>, Pick<ServerPlace, 'address' | 'uiUrl'> {
  /** Asks for a graceful stop and waits for its end; rejects with `worker_stuck` where it does not come (run-workers.ts). */
  stop(): Promise<void>;
  /** Settles when the worker has ended, however that came. */
  readonly done: Promise<void>;
}

/** A home that is not mounted looks like one that was never used: whoever starts a worker in it should know. */
async function sayNewHome(home: string, logger: Logger): Promise<void> {
  if ((await orNull(realSys.stat(homePaths(home).hostId))) !== null) return;
  logger.warn({ home }, 'new home: runs started in another home wait for a worker there');
}

/**
 * Records that a worker starts as this home's host. Two machines must not work as one: a home that was copied or cloned has the id of the
 * first, and so its task queue. With a `server` it throws ProblemError `home_unusable` where another machine serves the host's queue. A
 * machine that was booted anew is the same one: it is refused only where the other boot is heard again, as two may have been made of one.
 */
const startAsHost = async (
  { env, home, machine }: Pick<PortsOptions, 'env' | 'home' | 'machine'>,
  store: Store,
  server?: WorkerConnection,
) => {
  const id = await hostId(home);
  const { records } = await openStores(home, store);
  const queue = queuesFor(env, id).host;
  const start = await startOn(realSys, home, build(), machine);
  for (;;) {
    const before = (await knownHosts(records)).get(id);
    const others = async () =>
      server === undefined
        ? []
        : live.pollingOf((await live.workersOf(server, queue, [queue])).workers, start.boot);
    const found = await others();
    let [other] = found;
    if (other !== undefined && before?.machine === start.machine) {
      const last_ms = Math.max(...found.map(({ seen_ms }) => seen_ms));
      await sleep(live.WORKER_LOOK_AGAIN_MS);
      other = (await others()).find(({ seen_ms }) => seen_ms > last_ms);
    }
    if (other !== undefined)
      fail(
        'home_unusable',
        `The home at ${home} has the id of a host that another machine serves: ${other.said}.`,
        `Two machines must not work as one host. Stop that worker (if it was killed: wait ${live.HOST_SILENT_MS / 1000} s), or give this machine a home of its own: set EMEND_HOME, or, where no run waits for this copy, remove ${homePaths(home).hostId}.`,
      );
    if (await recordStart(records, id, start, before)) return { id, start };
  }
};

/** `report`: to be called beside the work, not before it: a server that answers slowly, or not at all, holds up nothing. `server`: whose workers are asked before this home is touched. */
async function prepare(
  { connection, namespace, client, ...all }: Awaited<ReturnType<typeof complete>>,
  server?: WorkerConnection,
) {
  const { env, home, logger, dataConverter, interceptors, ...more } = all;
  useLauncher();
  const store = await resolveStore(env, home);
  await sayNewHome(home, logger);
  const { id, start } = await startAsHost(all, store, server);
  const queues = queuesFor(env, id);
  const endedRuns = askEndedRuns({
    env: { ...env, EMEND_HOME: home },
    ...(client === undefined ? {} : { client }),
    ...(connection === undefined ? {} : { connection, namespace }),
    ...(dataConverter === undefined ? {} : { dataConverter }),
  });
  const { sys = realSys } = more;
  const redo = await openRedo(sys, home);
  const ports = await createPorts(
    { env, home, logger, ...more, sys: { ...sys, redo } },
    store,
    endedRuns,
  );
  const { timings } = ports;
  const recovered = await ports.workspace.recover();
  for (const transaction of recovered) logger.warn(transaction, 'recovered a transaction');
  await clearScratch();
  const { host, command, model, workflow } = activitiesOf(ports);
  const common = {
    identity: live.workerIdentity(store.id, id, start, more.deployment),
    dataConverter: withBlobs(ports.blobs, asFailure, dataConverter),
    interceptors: {
      ...interceptors,
      activity: [...(interceptors?.activity ?? []), logRun, countCalls, boundFailures],
    },
    shutdownGraceTime: timings.shutdownGrace_ms,
    // Past the grace time activities are told to stop; one that does not listen must not hold the process for ever.
    shutdownForceTime: timings.shutdownGrace_ms + STOP_FORCE_MS,
    workflowTaskPollerBehavior: { type: 'autoscaling' } as const,
    activityTaskPollerBehavior: { type: 'autoscaling' } as const,
  };
  // A cancelled activity must hear of it soon: beats are passed on at least this often.
  const paced = {
    maxHeartbeatThrottleInterval: '5s',
    maxConcurrentActivityTaskExecutions: HOST_SLOTS,
  } as const;
  const ofHost = { ...common, activities: { ...host }, ...paced };
  const activities: Activities = {
    queues,
    recovered,
    workflows: {
      ...common,
      taskQueue: queues.workflow,
      activities: { ...workflow },
      sinks: withOwnSinks(archiveSink(ports), more.sinks),
      stickyQueueScheduleToStartTimeout: timings.stickyWait_ms,
      maxCachedWorkflows: more.maxCachedWorkflows ?? CACHED_RUNS,
    },
    model: {
      ...common,
      taskQueue: queues.model,
      activities: { ...model },
      maxConcurrentActivityTaskExecutions: timings.modelCalls_atOnce,
      maxTaskQueueActivitiesPerSecond: timings.modelCalls_perSecond,
      // Else beats are held back for most of the heartbeat time-out, and a call that nobody wants any more is paid for as long.
      maxHeartbeatThrottleInterval: timings.heartbeat_ms,
    },
    host: { ...ofHost, taskQueue: queues.host },
    commands: {
      ...common,
      taskQueue: commandQueueOf(queues.host),
      activities: { ...command },
      maxConcurrentActivityTaskExecutions: COMMAND_SLOTS,
      maxHeartbeatThrottleInterval: timings.commandHeartbeatTimeout_ms * COMMAND_BEAT_PART,
    },
    anyHost: { ...ofHost, taskQueue: queuesOfAny(queues).host },
    close: async () => {
      await redo.close();
      await endedRuns.close();
    },
  };
  const report = async (): Promise<void> => {
    await removeDeadLayers(home, logger);
    await reportStaleLocks(endedRuns, logger);
  };
  return { activities, store, report };
}

/**
 * For Temporal workers of your own. Recovery comes first: no activity may run beside a transaction that a crash left open. Throws
 * ProblemError: home_unusable, store_unusable, config_invalid.
 */
export async function createActivities(options: ActivitiesOptions): Promise<Activities> {
  if ((options.env ?? process.env).EMEND_ONE_QUEUE === '1')
    fail(
      'usage',
      'EMEND_ONE_QUEUE: createActivities makes a part for each role.',
      'Use EmendPlugin, or unset EMEND_ONE_QUEUE.',
    );
  const { activities, report } = await prepare(await complete(options));
  void report();
  return activities;
}

/**
 * Emend in the worker of another team: `Worker.create({ connection, taskQueue, workflowsPath, plugins: [new EmendPlugin({ client })] })`. The
 * workflows of that worker export those of `emend/workflows`.
 */
export class EmendPlugin extends TeamWorkerPlugin {
  constructor(options: PluginOptions) {
    super(options, openParts);
  }
}

/** Recovers the home, and divides Emend's activities between the worker of the team and the workers next to it. */
const openParts: OpenParts = async (options, worker) => {
  const { client, home, store, env = process.env, logger, tuners = {} } = options;
  const all = await complete({
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
  const { shutdownGrace_ms, connect_ms } = resolveTimings(all.env);
  const { connection } = worker;
  const { namespace } = client.options;
  const { env: settings, home: directory } = all;
  const connected = await connectWorker({
    env: settings,
    home: directory,
    connect_ms,
    connection,
    namespace,
  });
  await ensureSearchAttributes(connection, namespace, (message) => all.logger.warn(message));
  const { activities, report } = await prepare(all, connected);
  void report();
  const {
    workflows: own,
    model,
    host,
    commands,
    anyHost,
    queues,
  } = tunedByRole(activities, tuners);
  const isShared = queues.workflow === queues.host;
  const shared = tuned(withAllRoles(activities, activities.workflows), tuners.hosts);
  return {
    close: () => activities.close(),
    own: isShared ? shared : own,
    others: isShared ? [shared, commands] : [model, host, commands, anyHost],
    stop_ms: shutdownGrace_ms + STOP_FORCE_MS + STOP_END_MS,
    close_ms: STOP_END_MS,
  };
};

/**
 * What `emend worker` runs: one Temporal worker each for workflows, model calls, this host's workspaces and the commands there, at the dev
 * server of its home one for all but the commands, until it is stopped. Installs Temporal's runtime, one a process, unless a connection is passed in. Throws ProblemError as `createActivities`, no_server, and usage for
 * some of the roles where they share a queue.
 */
export async function createWorker(
  options: WorkerOptions & ServedAs & WorkerPlace = {},
): Promise<RunningWorker> {
  const all = await complete(options);
  const { env, home, logger } = all;
  const endRuntime = installOwnRuntime(options, logger);
  const { connect_ms, shutdownGrace_ms } = resolveTimings(env);
  let endHealth: (() => Promise<void>) | null = null;
  // The runtime and an open connection each keep the process alive, also if nothing uses them.
  const afterFailure = (close: () => Promise<void>) => async (error: unknown) => {
    await endHealth?.();
    await close();
    await endRuntime?.();
    throw error;
  };
  let watched: WatchedWorker | null = null;
  if (options.health !== undefined)
    endHealth = await serveHealth(options.health, () => watched).catch(
      afterFailure(() => Promise.resolve()),
    );
  const connected = await connectWorker({
    env,
    home,
    connect_ms,
    connection: options.connection,
    namespace: options.namespace,
  }).catch(afterFailure(() => Promise.resolve()));
  const { connection, namespace, address, uiUrl } = connected;
  const { activities, store, report } = await prepare(all, connected).catch(
    afterFailure(() => connected.close()),
  );
  const { recovered } = activities;
  const close = async (): Promise<void> => {
    await activities.close();
    await connected.close();
  };
  const { workers, queues, roles, isVersioned } = await createParts(all, {
    env,
    logger,
    connected,
    activities,
  }).catch(afterFailure(close));
  const polls = (): boolean => workers.every((worker) => worker.getState() === 'RUNNING');
  watched = { connection, polls };
  const ofHome = { ...env, EMEND_HOME: home };
  const endMeasuring = startMeasuring(all, { env: ofHome, connection, namespace, queues });
  const { done, stop } = runWorkers(workers, {
    stop_ms: shutdownGrace_ms + STOP_FORCE_MS + STOP_END_MS,
    close_ms: STOP_END_MS,
    close: async () => {
      endMeasuring?.();
      await endHealth?.();
      await close();
    },
  });
  void report();
  logger.info(
    { address, namespace, queues, roles, build: build(), home, store, pid: process.pid },
    'worker ready',
  );
  if (isVersioned)
    logger.info(`given nothing until its build is current: ${commandToSetCurrent(build())}`);
  return { queues, address, uiUrl, recovered, done, stop };
}

/**
 * Installs the runtime. The program's connection was made with one, and a process has only one: null. Throws ProblemError `usage` for an
 * address that it could not serve.
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

const startMeasuring = (
  { metrics, dataConverter }: WorkerOptions & ServedAs,
  group: MeasuredGroup,
): (() => void) | null => {
  if (metrics === undefined) return null;
  const conversion = dataConverter === undefined ? {} : { dataConverter };
  return measureRuns(Runtime.instance().metricMeter, { ...group, ...conversion });
};

interface PartsContext {
  readonly env: Environment;
  readonly logger: Logger;
  readonly connected: WorkerConnection;
  readonly activities: Activities;
}

/** Creates one worker of Temporal for each queue that this process serves. Throws ProblemError `usage` for roles that share a queue. */
const createParts = async (
  options: WorkerOptions & ServedAs,
  { env, logger, connected, activities }: PartsContext,
) => {
  const { connection, namespace } = connected;
  const queues = queuesFor(env, hostOfQueue(activities.queues.host), connected.own);
  const isShared = queues.workflow === queues.host;
  const { tuners = {}, plugins = [] } = options;
  const byRole = tunedByRole(activities, isShared ? {} : tuners);
  const { model, host, commands, anyHost } = byRole;
  if (isShared && ROLES.some((role) => options.roles?.includes(role) === false))
    fail('usage', `All roles share the queue ${queues.host}.`, SEPARATE);
  await ensureSearchAttributes(connection, namespace, (message) => logger.warn(message));
  const flows = { ...workflows(options), ...byRole.workflows };
  const shared = tuned(withAllRoles(activities, flows), tuners.hosts);
  const { roles = ROLES } = options;
  const served = { workflows: flows, model, hosts: [host, commands, anyHost] };
  const parts: readonly WorkerParts[] = isShared
    ? [...workflowQueues(queues).map((taskQueue) => ({ ...shared, taskQueue })), commands]
    : roles.flatMap((role) => served[role]);
  const isVersioned = (part: WorkerParts): boolean =>
    options.deployment === true && !served.hosts.includes(part);
  const workers = await Promise.all(
    parts.map((part) =>
      Worker.create({
        connection,
        namespace,
        plugins: [...plugins],
        ...(isVersioned(part) ? VERSIONED() : UNVERSIONED()),
        ...part,
      }),
    ),
  );
  return { workers, queues, roles, isVersioned: parts.some(isVersioned) };
};

/** Returns a part that serves all roles on one queue. */
const withAllRoles = ({ model, host }: Activities, flows: WorkerParts): WorkerParts => ({
  ...flows,
  ...host,
  activities: { ...flows.activities, ...model.activities, ...host.activities },
});

const SEPARATE =
  'Leave out --roles, or give all workers and clients queues for each role: unset EMEND_ONE_QUEUE; export EMEND_QUEUE=emend';
/** The build is in the events of each workflow task: the SDK's own word for it has 90 characters. */
const UNVERSIONED = () => ({ buildId: build() });
/**
 * For the queues of workflows and model calls. ◆ Never for a queue of hosts: a server takes 100 queues in one version and leaves out every
 * further one, so that the runs of the hosts that come later would wait for nobody.
 */
const VERSIONED = () =>
  ({
    workerDeploymentOptions: {
      version: { deploymentName: DEPLOYMENT, buildId: build() },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  }) as const;

/** A connection of the program, if there is one. */
type Over = {
  readonly [Key in keyof ProgramConnection]?: ProgramConnection[Key] | undefined;
} & { readonly client?: Client | undefined };
const complete = async ({
  env = process.env,
  home,
  logger,
  dataConverter,
  ...given
}: WorkerOptions & ServedAs & Over) => ({
  ...given,
  env,
  home: home ?? (await resolveHome(env)),
  logger: logger ?? workerLog('warn'),
  dataConverter: dataConverter ?? (await configuredDataConverter(env)) ?? undefined,
});

/** Removes what commands of dead processes wrote on layers, which may be large. */
async function removeDeadLayers(home: string, logger: Logger): Promise<void> {
  const removed = await clearLayers(home);
  if (removed.length > 0)
    logger.info({ layers: removed.length }, 'removed layers of commands that were killed');
}

/** Looks once for workspaces that ended runs still hold; what it finds and what goes wrong is logged. */
async function reportStaleLocks(endedRuns: EndedRuns, logger: Logger): Promise<void> {
  const holds = await endedRuns.sweep().catch((error: unknown) => {
    logger.error({ err: error }, 'could not check ended runs');
    return null;
  });
  if (holds === null) return;
  if (holds.note !== null) logger.warn(`Not every locked workspace was checked: ${holds.note}`);
  for (const { stepKey, workspace, ended, because } of holds.released)
    logger.warn({ stepKey, workspace, ended, because }, 'unlocked the workspace of an ended run');
  for (const worktree of holds.worktrees)
    logger.warn(worktree, 'checked a worktree of an ended plan');
  for (const { stepKey, workspace, ended, files } of holds.held)
    logger.warn(
      { stepKey, workspace, ended, files },
      'an ended run still locks a workspace: see `emend recover`',
    );
}
