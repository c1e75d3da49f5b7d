/** Names of the files that a transaction puts beside its targets for a while, and the paths of all that it touches. */
import { randomBytes } from 'node:crypto';
import { join, posix } from 'node:path';
import type { PlannedFile, TransactionPlan } from './apply-record.js';

/** For attempts and tokens: 12 hex digits. */
export const freshId = (): string => randomBytes(6).toString('hex');

/** Directory of a file, relative to the workspace; `` for the workspace itself. */
export const dirOf = (real: string): string => {
  const dir = posix.dirname(real);
  return dir === '.' ? '' : dir;
};

export interface TargetPaths {
  readonly target: string;
  readonly dir: string;
  /** The result's bytes (or nothing, for a deletion) until its file is finished: its absence says that some attempt has done so. */
  readonly temp: string;
  /** A keep file of an attempt; `seq` counts those of one attempt. */
  readonly keep: (attempt: string, seq: number) => string;
}

const stemOf = (plan: TransactionPlan): string => `.emend-${plan.stepKey.slice(0, 8)}-${plan.token}`;

export const targetPaths = (plan: TransactionPlan, index: number): TargetPaths => {
  const { real } = fileAt(plan, index);
  const dir = join(plan.workspace, dirOf(real));
  const stem = `${stemOf(plan)}-${index}`;
  return {
    target: join(plan.workspace, real),
    dir,
    temp: join(dir, `${stem}.tmp`),
    keep: (attempt, seq) => join(dir, `${stem}.${attempt}-${seq}.keep`),
  };
};

export const fileAt = (plan: TransactionPlan, index: number): PlannedFile => {
  const file = plan.files[index];
  if (file === undefined) throw new RangeError(`file ${index} of ${plan.files.length}`);
  return file;
};

/** File and attempt of a directory entry that is a keep file of this plan, else null. */
export const readKeepName = (plan: TransactionPlan, name: string): { index: number; attempt: string } | null => {
  const stem = `${stemOf(plan)}-`;
  const parts = name.startsWith(stem) ? /^([0-9]+)\.([0-9a-f]+)-[0-9]+\.keep$/.exec(name.slice(stem.length)) : null;
  return parts === null ? null : { index: Number(parts[1]), attempt: parts[2] ?? '' };
};

/** Directories that hold a target, relative to the workspace, each once. */
export const targetDirs = (plan: TransactionPlan): readonly string[] => [
  ...new Set(plan.files.filter((file) => file.write).map((file) => dirOf(file.real))),
];
