/** ◆ Where a result of preflight is kept: under the key of the step and the number of the snapshot. */
import type { PreflightInput, PreflightResult } from '../../../shared/step-activities.js';
import type { ActivityPorts } from '../../frame/ports.js';
import { getSnapshot, type SnapshotTarget } from '../snapshot.js';

export const recordKey = (stepKey: string, number: number): string =>
  `steps/${stepKey}/preflight-${number}`;

/** Returns the targets of the last snapshot before this one; none if there is no such snapshot. */
export async function earlierTargets(
  { records, blobs }: Pick<ActivityPorts, 'records' | 'blobs'>,
  { stepKey, snapshotNumber }: Pick<PreflightInput, 'stepKey' | 'snapshotNumber'>,
): Promise<readonly SnapshotTarget[]> {
  for (let number = snapshotNumber - 1; number > 0; number--) {
    const earlier = await records.get<PreflightResult>(recordKey(stepKey, number));
    if (earlier?.outcome === 'ready') return (await getSnapshot(blobs, earlier.snapshot)).targets;
  }
  return [];
}
