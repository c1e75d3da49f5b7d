/**
 * A worker: recovery first, then three task queues (workflows, model calls, this host's workspaces) until it is stopped. Stopping lets
 * running model calls finish within the grace time or hands them back.
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { DefaultLogger, Runtime, Worker, type ActivityInterceptorsFactory } from '@temporalio/worker';
import { pino, type Logger } from 'pino';
import {
  archiveSink,
  createActivities,
  createEditRunner,
  withPlanLog,
  type ActivityDependencies,
} from './src/activities/index.js';
import { askEndedRuns, type EndedRuns } from './src/client/ended/runs.js';
import { version } from './src/system/version.js';
import { createAnthropicModel } from './src/model/index.js';
import { createDiskJournal } from './src/model/journal/index.js';
import { LIMITS } from './src/shared/limits.js';
import { ProblemError } from './src/shared/problems.js';
import { queueNames, queuePrefix, type Queues } from './src/shared/names.js';
import { boundFailures } from './src/temporal/failures.js';
import { runWorkers, workerIdentity, connectWorker } from './src/worker/index.js';
import { awaitUsable, ensureSearchAttributes } from './src/temporal/search-attributes.js';
import { resolveTimings } from './src/temporal/settings.js';
import { createApplyEngine } from './src/workspace/apply/index.js';
import { createCommitter } from './src/workspace/git/index.js';
import { clearScratch } from './src/system/scratch.js';
import { sha256 } from './src/system/hash.js';
import { homePaths, hostId, resolveHome } from './src/stores/home.js';
import { guardHome, openStores, resolveStore, storePaths, type Store } from './src/stores/location.js';
import { createRecordStore } from './src/stores/index.js';
import { orNull } from './src/system/durable.js';
import { realSys, type Sys } from './src/system/sys.js';
import type { RecoveredTransaction } from './src/workspace/ports.js';

const STOP_FORCE_MS = 10_000; // bound: Past the grace time activities are told to stop; those that do not listen are waited for this long,
const STOP_END_MS = 5_000; // bound: and the end of worker and connection after that.

type Env = Readonly<Record<string, string | undefined>>;

export interface WorkerOptions {
  readonly env: Env;
  /** EMEND_HOME, absolute. */
  readonly home: string;
  readonly logger: Logger;
  /** Round every activity, outermost first: tracing, or the faults of a crash test. */
  readonly interceptors?: readonly ActivityInterceptorsFactory[];
  /** Below everything durable; a test's may fail. */
  readonly sys?: Sys;
}
export interface RunningWorker {
  readonly queues: Queues;
  readonly address: string;
  readonly uiUrl: string | null;
  /** What recovery found at the start. */
  readonly recovered: readonly RecoveredTransaction[];
  /** Asks for a graceful stop and waits for its end; rejects with `worker_stuck` where it does not come (run-workers.ts). */
  stop(): Promise<void>;
  /** Settles when the worker has ended, however that came. */
  readonly done: Promise<void>;
}

/** The bundle made by the build; without one (running from source) the workflows are bundled at start. */
function workflows(): { workflowBundle: { codePath: string } } | { workflowsPath: string } {
  const codePath = fileURLToPath(new URL('./workflow-bundle.js', import.meta.url));
  if (existsSync(codePath)) return { workflowBundle: { codePath } };
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return { workflowsPath: fileURLToPath(new URL(`./src/workflows/index.${extension}`, import.meta.url)) };
}

const BUNDLE_DIGITS = 8;
/** Which code did a task, as the Temporal UI shows it: the version, and the beginning of the bundle's hash. */
const buildId = (): string => {
  const bundle = workflows();
  const hash =
    'workflowBundle' in bundle
      ? `+${sha256(readFileSync(bundle.workflowBundle.codePath)).slice(0, BUNDLE_DIGITS)}`
      : '';
  return `emend-${version()}${hash}`;
};

export const queuesOf = async (env: Env, home: string): Promise<Queues> =>
  queueNames(queuePrefix(env), await hostId(home));

/** All that activities work with, on this machine's disk and in the store. */
export async function diskDependencies(
  { env, home, logger, sys: system = realSys }: WorkerOptions,
  store: Store,
): Promise<Omit<ActivityDependencies, 'standingOf' | 'endOf'>> {
  const timings = resolveTimings(env);
  const paths = storePaths(store.dir);
  const guard = await guardHome(home, store, system);
  const { sys } = guard;
  const { blobs, archive: plain } = await openStores(home, store, sys);
  const archive = withPlanLog(plain, homePaths(home).planLog);
  const model = createAnthropicModel({
    env,
    streamIdle_ms: timings.streamIdle_ms,
    maxAnswer_bytes: LIMITS.maxAnswer_bytes.default ?? LIMITS.maxAnswer_bytes.max,
  });
  return {
    home,
    checkHome: () => guard.check(),
    blobs,
    records: createRecordStore({ dir: paths.records, sys }),
    archive,
    journal: createDiskJournal({
      dir: paths.slots,
      model,
      slotLease_ms: timings.slotLease_ms,
      heartbeat_ms: timings.heartbeat_ms,
      sys,
    }),
    model,
    engine: createApplyEngine({ home, blobs, sys }),
    edits: createEditRunner({ turn_ms: timings.commandTurn_ms }),
    commit: createCommitter({ blobs, turn_ms: timings.commandTurn_ms }),
    timings,
    logger,
    env,
  };
}

/** Temporal's own runtime is one a process; its signal handlers would stop workers behind our back. */
let runtimeInstalled = false;
function installRuntime(): void {
  if (runtimeInstalled) return;
  runtimeInstalled = true;
  // On a machine with much memory V8 collects once the heap is several times what lives in it, and a long plan's worker grows to 600 MB.
  setFlagsFromString('--heap-growing-percent=50');
  Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('ERROR') });
}

/** A home that is not mounted looks like one that was never used: whoever starts a worker in it should know. */
async function sayNewHome(home: string, logger: Logger): Promise<void> {
  if ((await orNull(realSys.stat(homePaths(home).hostId))) !== null) return;
  logger.warn({ home }, 'a new home: runs that were started in another one wait for a worker of that one');
}

/** Throws ProblemError: no_server, home_unusable, store_unusable, config_invalid. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { env, home, logger } = options;
  installRuntime();
  const store = await resolveStore(env, home);
  await sayNewHome(home, logger);
  const queues = await queuesOf(env, home);
  const endedRuns = askEndedRuns(env);
  const dependencies = {
    ...(await diskDependencies(options, store)),
    standingOf: (holder) => endedRuns.standingOf(holder),
    endOf: (workflowId, wait_ms, signal) => endedRuns.endOf(workflowId, wait_ms, signal),
  } satisfies ActivityDependencies;
  const { timings, blobs } = dependencies;
  const recovered = await dependencies.engine.recover();
  for (const transaction of recovered) logger.warn(transaction, 'recovered a transaction');
  await clearScratch();

  const connected = await connectWorker({ env, home, connect_ms: timings.connect_ms, blobs });
  const { connection, namespace, address, uiUrl } = connected;
  const attributes = await ensureSearchAttributes(connection, namespace, (why) => {
    logger.warn(why);
  });
  // Ready is who may start runs: a fresh namespace refuses its new attributes for a moment after it lists them.
  if (attributes) await awaitUsable(connection, namespace);
  const { host, model } = createActivities(dependencies);
  const force_ms = timings.shutdownGrace_ms + STOP_FORCE_MS;
  const common = {
    connection,
    namespace,
    identity: workerIdentity(store.id),
    dataConverter: connected.dataConverter,
    interceptors: { activity: [...(options.interceptors ?? []), boundFailures] },
    // Said twice in the events of each workflow task: the SDK's own word has 90 characters. Versioning, which is deprecated, is not used.
    buildId: buildId(),
    shutdownGraceTime: timings.shutdownGrace_ms,
    // Past the grace time activities are told to stop; one that does not listen must not hold the process for ever.
    shutdownForceTime: force_ms,
  };
  const workers = await Promise.all([
    Worker.create({
      ...common,
      ...workflows(),
      taskQueue: queues.workflow,
      sinks: archiveSink(dependencies),
      stickyQueueScheduleToStartTimeout: timings.stickyWait_ms,
    }),
    Worker.create({
      ...common,
      taskQueue: queues.model,
      activities: { ...model },
      maxConcurrentActivityTaskExecutions: timings.modelCalls_atOnce,
      maxTaskQueueActivitiesPerSecond: timings.modelCalls_perSecond,
      // Else beats are held back for most of the heartbeat time-out, and a call that nobody wants any more is paid for as long.
      maxHeartbeatThrottleInterval: timings.heartbeat_ms,
    }),
    // A cancelled test run must hear of it soon: beats are passed on at least this often.
    Worker.create({ ...common, taskQueue: queues.host, activities: { ...host }, maxHeartbeatThrottleInterval: '5s' }),
  ]);
  const { done, stop } = runWorkers(workers, {
    stop_ms: force_ms + STOP_END_MS,
    close_ms: STOP_END_MS,
    close: async () => {
      await endedRuns.close();
      await connected.close();
    },
  });
  // Beside the work, not before it: a server that answers slowly holds up nothing.
  void tellHolds(endedRuns, logger);
  logger.info({ address, namespace, queues, home, store, pid: process.pid }, 'worker ready');
  return { queues, address, uiUrl, recovered, done, stop };
}

/** Looks once for workspaces that ended runs still hold; what it finds and what goes wrong is logged. */
async function tellHolds(endedRuns: EndedRuns, logger: Logger): Promise<void> {
  const holds = await endedRuns.sweep().catch((error: unknown) => {
    logger.error({ err: error }, 'ended runs could not be looked at');
    return null;
  });
  if (holds === null) return;
  if (holds.note !== null) logger.warn(`Not every held workspace was looked at: ${holds.note}`);
  for (const { stepKey, workspace, ended, because } of holds.released)
    logger.warn({ stepKey, workspace, ended, because }, 'released the workspace of an ended run');
  for (const worktree of holds.worktrees) logger.warn(worktree, 'looked at a worktree of an ended plan');
  for (const { stepKey, workspace, ended, files } of holds.held)
    logger.warn({ stepKey, workspace, ended, files }, 'an ended run still holds a workspace: see `emend recover`');
}

async function main(): Promise<void> {
  const logger = pino({ name: 'emend-worker' }, pino.destination({ fd: 2, sync: true }));
  try {
    // Heard before it starts: whoever reads that it is ready may end it at once.
    const signalled = new Promise<void>((resolve) => {
      for (const name of ['SIGINT', 'SIGTERM'] as const)
        process.once(name, (signal) => {
          logger.info({ signal }, 'stopping: running model calls may finish');
          resolve();
        });
    });
    const home = await resolveHome(process.env);
    const worker = await startWorker({ env: process.env, home, logger });
    await Promise.race([signalled, worker.done]);
    await worker.stop();
    logger.info('worker stopped');
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    logger.fatal(error.problem, error.problem.message);
    // What does not end by itself holds on to the process.
    process.exit(1);
  }
}

const entry = process.argv[1];
if (entry !== undefined && realpathSync(entry) === fileURLToPath(import.meta.url)) await main();
