/** Reads the files of a plan. Anybody may have written them, so they are parsed in the edit thread, which has a time limit. */
import { readPlan, type ReadPlan } from '../../workspace/documents/index.js';
import type { ProjectConfig } from '../../documents/job/index.js';
import type { ActivityPorts } from '../frame/ports.js';

export const readFiles = (
  { edits }: Pick<ActivityPorts, 'edits'>,
  root: string,
  planPath: string,
  config?: ProjectConfig,
): Promise<ReadPlan> => {
  // The thread's time limit ends it, also in an activity that is cancelled.
  const { signal } = new AbortController();
  return readPlan(root, planPath, {
    parse: (texts) => edits.run('plan', texts, signal),
    ...(config === undefined ? {} : { config }),
  });
};
