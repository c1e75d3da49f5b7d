/** Names of the objects by which hosts announce changes of archives in a bucket (s3/changes.ts): `changes/<time>-<key of the run>-<random>`. */
import { isStepKey, type StepKey } from '../shared/ids.js';

export const ANNOUNCEMENTS = 'changes/';
// bound: `emend gc` removes older announcements. An index that was not used for so long compares all archives.
export const ANNOUNCEMENTS_KEPT_MS = 30 * 86_400_000;
const TIME_DIGITS = 13; // bound: Digits of a time in a name.
const NAME = /^changes\/(\d{13})-([0-9a-z-]+)-[0-9a-f]{12}$/;

/** Returns the name after which all announcements of later times come. */
export const announcementAt = (time_ms: number): string =>
  `${ANNOUNCEMENTS}${String(Math.max(0, time_ms)).padStart(TIME_DIGITS, '0')}`;

/** Returns the time and run of an announcement; null: the name is of none. */
export const announcedBy = (
  key: string,
): { readonly time_ms: number; readonly stepKey: StepKey } | null => {
  const [, time, stepKey] = NAME.exec(key) ?? [];
  return time !== undefined && isStepKey(stepKey) ? { time_ms: Number(time), stepKey } : null;
};

/** Returns whether no index needs the announcement any more. `place` is the store. */
export const isOldAnnouncement = ({ path }: { readonly path: string }, place: string): boolean => {
  const announced = path.startsWith(`${place}/`) ? announcedBy(path.slice(place.length + 1)) : null;
  return announced !== null && Date.now() - announced.time_ms > ANNOUNCEMENTS_KEPT_MS;
};
