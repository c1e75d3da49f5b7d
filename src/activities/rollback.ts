/** Puts the files of this step's applications back, newest first; only those that are at our result. Ends the lease. */
import type { ConflictFile, RollbackInput, RollbackResult } from '../shared/protocol.js';
import { requestOf } from './apply.js';
import type { ActivityScope } from './boundary.js';
import type { ActivityDependencies } from './dependencies.js';

export const rollback =
  (dependencies: ActivityDependencies) =>
  async (input: RollbackInput, { stillOurs }: ActivityScope): Promise<RollbackResult> => {
    const files: string[] = [];
    const kept: ConflictFile[] = [];
    let commit: string | null = null;
    for (const application of [...input.applications].reverse()) {
      const request = await requestOf(dependencies, { ...input, ...application });
      const outcome = await dependencies.engine.rollback(request, stillOurs);
      if (outcome.outcome === 'committed') {
        commit = outcome.commit;
        break;
      }
      files.push(...outcome.files);
      kept.push(...outcome.kept);
    }
    stillOurs();
    await dependencies.engine.releaseLease(input.workspace, input.stepKey, input.lease);
    return { v: 1, files: [...new Set(files)], kept, ...(commit === null ? {} : { commit }) };
  };
