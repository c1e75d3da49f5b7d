/** Transactions that stand open in a home, as they are: nothing is settled, swept or made. For whoever only looks at files. */
import { join } from 'node:path';
import { isStepKey, type StepKey } from '../../shared/ids.js';
import { committedSince } from './repeat.js';
import { difference, isAt, look, type Side, isOpen, recordsOf } from './record.js';
import { createLocks } from './lock.js';
import { resolveInWorkspace } from './paths.js';
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
  /** Absolute real paths of the files that it is about. */
  readonly files: readonly string[];
  /** A live process is at work on it. */
  readonly live: boolean;
}

/** `transactions`: the home's directory of that name; none there, none open. */
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

// The last change of a workspace that this home's records know and nobody put back: what `emend undo` is about.

export interface LastChange {
  readonly stepKey: StepKey;
  /** `patch`: `emend patch` made it; else a run. */
  readonly by: 'patch' | 'run';
  /** ISO time at which it took the workspace. */
  readonly at: string;
  /** Its transactions that stand, in the order in which they were made. */
  readonly records: readonly AppliedRecord[];
  /** Its commit; null: it made none. */
  readonly commit: string | null;
  /** What undoing means for each file. */
  readonly files: readonly {
    readonly path: string;
    readonly change: 'restore' | 'remove' | 'put_back';
  }[];
  /** Files that are not as the change left them. */
  readonly touched: readonly ConflictFile[];
}

/** `root` is the workspace's real path. Null: there is none. Throws ProblemError `disk` where a record that cannot be read may be of it. */
export const lastChange = async (
  sys: Sys,
  home: string,
  root: string,
): Promise<LastChange | null> => {
  const { transactions } = homePaths(home);
  const unread = new Map<StepKey, Problem>();
  let last: { stepKey: StepKey; at: string; records: readonly AppliedRecord[] } | null = null;
  for (const stepKey of ((await orNull(sys.readdir(transactions))) ?? []).filter(isStepKey)) {
    const all = await appliedRecords(sys, transactions, root, stepKey).catch(
      problemOn('disk', 'version_unknown'),
    );
    if ('code' in all) {
      unread.set(stepKey, all);
      continue;
    }
    const records = all.filter(({ closed }) => closed.files.length > 0);
    // By what the record says: in a copy of the home the times of files are the copy's.
    const at = records.at(-1)?.plan.lock.takenAt;
    if (at !== undefined && (last === null || at > last.at)) last = { stepKey, at, records };
  }
  // A plan that cannot be read does not say of which workspace it is. Its lock does; what was changed later stands in its own right.
  const takings = unread.size === 0 ? [] : await createLocks({ home, sys }).takings(root);
  const later = takings.filter(({ takenAt }) => takenAt > (last?.at ?? ''));
  // With all that are kept later, one that is kept no more may have been, too.
  const mayBeIts = later.length > 0 && later.length === takings.length;
  failAll(
    mayBeIts ? [...unread.values()] : later.flatMap(({ stepKey }) => unread.get(stepKey) ?? []),
  );
  if (last === null) return null;
  const { stepKey, at, records } = last;
  let commit: string | null = null;
  for (const { plan } of records) commit ??= await committedSince(sys, plan);
  const by = records.every(({ plan }) => isLocal(plan.lock)) ? 'patch' : 'run';
  return { stepKey, by, at, records, commit, ...(await compare(sys, root, records)) };
};

/** Returns how a file is not as a change left it; null: it is. Nothing is read through a link in the place of a folder. */
const whyTouched = async (
  sys: Sys,
  root: string,
  { real, result }: { readonly real: string; readonly result: Side },
): Promise<string | null> => {
  const place = await resolveInWorkspace(sys, root, real);
  if (!place.ok) return place.why;
  if (place.real !== real) return `a link in its place leads to ${place.real}`;
  const seen = await look(sysBeneath(sys, root), join(root, real));
  return isAt(seen, result) ? null : difference(result, seen);
};

/** First base and last result of each file, against what is there. */
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
    files.push({
      path,
      change: base === null ? 'remove' : result === null ? 'put_back' : 'restore',
    });
    const reason = await whyTouched(sys, root, { real, result });
    if (reason !== null) touched.push({ path, why: `${path}: ${reason}` });
  }
  return { files, touched };
};
