/**
 * A change of a plan's files that a killed command left half done: what stands there is neither the plan before it nor the plan after.
 * Whoever only looks says so and what to type, instead of telling of faults that nobody wrote.
 */
import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { STORE_BOUNDS } from '../shared/bounds.js';
import { fail } from '../shared/problems.js';
import { shownKey } from '../shared/refs.js';
import { homeLocation, homePaths } from '../workspace/home.js';
import { openChanges, type OpenChange } from '../workspace/open-changes.js';
import { realSys } from '../workspace/sys.js';
import type { Io } from './io.js';
import { count, plain } from './render/text.js';

/** Throws ProblemError `half_done`; `busy` where a live process does not come to its end in time. Makes no home and writes nothing. */
export const refuseHalfDone = async ({ cwd, env }: Pick<Io, 'cwd' | 'env'>, typed: string): Promise<void> => {
  const { transactions } = homePaths(homeLocation(env));
  for (const end = Date.now() + STORE_BOUNDS.attemptPatience_ms; ;) {
    const open = (await openChanges(realSys, transactions)).filter(({ files }) => isOfPlan(cwd, typed, files));
    const dead = open.find(({ live }) => !live);
    if (dead !== undefined) return refuse(typed, dead);
    const [first] = open;
    if (first === undefined) return;
    if (Date.now() > end)
      return fail(
        'busy',
        `${typed}: another process (${shownKey(first.stepKey)}) is at work on the files of this plan.`,
      );
    await sleep(STORE_BOUNDS.attemptPoll_ms);
  }
};

const refuse = (typed: string, { stepKey, files }: OpenChange): never =>
  fail(
    'half_done',
    plain(
      `${typed}: a command that was killed left a change of ${count(files.length, 'file')} of this plan half done (${shownKey(stepKey)}). Nothing was read.`,
    ),
  );

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
