/**
 * Which build serves the runs if workers are versioned: one Worker Deployment, a version of it for each build. A version is given
 * nothing until it is current or ramping; while none is, workers that are not versioned serve. `temporal worker deployment` decides that.
 */
import { innermost } from './failures.js';
import { partsOf, type QueueAt } from './live-workers.js';

export const DEPLOYMENT = 'emend';
/** gRPC's: there is no such deployment, or the server knows none. */
const NONE: readonly unknown[] = [5, 12];

type At = Pick<QueueAt, 'connection' | 'namespace'>;

/** The builds to which the server gives runs; null: there is none. */
export interface ServingBuilds {
  readonly current: string | null;
  /** It is given a part of the runs. */
  readonly ramping: string | null;
}

export const servingBuilds = async ({
  connection: { workflowService },
  namespace,
}: At): Promise<ServingBuilds> => {
  const found = await workflowService
    .describeWorkerDeployment({ namespace, deploymentName: DEPLOYMENT })
    .catch((error: unknown) => {
      if (NONE.includes(innermost(error).code)) return null;
      throw error;
    });
  const routing = found?.workerDeploymentInfo?.routingConfig;
  return {
    current: routing?.currentDeploymentVersion?.buildId ?? null,
    ramping: routing?.rampingDeploymentVersion?.buildId ?? null,
  };
};

/** Returns the command that makes a build current; null: workers that are not versioned serve. */
export const commandToSetCurrent = (buildId: string | null): string => {
  const target = buildId === null ? '--unversioned' : `--build-id ${buildId}`;
  return `temporal worker deployment set-current-version --deployment-name ${DEPLOYMENT} ${target}`;
};

/** The first of these workers that is given no runs; undefined: none, as far as they say what they are. */
export const idleWorker = (
  identities: readonly string[],
  { current, ramping }: ServingBuilds,
): string | undefined =>
  identities.find((identity) => {
    const { build: its, versioned } = partsOf(identity);
    if (its === null) return false;
    return versioned ? its !== current && its !== ramping : current !== null;
  });
