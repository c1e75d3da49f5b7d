/** Writes a changed plan: all of its files or none, by one apply transaction. Commits nothing. */
import { rmdirSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { newStepKey } from '../client/ids.js';
import type { Changed } from '../plan/change.js';
import { fail } from '../shared/problems.js';
import { NEW_FILE_MODE } from '../workspace/files.js';
import type { ProposalFile } from '../workspace/types.js';
import { applyLocally } from './patch/apply-or-wait.js';
import type { Local } from './patch/open-local.js';
import type { ReadPlan } from '../plan-files/read.js';

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
    files.push({ path: relative(workspace, join(base, path)).split(sep).join('/'), base: old, result, by: 'model' });
  }
  const applied = await applyLocally(local, workspace, { v: 1, stepKey: newStepKey(), files, moves: [] });
  if (applied.outcome === 'base_changed')
    return fail(
      'conflict',
      `${applied.conflicts.map(({ why }) => why).join('; ')}. Nothing was changed.`,
      'Look at these files, then try again.',
    );
  if (applied.outcome === 'conflict')
    return fail(
      'conflict',
      `Saved by somebody meanwhile and left alone: ${applied.conflicts.map(({ path }) => path).join(', ')}.`,
      'See `emend plan check`; `emend undo` takes back the rest.',
    );
  dropEmpty(
    base,
    paths.filter((path) => !changed.files.has(path)),
  );
  return paths.map((path) => ({
    path: plan.show(path),
    change: !before.has(path) ? 'create' : changed.files.has(path) ? 'edit' : 'delete',
  }));
};

/** Folders of the plan that hold nothing any more; one that holds a person's files stays. */
const dropEmpty = (base: string, gone: readonly string[]): void => {
  const folders = new Set(
    gone.flatMap((path) => [dirname(path), dirname(dirname(path))]).filter((folder) => folder !== '.'),
  );
  for (const folder of [...folders].sort((a, b) => b.length - a.length))
    try {
      rmdirSync(join(base, folder));
    } catch {
      // Not empty, or gone already.
    }
};
