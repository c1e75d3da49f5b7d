/**
 * The door of src/worker. A worker: recovery first, then its task queues (workflows, model calls, this host's workspaces and commands; or one
 * queue for several of them) until it is stopped. A stop lets running model calls finish within the grace time, or hands them back.
 */
import { fail } from '../shared/problems.js';
import { completeOptions, type Activities, type ActivitiesOptions } from './options.js';
import { openParts } from './plugin-parts.js';
import { TeamWorkerPlugin, type PluginOptions } from './plugin.js';
import { prepare } from './prepare.js';

export { replayOpen, type Replayed } from './code.js';
export { createWorker } from './create-worker.js';
export { estimateOnly, type Estimated, type ToEstimate } from './estimate.js';
export { workerLog } from './log.js';
export type {
  Activities,
  ActivitiesOptions,
  RunningWorker,
  ServedAs,
  WorkerOptions,
} from './options.js';
export type { PluginOptions } from './plugin.js';
export type { WorkerParts } from './temporal-options.js';

/** Makes the activities for Temporal workers of your own. Throws ProblemError: home_unusable, store_unusable, config_invalid, usage. */
export async function createActivities(options: ActivitiesOptions): Promise<Activities> {
  if ((options.env ?? process.env).EMEND_ONE_QUEUE === '1')
    fail(
      'usage',
      'EMEND_ONE_QUEUE: createActivities makes a part for each role.',
      'Use EmendPlugin, or unset EMEND_ONE_QUEUE.',
    );
  const { activities, report } = await prepare(await completeOptions(options), null);
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
