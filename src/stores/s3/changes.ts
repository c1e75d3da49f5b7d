/**
 * The journal of changes of an archive in a bucket (see directory/changes.ts): an empty object for each change, whose name begins with its
 * time, so that one request lists all new changes. A host whose clock is wrong by more than `CLOCK_SKEW_MS` may be overlooked until its
 * next change is announced, or until `emend gc` compares all archives.
 */
import { randomBytes } from 'node:crypto';
import type { StepKey } from '../../shared/ids.js';
import { jsonOf } from '../../system/json.js';
import { isRecord } from '../../shared/text.js';
import { createAnnounced, SETTLED_MS } from '../directory/changes.js';
import {
  ANNOUNCEMENTS,
  ANNOUNCEMENTS_KEPT_MS,
  announcedBy,
  announcementAt,
} from '../announcements.js';
import type { ArchiveChanges } from '../ports.js';
import type { Objects } from './objects.js';

const CLOCK_SKEW_MS = 600_000; // bound: Maximum difference between the clocks of hosts.
const STEP_MS = 60_000; // bound: Step in which a position moves on.

export const createS3Changes = (objects: Objects) => {
  const announced = createAnnounced();
  return {
    announce: async (stepKey: StepKey): Promise<void> => {
      const time_ms = Date.now();
      if (announced.isRecent(stepKey, time_ms)) return;
      const name = `${announcementAt(time_ms)}-${stepKey}-${randomBytes(6).toString('hex')}`;
      await objects.put(name, new Uint8Array());
      announced.add(stepKey, time_ms);
    },

    since: async (before: string | null): Promise<ArchiveChanges> => {
      const earlier = before === null ? null : jsonOf(before);
      const from_ms =
        isRecord(earlier) && typeof earlier.time_ms === 'number' ? earlier.time_ms : null;
      const time_ms = Date.now();
      // The position moves in steps: a new one costs a line of the index.
      const settled_ms = Math.floor((time_ms - SETTLED_MS - CLOCK_SKEW_MS) / STEP_MS) * STEP_MS;
      const found = await objects.list(ANNOUNCEMENTS, announcementAt(from_ms ?? settled_ms));
      const changed = found.flatMap(({ key }) => announcedBy(key)?.stepKey ?? []);
      return {
        isComplete:
          from_ms !== null && from_ms > time_ms - ANNOUNCEMENTS_KEPT_MS && from_ms <= time_ms,
        changed: new Set(changed),
        position: JSON.stringify({ time_ms: Math.max(from_ms ?? 0, settled_ms) }),
      };
    },
  };
};
