/** The part of each role: options of the Temporal worker that serves it. */
import { availableParallelism } from 'node:os';
import { archiveSink, createActivities as activitiesOf } from '../activities/index.js';
import { commandQueueOf, queuesOfAny, type Queues } from '../shared/names.js';
import { boundFailures } from '../temporal/failures.js';
import { asFailure, withBlobs } from '../temporal/payloads.js';
import type { createPorts } from './adapters.js';
import { logRun } from './log.js';
import { countCalls } from './metrics.js';
import type { Activities, CompleteOptions } from './options.js';
import { withOwnSinks, type WorkerParts } from './temporal-options.js';

// bound: Activities of a host that one worker runs at once, model calls that wait for a turn among them: with the SDK's 100 they keep all else out.
const HOST_SLOTS = 2_000;
// bound: Commands of the project (tests, hooks, formatters, `worktree.setup`) that one worker runs at once: as many as the machine has cores. Others wait on the server.
const COMMAND_SLOTS = availableParallelism();
// bound: Part of their heartbeat time-out after which the beats of commands reach the server: each costs an action, and one may be lost. A cancel comes with its answer.
const COMMAND_BEAT_PART = 1 / 2;
const CACHED_RUNS = 200; // bound: Runs whose state a worker keeps; of another it reads the history again when something happens.
const STOP_FORCE_MS = 10_000; // bound: Activities that still run after the grace time are asked to stop; those that do not listen are waited for this long,
export const STOP_END_MS = 5_000; // bound: and the end of worker and connection after that.

/** Maximum time from the wish to stop a worker to the end of waiting for it. */
export const stopLimit_ms = (shutdownGrace_ms: number): number =>
  shutdownGrace_ms + STOP_FORCE_MS + STOP_END_MS;

type Ports = Awaited<ReturnType<typeof createPorts>>;
type RoleParts = Pick<Activities, 'workflows' | 'model' | 'host' | 'commands' | 'anyHost'>;

interface WorkerNames {
  readonly queues: Queues;
  /** Name of the process on the server. */
  readonly identity: string;
}

export const partsOfRoles = (
  options: CompleteOptions,
  ports: Ports,
  { queues, identity }: WorkerNames,
): RoleParts => {
  const { timings } = ports;
  const { host, command, model, workflow } = activitiesOf(ports);
  const common = commonPart(options, ports, identity);
  const hostPart = {
    ...common,
    activities: { ...host },
    // The server reports a cancel in its answer to a beat, so beats are sent at least this often.
    maxHeartbeatThrottleInterval: '5s',
    maxConcurrentActivityTaskExecutions: HOST_SLOTS,
  } as const;
  return {
    workflows: {
      ...common,
      taskQueue: queues.workflow,
      activities: { ...workflow },
      sinks: withOwnSinks(archiveSink(ports), options.sinks),
      stickyQueueScheduleToStartTimeout: timings.stickyWait_ms,
      maxCachedWorkflows: options.maxCachedWorkflows ?? CACHED_RUNS,
    },
    model: {
      ...common,
      taskQueue: queues.model,
      activities: { ...model },
      maxConcurrentActivityTaskExecutions: timings.modelCalls_atOnce,
      maxTaskQueueActivitiesPerSecond: timings.modelCalls_perSecond,
      // By default the SDK holds beats back for most of the heartbeat time-out, and a cancelled call is paid for as long.
      maxHeartbeatThrottleInterval: timings.heartbeat_ms,
    },
    host: { ...hostPart, taskQueue: queues.host },
    commands: {
      ...common,
      taskQueue: commandQueueOf(queues.host),
      activities: { ...command },
      maxConcurrentActivityTaskExecutions: COMMAND_SLOTS,
      maxHeartbeatThrottleInterval: timings.commandHeartbeatTimeout_ms * COMMAND_BEAT_PART,
    },
    anyHost: { ...hostPart, taskQueue: queuesOfAny(queues).host },
  };
};

const commonPart = (
  { dataConverter, interceptors }: CompleteOptions,
  { blobs, timings }: Ports,
  identity: string,
): Omit<WorkerParts, 'taskQueue'> => ({
  identity,
  dataConverter: withBlobs(blobs, asFailure, dataConverter),
  interceptors: {
    ...interceptors,
    activity: [...(interceptors?.activity ?? []), logRun, countCalls, boundFailures],
  },
  shutdownGraceTime: timings.shutdownGrace_ms,
  // Activities that still run after the grace time are asked to stop. One that does not listen must not hold the process for ever.
  shutdownForceTime: timings.shutdownGrace_ms + STOP_FORCE_MS,
  workflowTaskPollerBehavior: { type: 'autoscaling' },
  activityTaskPollerBehavior: { type: 'autoscaling' },
});

/** Returns a part that serves all roles on one queue, but not the commands. */
export const withAllRoles = (
  { model, host }: RoleParts,
  workflowsPart: WorkerParts,
): WorkerParts => ({
  ...workflowsPart,
  ...host,
  activities: { ...workflowsPart.activities, ...model.activities, ...host.activities },
});
