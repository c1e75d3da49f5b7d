/** An application that was recorded before: what a retry, a late attempt or a reset run is told. Nothing is written here. */
import { sysBeneath } from './beneath-sys.js';
import { join } from 'node:path';
import {
  difference,
  isAt,
  look,
  type Seen,
  type ClosedRecord,
  type PlannedFile,
  type TransactionPlan,
  type TransactionRecord,
} from './record.js';
import { commitSince } from '../git/commit-branch.js';
import { orNull } from '../../system/durable.js';
import type { Sys } from '../../system/sys.js';
import type { ApplyOutcome, ApplyRequest, ConflictFile } from '../ports.js';

export const outcomeOf = ({ outcome, files, conflicts, lock }: ClosedRecord): ApplyOutcome =>
  outcome === 'applied' ? { outcome, files, lock } : { outcome, files, lock, conflicts };

/**
 * A closed record is not applied again. Where a file is not at its result any more (put back, or changed since) a person must say
 * what now; except where the step's commit is there: what came after it is later work, and none of this step's business.
 */
export const again = async (
  sys: Sys,
  record: TransactionRecord,
  closed: ClosedRecord,
): Promise<ApplyOutcome> => {
  const { plan } = await record.load();
  const recorded = outcomeOf(closed);
  if (plan === null) return recorded;
  const changed = await changedSince(sys, plan, closed);
  if (changed.length === 0 || (await committedSince(sys, plan)) !== null) return recorded;
  const gone = new Set(changed.map(({ path }) => path));
  const files = closed.files.filter((path) => !gone.has(path));
  const conflicts = [...closed.conflicts, ...changed];
  return { outcome: 'conflict', files, conflicts, lock: closed.lock };
};

/** The step's commit since the plan's lock was taken, if any. */
export const committedSince = async (
  sys: Sys,
  { workspace, lock }: TransactionPlan,
): Promise<string | null> =>
  (await orNull(sys.stat(workspace), ['ENOENT', 'ENOTDIR'])) === null
    ? null
    : commitSince(workspace, lock);

const changedSince = async (
  sys: Sys,
  plan: TransactionPlan,
  closed: ClosedRecord,
): Promise<ConflictFile[]> => {
  const changed: ConflictFile[] = [];
  for (const file of plan.files.filter(
    ({ path, by }) => by === 'model' && closed.files.includes(path),
  )) {
    const seen = await look(sysBeneath(sys, plan.workspace), join(plan.workspace, file.real));
    if (!isAt(seen, file.result))
      changed.push({ path: file.path, why: `${file.path}: ${since(file, seen)}` });
  }
  return changed;
};

const since = (file: PlannedFile, seen: Seen): string =>
  isAt(seen, file.base)
    ? 'it was applied but has since been restored to its base'
    : `it was applied but has since been changed: ${difference(file.result, seen)}`;

/** A rollback was asked for before anything was written: this application must not come after it. */
export const rolledBackBefore = ({ files }: ApplyRequest): ApplyOutcome => ({
  outcome: 'base_changed',
  conflicts: files.map((path) => ({
    path,
    why: `${path}: the step was rolled back before this was applied`,
  })),
});
