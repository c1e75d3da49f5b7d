/** Puts the files of this step's applications back, newest first; only those that are at our result. Ends the lease. */
import type { ConflictFile, RollbackInput, RollbackResult } from '../shared/protocol.js';
import { requestOf } from './apply.js';
import type { ActivityDependencies } from './dependencies.js';

export const rollback =
  (dependencies: ActivityDependencies) =>
  async (input: RollbackInput): Promise<RollbackResult> => {
    const files: string[] = [];
    const kept: ConflictFile[] = [];
    for (const application of [...input.applications].reverse()) {
      const request = await requestOf(dependencies, { ...input, ...application });
      const outcome = await dependencies.engine.rollback(request);
      files.push(...outcome.files);
      kept.push(...outcome.kept);
    }
    await dependencies.engine.releaseLease(input.workspace, input.stepKey);
    return { v: 1, files: [...new Set(files)], kept };
  };
