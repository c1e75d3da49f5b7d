/** Resolves paths of a workspace: links are followed, and a path outside the workspace or in a directory of git is refused. */
import { join, basename, dirname, relative, sep } from 'node:path';
import { checkPath } from '../../edits/index.js';
import { gitDirectoryOf } from '../git/git.js';
import { orNull } from '../../system/durable.js';
import { errnoOf, type Sys } from '../../system/sys.js';

interface ResolvedPath {
  readonly ok: true;
  /** The path in normal form. */
  readonly path: string;
  /** The path relative to the real path of the workspace, with `/`. It has no links; its last name need not exist. */
  readonly real: string;
  /** Missing directories above the file, outermost first, relative like `real`. */
  readonly missing: readonly string[];
  /** The path is a symbolic link, and `real` is its target. */
  readonly viaLink: boolean;
}
type RefusedCode = 'name_too_long' | 'target_outside' | 'target_missing' | 'target_not_a_file';
type RefusedPath = Readonly<{ ok: false; code: RefusedCode; reason: string }>;

const refusePath = (reason: string, code: RefusedCode = 'target_outside'): RefusedPath => ({
  ok: false,
  code,
  reason,
});

/**
 * Resolves a path of the workspace with the real path `root`. The reason of a refusal is the end of a sentence: "it leads to /etc/hosts, outside
 * the workspace".
 */
export const resolveInWorkspace = (
  sys: Sys,
  root: string,
  input: string,
): Promise<ResolvedPath | RefusedPath> =>
  resolvePath(sys, root, input).catch((error: unknown) => {
    const errno = errnoOf(error);
    if (errno === 'ELOOP') return refusePath('symbolic links form a loop', 'target_not_a_file');
    if (errno === 'ENAMETOOLONG')
      return refusePath('the name or the path is too long for this file system', 'name_too_long');
    throw error;
  });

const resolvePath = async (
  sys: Sys,
  root: string,
  input: string,
): Promise<ResolvedPath | RefusedPath> => {
  const checked = checkPath(input);
  if (!checked.ok) return refusePath(checked.why);
  const { path } = checked;
  const full = join(root, path);
  const inside = async (real: string, dirs: readonly string[], viaLink: boolean) => {
    if (real === root) return refusePath('it is a directory, expected a file', 'target_not_a_file');
    if (!real.startsWith(root.endsWith(sep) ? root : root + sep))
      return refusePath(`it leads to ${real}, outside the workspace`);
    const inWorkspace = (entry: string) => relative(root, entry).split(sep).join('/');
    const again = checkPath(inWorkspace(real));
    if (!again.ok) return refusePath(again.why);
    const git = await gitDirectoryOf(real);
    if (git !== null) return refusePath(`the path is in a \`.git\` folder: ${git} is git's own`);
    return { ok: true, path, real: again.path, missing: dirs.map(inWorkspace), viaLink } as const;
  };
  const stat = await orNull(sys.lstat(full), ['ENOENT', 'ENOTDIR']);
  if (stat?.kind === 'symlink') {
    const real = await orNull(sys.realpath(full), ['ENOENT', 'ENOTDIR']);
    return real === null
      ? refusePath('it is a broken symbolic link', 'target_missing')
      : inside(real, [], true);
  }
  const missing: string[] = [];
  for (let dir = dirname(full); ; dir = dirname(dir)) {
    const real = await orNull(sys.realpath(dir), ['ENOENT', 'ENOTDIR']);
    if (real === null) {
      if ((await orNull(sys.lstat(dir), ['ENOENT', 'ENOTDIR'])) !== null)
        return refusePath(`${relative(root, dir)} is a broken symbolic link`, 'target_missing');
      missing.unshift(basename(dir));
      continue;
    }
    if ((await sys.stat(real)).kind !== 'directory')
      return refusePath(`${relative(root, dir) || root} is not a directory`, 'target_missing');
    const dirs = missing.map((_, i) => join(real, ...missing.slice(0, i + 1)));
    return inside(join(real, ...missing, basename(full)), dirs, false);
  }
};

/** Returns whether a directory (relative to the real path of the workspace) is still a directory, and no link took its place. */
export const isStillDirectory = async (sys: Sys, root: string, dir: string): Promise<boolean> => {
  const path = join(root, dir);
  return (await orNull(sys.realpath(path), ['ENOENT', 'ENOTDIR', 'ELOOP'])) === path;
};
