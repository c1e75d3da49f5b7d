/** Writes a changed plan: all of its files or none, by one apply transaction. Commits nothing. */
import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { STORE_BOUNDS } from '../../shared/bounds.js';
import { fail } from '../../shared/problems.js';
import { shownKey } from '../../shared/ids.js';
import { checkHomeVersion, homeLocation, homePaths } from '../../stores/home.js';
import { openChanges, type OpenChange } from '../../workspace/apply/index.js';
import { realSys } from '../../system/sys.js';
import type { Io } from '../io.js';
import { count, plain } from '../render/text.js';
import { newStepKey } from '../../client/runs/start.js';
import type { Changed } from '../../documents/plan/index.js';
import { NEW_FILE_MODE } from '../../workspace/files/index.js';
import type { ProposalFile } from '../../workspace/proposal.js';
import { applyLocally, type Local } from '../local/open.js';
import { dropEmptyFolders, inWorkspace, type ReadPlan } from '../../workspace/documents/index.js';

export interface WrittenFile {
  /** As told to a person. */
  readonly path: string;
  readonly change: 'create' | 'edit' | 'delete';
}

/** Throws ProblemError `busy`, `conflict` or `disk`; then nothing was written, but where a person saved in the same moment. */
export const writePlan = async (local: Local, plan: ReadPlan, changed: Changed): Promise<readonly WrittenFile[]> => {
  const before = plan.tree.files;
  const paths = [...new Set([...before.keys(), ...changed.files.keys()])]
    .filter((path) => before.get(path) !== changed.files.get(path))
    .sort();
  if (paths.length === 0) return [];
  const { workspace, base } = plan;
  const modeOf = (path: string): number =>
    (statSync(join(base, path), { throwIfNoEntry: false })?.mode ?? NEW_FILE_MODE) & 0o777;
  const put = async (text: string | undefined, mode: number): Promise<ProposalFile['base']> =>
    text === undefined ? null : { ref: await local.blobs.put(new TextEncoder().encode(text)), mode };
  const files: ProposalFile[] = [];
  for (const path of paths) {
    const mode = modeOf(path);
    const [old, result] = [await put(before.get(path), mode), await put(changed.files.get(path), mode)];
    files.push({ path: inWorkspace(plan, workspace, path), base: old, result, by: 'model' });
  }
  const applied = await applyLocally(local, workspace, { stepKey: newStepKey(), files, renames: [] });
  if (applied.outcome === 'base_changed')
    return fail(
      'conflict',
      `${applied.conflicts.map(({ why }) => why).join('; ')}. Nothing was changed.`,
      'Check these files, then try again.',
    );
  if (applied.outcome === 'conflict')
    return fail(
      'conflict',
      `Skipped, saved by someone in the meantime: ${applied.conflicts.map(({ path }) => path).join(', ')}.`,
      'See `emend plan check`; `emend undo` reverts the rest.',
    );
  const gone = paths.filter((path) => !changed.files.has(path));
  await dropEmptyFolders(base, gone);
  return paths.map((path) => ({
    path: plan.show(path),
    change: !before.has(path) ? 'create' : changed.files.has(path) ? 'edit' : 'delete',
  }));
};

// A change of a plan's files that a killed command left half done: what stands there is neither the plan before it nor the plan after.
// Whoever only looks says so and what to type, instead of telling of faults that nobody wrote.

/** Throws ProblemError `half_done`; `busy` where a live process does not come to its end in time. Makes no home and writes nothing. */
export const refuseHalfDone = async ({ cwd, env }: Pick<Io, 'cwd' | 'env'>, typed: string): Promise<void> => {
  const home = homeLocation(env);
  await checkHomeVersion(home);
  const { transactions } = homePaths(home);
  for (const end = performance.now() + STORE_BOUNDS.attemptPatience_ms; ;) {
    const open = (await openChanges(realSys, transactions)).filter(({ files }) => isOfPlan(cwd, typed, files));
    const dead = open.find(({ live }) => !live);
    if (dead !== undefined) return refuse(typed, dead);
    const [first] = open;
    if (first === undefined) return;
    if (performance.now() > end)
      return fail(
        'busy',
        `${typed}: another process (${shownKey(first.stepKey)}) is working on the files of this plan.`,
      );
    await sleep(STORE_BOUNDS.attemptPoll_ms);
  }
};

const refuse = (typed: string, { stepKey, files }: OpenChange): never => {
  const left = `a change of ${count(files.length, 'file')} of this plan incomplete (${shownKey(stepKey)})`;
  return fail('half_done', plain(`${typed}: an interrupted command left ${left}. Nothing was read.`));
};

/**
 * Of the plan that the path means, though the plan may not be found as it stands: the path itself or one of the two folders above it
 * (a phase's, the plan's) is a plan's where its main file is there or among the files of the change.
 */
const isOfPlan = (cwd: string, typed: string, files: readonly string[]): boolean => {
  const path = realOf(resolve(cwd, typed)).replace(/\.md$/i, '');
  return [path, dirname(path), dirname(dirname(path))].some((stem) => {
    const mains = [`${stem}.md`, join(stem, `${basename(stem)}.md`)];
    const isPlan = mains.some(
      (main) => files.includes(main) || statSync(main, { throwIfNoEntry: false })?.isFile() === true,
    );
    return isPlan && files.some((file) => file === mains[0] || file.startsWith(`${stem}/`));
  });
};

/** Free of links as far as it is there. */
const realOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realOf(dirname(path)), basename(path));
  }
};
