/** Names of the files that a transaction puts next to its targets for a while, and the paths of all files that it touches. */
import { randomBytes } from 'node:crypto';
import { join, posix } from 'node:path';
import type { PlannedFile, TransactionPlan } from './record.js';

/** Returns a random id of 12 hex digits for an attempt or a token. */
export const freshId = (): string => randomBytes(6).toString('hex');

/** Returns the directory of a file, relative to the workspace; the empty string for the workspace itself. */
export const dirOf = (real: string): string => {
  const dir = posix.dirname(real);
  return dir === '.' ? '' : dir;
};

export interface TargetPaths {
  readonly target: string;
  /** Has the bytes of the result (none for a deletion) until the file is finished. If it is absent, an attempt has finished the file. */
  readonly temp: string;
  readonly backup: (attempt: string, seq: number) => string;
}

const stemOf = (plan: TransactionPlan): string =>
  `.emend-${plan.stepKey.slice(0, 8)}-${plan.token}`;

export const targetPaths = (plan: TransactionPlan, index: number): TargetPaths => {
  const { real } = fileAt(plan, index);
  const dir = join(plan.workspace, dirOf(real));
  const stem = `${stemOf(plan)}-${index}`;
  return {
    target: join(plan.workspace, real),
    temp: join(dir, `${stem}.tmp`),
    backup: (attempt, seq) => join(dir, `${stem}.${attempt}-${seq}.backup`),
  };
};

export const fileAt = (plan: TransactionPlan, index: number): PlannedFile => {
  const file = plan.files[index];
  if (file === undefined) throw new RangeError(`file ${index} of ${plan.files.length}`);
  return file;
};

/** Returns the file and the attempt of a directory entry that is a backup of this plan; null: it is none. */
export const readBackupName = (
  plan: TransactionPlan,
  name: string,
): { index: number; attempt: string } | null => {
  const stem = `${stemOf(plan)}-`;
  const parts = name.startsWith(stem)
    ? /^([0-9]+)\.([0-9a-f]+)-[0-9]+\.backup$/.exec(name.slice(stem.length))
    : null;
  return parts === null ? null : { index: Number(parts[1]), attempt: parts[2] ?? '' };
};

/** Returns the directories with a target, relative to the workspace, each once. */
export const targetDirs = (plan: TransactionPlan): readonly string[] => [
  ...new Set(plan.files.filter((file) => file.write).map((file) => dirOf(file.real))),
];
