/** Reads a file as a commit has it. */
import { realpath } from 'node:fs/promises';
import { dirname, posix, relative, sep } from 'node:path';
import { fail } from '../../shared/problems.js';
import { git, repositoryOf, valueOf } from './git.js';

const LINKS = 10; // bound: Maximum number of symbolic links that lead from a name to its file in a commit.

export interface CommittedFile {
  /** Path of the file that was read, relative to the directory: a link of the commit was followed to it. */
  readonly path: string;
  readonly bytes: Buffer;
}

/**
 * Returns a file of the commit by its path in the directory; null: the commit has no such file. Follows links of the commit as the
 * filesystem would. Throws ProblemError `git_failed` if the object is not in the clone, `config_invalid` if a link leaves the directory.
 */
export async function fileAtCommit(
  directory: string,
  commit: string,
  path: string,
  links = LINKS,
): Promise<CommittedFile | null> {
  const call = { cwd: directory, reading: true };
  const listed = valueOf(await git(['ls-tree', '-z', commit, '--', path], call)).text;
  const [, mode, type, object] = /^(\d+) (\w+) (\w+)\t/.exec(listed) ?? [];
  if (type !== 'blob' || object === undefined) return null;
  const bytes = Buffer.from(valueOf(await git(['cat-file', 'blob', object], call)).bytes);
  if (mode !== '120000') return { path, bytes };
  const target = bytes.toString('utf8');
  const next = posix.join(posix.dirname(path), target);
  if (links === 0 || posix.isAbsolute(target) || next === '..' || next.startsWith('../'))
    return fail(
      'config_invalid',
      `${path} of the commit ${commit.slice(0, 12)} is a symbolic link to ${target}; expected a link to a file of the workspace.`,
      'Put the file itself into the commit.',
    );
  return fileAtCommit(directory, commit, next, links - 1);
}

/** Returns where a file is in the repository around the directory; null: it is outside that repository. */
export async function placeInRepository(
  directory: string,
  file: string,
): Promise<{ readonly root: string; readonly path: string } | null> {
  const real = await realpath(file);
  const root = (await repositoryOf(directory))?.root;
  const own = (await repositoryOf(dirname(real)))?.root;
  return root === undefined || root !== own
    ? null
    : { root, path: relative(root, real).split(sep).join('/') };
}
