/** Step 6: the checkpoint, a file in the archive that is written once under its number. */
import { STORE_BOUNDS } from '../../shared/bounds.js';
import type { CheckpointInput, CheckpointResult } from '../../shared/plan/activities.js';
import type { ActivityDependencies } from '../dependencies.js';

export const saveCheckpoint =
  ({ archive }: ActivityDependencies) =>
  async ({ stepKey, number, checkpoint }: CheckpointInput): Promise<CheckpointResult> => {
    const { path } = await archive.keep(
      stepKey,
      `checkpoint-${String(number).padStart(STORE_BOUNDS.checkpointDigits, '0')}`,
      checkpoint,
    );
    return { v: 1, path };
  };
