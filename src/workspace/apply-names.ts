/** Names of the files that a transaction puts beside its targets for a while, and the paths of all that it touches. */
import { randomBytes } from 'node:crypto';
import { join, posix } from 'node:path';
import type { TransactionPlan } from './apply-record.js';

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
  /** The attempt of a name in the directory that is a keep file of this target, else null. */
  readonly attemptOf: (name: string) => string | null;
}

export const targetPaths = (plan: TransactionPlan, index: number): TargetPaths => {
  const file = plan.files[index];
  if (file === undefined) throw new RangeError(`file ${index} of ${plan.files.length}`);
  const dir = join(plan.workspace, dirOf(file.real));
  const stem = `.emend-${plan.stepKey.slice(0, 8)}-${plan.token}-${index}`;
  const keepName = new RegExp(`^${stem.replaceAll('.', '\\.')}\\.([0-9a-f]+)-[0-9]+\\.keep$`);
  return {
    target: join(plan.workspace, file.real),
    dir,
    temp: join(dir, `${stem}.tmp`),
    keep: (attempt, seq) => join(dir, `${stem}.${attempt}-${seq}.keep`),
    attemptOf: (name) => keepName.exec(name)?.[1] ?? null,
  };
};
