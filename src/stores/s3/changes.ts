/**
 * The journal of changes of an archive in a bucket (see directory/changes.ts): an empty object for each change, whose name begins with its
 * time, so that a list of what is new is one request. A host whose clock is wrong by more than `CLOCK_SKEW_MS` may be overlooked until its
 * next change is announced, or until `emend gc` compares all archives.
 */
import { randomBytes } from 'node:crypto';
import { isStepKey, type StepKey } from '../../shared/ids.js';
import { jsonOf } from '../../system/durable.js';
import { isRecord } from '../../shared/text.js';
import { createAnnounced, SETTLED_MS } from '../directory/changes.js';
import type { ArchiveChanges } from '../ports.js';
import type { Objects } from './objects.js';

const CLOCK_SKEW_MS = 600_000; // bound: Clocks of hosts may differ so much.
const KEPT_MS = 30 * 86_400_000; // bound: `emend gc` removes older announcements. An index that was not used for so long compares all archives.
const TIME_DIGITS = 13;

const FOLDER = 'changes/';
const NAME = /^changes\/(\d{13})-([0-9a-z-]+)-[0-9a-f]+$/;
const nameAt = (time_ms: number): string =>
  `${FOLDER}${String(Math.max(0, time_ms)).padStart(TIME_DIGITS, '0')}`;

/** Returns whether `emend gc` may remove it. */
export const isOldChange = (key: string, time_ms: number): boolean => {
  const [, written] = NAME.exec(key) ?? [];
  return written !== undefined && Number(written) < time_ms - KEPT_MS;
};

export const createS3Changes = (objects: Objects) => {
  const announced = createAnnounced();
  return {
    announce: async (stepKey: StepKey): Promise<void> => {
      const time_ms = Date.now();
      if (announced.isRecent(stepKey, time_ms)) return;
      const name = `${nameAt(time_ms)}-${stepKey}-${randomBytes(6).toString('hex')}`;
      await objects.put(name, new Uint8Array());
      announced.add(stepKey, time_ms);
    },

    since: async (before: string | null): Promise<ArchiveChanges> => {
      const earlier = before === null ? null : jsonOf(before);
      const from_ms =
        isRecord(earlier) && typeof earlier.time_ms === 'number' ? earlier.time_ms : null;
      const time_ms = Date.now();
      const settled_ms = time_ms - SETTLED_MS - CLOCK_SKEW_MS;
      const found = await objects.list(FOLDER, nameAt(from_ms ?? settled_ms));
      const changed = found.flatMap(({ key }) => {
        const stepKey = NAME.exec(key)?.[2];
        return isStepKey(stepKey) ? [stepKey] : [];
      });
      return {
        isComplete: from_ms !== null && from_ms > time_ms - KEPT_MS && from_ms <= time_ms,
        changed: new Set(changed),
        position: JSON.stringify({ time_ms: Math.max(from_ms ?? 0, settled_ms) }),
      };
    },
  };
};
