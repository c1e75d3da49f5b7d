/** Reads the transactions of a home for commands that only show files. Nothing is finished, swept or made here. */
import { join } from 'node:path';
import { isStepKey, type StepKey } from '../../shared/ids.js';
import { committedSince } from './repeat.js';
import { isOpen, recordsOf } from './record.js';
import { difference, isAt, look, type Side } from './sides.js';
import { createLocks } from './lock.js';
import { resolveInWorkspace } from './resolve-path.js';
import { sysBeneath } from './beneath-sys.js';
import { appliedRecords, type AppliedRecord, isLocal } from './lock-owners.js';
import { failAll, problemOn, type Problem } from '../../shared/problems.js';
import { homePaths } from '../../stores/home.js';
import { orNull } from '../../system/durable.js';
import type { Sys } from '../../system/sys.js';
import type { ConflictFile } from '../ports.js';
import { isAlive } from '../../system/process.js';

export interface OpenChange {
  readonly stepKey: StepKey;
  /** Absolute real paths of its files. */
  readonly files: readonly string[];
  /** A live process is at work on it. */
  readonly live: boolean;
}

/** Returns the open transactions of a home; none if its directory `transactions` does not exist. */
export const openChanges = async (
  sys: Sys,
  transactions: string,
): Promise<readonly OpenChange[]> => {
  const found: OpenChange[] = [];
  for (const stepKey of ((await orNull(sys.readdir(transactions))) ?? []).filter(isStepKey))
    for (const record of await recordsOf(sys, transactions, stepKey, ['ENOENT', 'ENOTDIR'])) {
      if (await record.isSettled()) continue;
      const state = await record.load();
      if (state.plan === null || !isOpen(state)) continue;
      const { workspace, files } = state.plan;
      const works = await Promise.all(
        [state.plan, ...state.drivers].map(({ process }) => isAlive(sys, process)),
      );
      found.push({
        stepKey,
        files: files.map(({ real }) => join(workspace, real)),
        live: works.includes(true),
      });
    }
  return found;
};

/** The last change of a workspace in the records of this home that was not undone. `emend undo` undoes it. */
export interface LastChange {
  readonly stepKey: StepKey;
  /** `patch`: made by `emend patch`; else by a run. */
  readonly by: 'patch' | 'run';
  /** ISO time at which it took the lock of the workspace. */
  readonly at: string;
  /** Its transactions that were not rolled back, in the order in which they were made. */
  readonly records: readonly AppliedRecord[];
  /** Commit of the change; null: it made none. */
  readonly commit: string | null;
  /** What an undo does to each file. */
  readonly files: readonly {
    readonly path: string;
    readonly change: 'restore' | 'remove' | 'put_back';
  }[];
  /** Files that were changed or removed after the change. */
  readonly touched: readonly ConflictFile[];
}

/**
 * Returns the last change of a workspace; null: there is none. `root` is the real path of the workspace. Throws ProblemError `disk` if a record
 * that cannot be read may belong to the last change.
 */
export const lastChange = async (
  sys: Sys,
  home: string,
  root: string,
): Promise<LastChange | null> => {
  const { transactions } = homePaths(home);
  const unread = new Map<StepKey, Problem>();
  let last: { stepKey: StepKey; takenAt: string; records: readonly AppliedRecord[] } | null = null;
  for (const stepKey of ((await orNull(sys.readdir(transactions))) ?? []).filter(isStepKey)) {
    const all = await appliedRecords(sys, transactions, root, stepKey).catch(
      problemOn('disk', 'version_unknown'),
    );
    if ('code' in all) {
      unread.set(stepKey, all);
      continue;
    }
    const records = all.filter(({ closed }) => closed.files.length > 0);
    // The time is that in the record: in a copy of the home, the times of files are those of the copy.
    const takenAt = records.at(-1)?.plan.lock.takenAt;
    if (takenAt !== undefined && (last === null || takenAt > last.takenAt))
      last = { stepKey, takenAt, records };
  }
  // A plan that cannot be read does not name its workspace. The locks of this workspace name their steps, so only later locks matter.
  const takings = unread.size === 0 ? [] : await createLocks({ home, sys }).takings(root);
  const later = takings.filter(({ takenAt }) => takenAt > (last?.takenAt ?? ''));
  // If all locks that are kept are later, a lock that is no longer kept may also have been later.
  const mayBeIts = later.length > 0 && later.length === takings.length;
  failAll(
    mayBeIts ? [...unread.values()] : later.flatMap(({ stepKey }) => unread.get(stepKey) ?? []),
  );
  if (last === null) return null;
  const { stepKey, takenAt, records } = last;
  let commit: string | null = null;
  for (const { plan } of records) commit ??= await committedSince(sys, plan);
  const author = records.every(({ plan }) => isLocal(plan.lock)) ? 'patch' : 'run';
  const { files, touched } = await compare(sys, root, records);
  return { stepKey, by: author, at: takenAt, records, commit, files, touched };
};

/** Returns how a file differs from the result of a change; null: it does not. Nothing is read through a link in the place of a folder. */
const whyTouched = async (
  sys: Sys,
  root: string,
  { real, result }: { readonly real: string; readonly result: Side },
): Promise<string | null> => {
  const place = await resolveInWorkspace(sys, root, real);
  if (!place.ok) return place.reason;
  if (place.real !== real) return `a link in its place leads to ${place.real}`;
  const seen = await look(sysBeneath(sys, root), join(root, real));
  return isAt(seen, result) ? null : difference(result, seen);
};

/** Returns what an undo does to a file with this first base and this last result. */
const undoOf = (base: Side, result: Side): LastChange['files'][number]['change'] => {
  if (base === null) return 'remove';
  return result === null ? 'put_back' : 'restore';
};

/** Compares the first base and the last result of each file with its current state. */
const compare = async (
  sys: Sys,
  root: string,
  records: readonly AppliedRecord[],
): Promise<Pick<LastChange, 'files' | 'touched'>> => {
  const sides = new Map<string, { path: string; base: Side; result: Side }>();
  for (const { plan, closed } of records)
    for (const file of plan.files) {
      if (file.by === 'person' || !closed.files.includes(file.path)) continue;
      const first = sides.get(file.real);
      sides.set(file.real, {
        path: file.path,
        base: first?.base ?? file.base,
        result: file.result,
      });
    }
  const files: LastChange['files'][number][] = [];
  const touched: ConflictFile[] = [];
  for (const [real, { path, base, result }] of sides) {
    files.push({ path, change: undoOf(base, result) });
    const reason = await whyTouched(sys, root, { real, result });
    if (reason !== null) touched.push({ path, why: `${path}: ${reason}` });
  }
  return { files, touched };
};
