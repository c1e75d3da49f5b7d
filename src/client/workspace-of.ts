/** Where a job works: the nearest git top level above the job file, or the directory that the caller names. */
import { lstat, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fail } from '../shared/problems.js';

/**
 * Real path of the workspace. A worktree is its own top level (its `.git` is a file), so its path stays as it is.
 * Without `explicit`: the nearest directory at or above the job file that has a `.git`, else the job file's directory.
 * Throws ProblemError `usage` when `explicit` is not a directory.
 */
export const workspaceOf = async (jobFile: string, explicit: string | null, cwd: string): Promise<string> => {
  if (explicit !== null) {
    const path = resolve(cwd, explicit);
    const directory = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!directory) fail('usage', `The workspace ${path} is not a directory.`, 'Give an existing directory with --workspace.');
    return realpath(path);
  }
  const start = dirname(await realpath(jobFile));
  return (await gitTopLevel(start)) ?? start;
};

const gitTopLevel = async (from: string): Promise<string | null> => {
  for (let directory = from; ; directory = dirname(directory)) {
    const found = await lstat(join(directory, '.git')).then(
      () => true,
      () => false,
    );
    if (found) return directory;
    if (dirname(directory) === directory) return null;
  }
};

/** `path` relative to the workspace with `/` where it lies inside, else absolute. Both are real paths. */
export const pathInWorkspace = (workspace: string, path: string): string => {
  const inside = relative(workspace, path);
  const outside = inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside);
  return outside ? path : inside.split(sep).join('/');
};
