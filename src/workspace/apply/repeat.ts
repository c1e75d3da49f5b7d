/** Returns the outcome of an application that was recorded before to a retry, a late attempt or a reset run. Nothing is written here. */
import { sysBeneath } from './beneath-sys.js';
import { join } from 'node:path';
import type { ClosedRecord, PlannedFile, TransactionPlan, TransactionRecord } from './record.js';
import { difference, isAt, look, type Seen } from './sides.js';
import { commitSince } from '../git/commit-branch.js';
import { orNull } from '../../system/durable.js';
import type { Sys } from '../../system/sys.js';
import type { ApplyOutcome, ApplyRequest, ConflictFile } from '../ports.js';

export const outcomeOf = ({ outcome, files, conflicts, lock }: ClosedRecord): ApplyOutcome =>
  outcome === 'applied' ? { outcome, files, lock } : { outcome, files, lock, conflicts };

/**
 * Returns the outcome of a closed record, which is not applied again. A file that was restored or changed since is a conflict, on which the
 * user decides. If the step has made its commit, such a change is later work and no conflict.
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

/** Returns the commit that the step made since the lock of the plan was taken; null: it made none. */
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
  for (const file of plan.files) {
    if (file.by !== 'model' || !closed.files.includes(file.path)) continue;
    const seen = await look(sysBeneath(sys, plan.workspace), join(plan.workspace, file.real));
    if (!isAt(seen, file.result))
      changed.push({ path: file.path, why: `${file.path}: ${describeChange(file, seen)}` });
  }
  return changed;
};

/** Returns the end of a sentence that tells how an applied file has changed. */
const describeChange = (file: PlannedFile, seen: Seen): string =>
  isAt(seen, file.base)
    ? 'it was applied but has since been restored to its base'
    : `it was applied but has since been changed: ${difference(file.result, seen)}`;

/** Returns the outcome if a rollback was requested before anything was written: the application must not follow it. */
export const rolledBackBefore = ({ files }: ApplyRequest): ApplyOutcome => ({
  outcome: 'base_changed',
  conflicts: files.map((path) => ({
    path,
    why: `${path}: the step was rolled back before this was applied`,
  })),
});
