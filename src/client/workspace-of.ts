/** Where a job works: the nearest git top level above the job file, or the directory that the caller names. */
import { realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { fail } from '../shared/problems.js';
import { repositoryOf } from '../workspace/git.js';

/**
 * Real path of the workspace. A worktree is a top level of its own, so its path stays as it is.
 * Without `explicit`: the top level of the git repository that holds the job file, else the job file's directory.
 * Throws ProblemError `usage` when `explicit` is not a directory, `git_failed` where git cannot tell.
 */
export const workspaceOf = async (jobFile: string, explicit: string | null, cwd: string): Promise<string> => {
  if (explicit !== null) {
    const path = resolve(cwd, explicit);
    const directory = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!directory)
      fail('usage', `The workspace ${path} is not a directory.`, 'Give an existing directory with --workspace.');
    return realpath(path);
  }
  const start = dirname(await realpath(jobFile));
  return (await repositoryOf(start))?.root ?? start;
};

/** `path` relative to the workspace with `/` where it lies inside, else absolute. Both are real paths. */
export const pathInWorkspace = (workspace: string, path: string): string => {
  const inside = relative(workspace, path);
  const outside = inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside);
  return outside ? path : inside.split(sep).join('/');
};
