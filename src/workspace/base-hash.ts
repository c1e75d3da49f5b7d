/** A hash of the files that a proposal is laid over. Tests that passed on it hold while it is the same. */
import { join } from 'node:path';
import { orNull } from '../system/durable.js';
import { lstat, readlink } from '../system/fs.js';
import { readGiven, UNREADABLE } from '../system/given-file.js';
import { canonicalJson, sha256 } from '../system/hash.js';
import { gitLine, repositoryOf, valueOf } from './git/git.js';
import { changedPaths, listWorkspaceFiles } from './files/index.js';

const CHANGED_FILES = 20_000; // bound: Files that differ from HEAD, of a base that is hashed,
const CHANGED_BYTES = 64 * 1024 ** 2; // bound: and their bytes together.

/** Returns whether the hash leaves out a path (relative to the workspace). */
export type LeavesOut = (path: string) => boolean;

/**
 * Returns the SHA-256, hex, of HEAD's tree, the changed files, and the untracked files that git does not ignore; outside git, of all files
 * that no .gitignore ignores. Returns null if too much differs from HEAD, or if a changed path is a directory (a submodule).
 * Throws ProblemError `git_failed`.
 */
export async function hashOfBase(root: string, leavesOut: LeavesOut): Promise<string | null> {
  const tree = await headTree(root);
  const listed =
    tree === null
      ? await listWorkspaceFiles(root, CHANGED_FILES + 1)
      : await changedPaths(root, 'all');
  const paths = listed.filter((path) => !leavesOut(path));
  if (paths.length > CHANGED_FILES) return null;
  const files: unknown[] = [];
  let total_bytes = 0;
  for (const path of paths) {
    const stat = await orNull(lstat(join(root, path)), ['ENOENT', 'ENOTDIR']);
    total_bytes += stat?.size ?? 0;
    if (total_bytes > CHANGED_BYTES || stat?.isDirectory() === true) return null;
    files.push([path, stat === null ? null : [stat.mode, await contentOf(join(root, path), stat)]]);
  }
  return sha256(canonicalJson({ tree, files }));
}

/** Id of HEAD's tree; null: there is no commit, or no git. */
async function headTree(root: string): Promise<string | null> {
  const repository = await repositoryOf(root);
  if (repository?.head == null) return null;
  const args = ['rev-parse', '--verify', `${repository.head}^{tree}`];
  return valueOf(await gitLine(args, { cwd: root, reading: true }));
}

/** Returns what stands for a file's content. A pipe, a device and a file that this user may not read have none. */
async function contentOf(
  path: string,
  stat: Awaited<ReturnType<typeof lstat>>,
): Promise<string | null> {
  if (stat.isSymbolicLink()) return readlink(path);
  if (!stat.isFile()) return null;
  const bytes = await orNull(readGiven(path, CHANGED_BYTES), UNREADABLE);
  return bytes === null ? null : sha256(bytes);
}
