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
import { newStepKey } from '../../client/runs/new-key.js';
import type { Changed } from '../../documents/plan/index.js';
import { applyLocally, type Local } from '../local/open.js';
import {
  changedTexts,
  dropFolders,
  inWorkspace,
  type ReadPlan,
} from '../../workspace/documents/index.js';

export interface WrittenFile {
  /** As told to a person. */
  readonly path: string;
  readonly change: 'create' | 'edit' | 'delete';
}

/** Throws ProblemError `busy`, `conflict` or `disk`; then nothing was written, but where a person saved in the same moment. */
export const writePlan = async (
  local: Local,
  plan: ReadPlan,
  changed: Changed,
): Promise<readonly WrittenFile[]> => {
  const { workspace, base } = plan;
  const changes = await changedTexts(local.blobs, base, plan.tree.files, changed.files);
  if (changes.length === 0) return [];
  const files = changes.map((file) => ({ ...file, path: inWorkspace(plan, workspace, file.path) }));
  const applied = await applyLocally(local, workspace, {
    stepKey: newStepKey(),
    files,
    renames: [],
  });
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
  await dropFolders(base, changes);
  return changes.map((file) => ({
    path: plan.show(file.path),
    change: file.base === null ? 'create' : file.result === null ? 'delete' : 'edit',
  }));
};

// A change of a plan's files that a killed command left half done: what stands there is neither the plan before it nor the plan after.
// Whoever only looks says so and what to type, instead of telling of faults that nobody wrote.

/** Throws ProblemError `half_done`; `busy` where a live process does not come to its end in time. Makes no home and writes nothing. */
export const refuseHalfDone = async (
  { cwd, env }: Pick<Io, 'cwd' | 'env'>,
  typed: string,
): Promise<void> => {
  const home = homeLocation(env);
  await checkHomeVersion(home);
  const { transactions } = homePaths(home);
  for (const end = performance.now() + STORE_BOUNDS.attemptPatience_ms; ;) {
    const open = (await openChanges(realSys, transactions)).filter(({ files }) =>
      isOfPlan(cwd, typed, files),
    );
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
  return fail(
    'half_done',
    plain(`${typed}: an interrupted command left ${left}. Nothing was read.`),
  );
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
      (main) =>
        files.includes(main) || statSync(main, { throwIfNoEntry: false })?.isFile() === true,
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
