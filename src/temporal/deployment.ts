/**
 * Which build serves the runs where workers are versioned: one Worker Deployment, a version of it for each build. A version is given
 * nothing until it is current; while none is, workers that are not versioned serve.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../shared/problems.js';
import { build } from '../system/version.js';
import { innermost } from './failures.js';
import { liveWorkers, partsOf, type QueueAt } from './live-workers.js';

export const DEPLOYMENT = 'emend';
const POLLERS_MS = 60_000; // bound: A build that is to be current has its workers within this time,
const POLLERS_LOOK_MS = 500; // bound: and is looked for this often.
const SETTLE_MS = 5_000; // bound: A run that is signalled sooner after the change may still go to the build before.
/** gRPC's: there is no such deployment, or the server knows none. */
const NONE: readonly unknown[] = [5, 12];

type At = Pick<QueueAt, 'connection' | 'namespace'>;
const orNone = <T>(call: Promise<T>): Promise<T | null> =>
  call.catch((error: unknown) => {
    if (NONE.includes(innermost(error).code)) return null;
    throw error;
  });

/** Null: none is current. */
export const currentBuild = async ({
  connection: { workflowService },
  namespace,
}: At): Promise<string | null> => {
  const found = await orNone(
    workflowService.describeWorkerDeployment({ namespace, deploymentName: DEPLOYMENT }),
  );
  return found?.workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? null;
};

/** The first of these workers that is given no runs while `current` is current; undefined: none, as far as they say what they are. */
export const idleWorker = (
  identities: readonly string[],
  current: string | null,
): string | undefined =>
  identities.find((identity) => {
    const { build: its, versioned } = partsOf(identity);
    return its !== null && (versioned ? its !== current : current !== null);
  });

/** Waits until workers of this build serve the queues as versioned ones. Throws ProblemError `no_worker`. */
const awaitWorkers = async (at: At, queues: readonly string[]): Promise<void> => {
  const { connection, namespace } = at;
  const deploymentVersion = { deploymentName: DEPLOYMENT, buildId: build() };
  const end = performance.now() + POLLERS_MS;
  for (;;) {
    const known = await orNone(
      connection.workflowService.describeWorkerDeploymentVersion({ namespace, deploymentVersion }),
    );
    const versioned = known?.versionTaskQueues.map(({ name }) => name) ?? [];
    const serving = await Promise.all(queues.map((queue) => liveWorkers({ ...at, queue })));
    const silent = queues.filter(
      (queue, index) =>
        !versioned.includes(queue) ||
        serving[index]?.some((identity) => partsOf(identity).build === build()) !== true,
    );
    if (silent.length === 0) return;
    if (performance.now() > end)
      fail(
        'no_worker',
        `No versioned worker of build ${build()} serves ${silent.join(', ')}.`,
        START,
      );
    await sleep(POLLERS_LOOK_MS);
  }
};
const START = 'Start one of this build: emend worker --deployment';

/**
 * Makes this build current once its workers serve `queues`; null: none, so that workers that are not versioned serve. Returns when runs go there.
 * Throws ProblemError `no_worker`: also where the server refuses, as nobody of this build serves a queue with work.
 */
export const makeCurrent = async (at: At, queues: readonly string[] | null): Promise<void> => {
  if (queues !== null) await awaitWorkers(at, queues);
  const { connection, namespace } = at;
  const buildId = queues === null ? '' : build();
  await connection.workflowService
    .setWorkerDeploymentCurrentVersion({ namespace, deploymentName: DEPLOYMENT, buildId })
    .catch((error: unknown) =>
      fail('no_worker', `The server keeps the current build: ${innermost(error).why}.`, START),
    );
  await sleep(SETTLE_MS);
};
