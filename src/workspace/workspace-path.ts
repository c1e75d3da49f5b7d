/** Where a workspace-relative path really lies: links followed, nothing outside, nothing of git's own. */
import { basename, dirname, join, relative, sep } from 'node:path';
import { checkPath } from '../edits/paths.js';
import { orNull } from './sys-put.js';
import type { Sys } from './sys.js';

interface ResolvedPath {
  readonly ok: true;
  /** Relative to the workspace's real path, with `/`, free of links up to its last name (which is no link either where it exists). */
  readonly real: string;
  /** Missing directories above it, outermost first, relative as `real`. */
  readonly missing: readonly string[];
  /** The path is a symbolic link; `real` is what it leads to. */
  readonly viaLink: boolean;
}
export type PathResolution = ResolvedPath | { readonly ok: false; readonly why: string };

const no = (why: string): PathResolution => ({ ok: false, why });
const isInside = (root: string, path: string): boolean => path.startsWith(root.endsWith(sep) ? root : root + sep);

/** `root` is the workspace's real path. Refusals are sentences' ends: "it leads out of the workspace". */
export const resolveInWorkspace = async (sys: Sys, root: string, path: string): Promise<PathResolution> => {
  const checked = checkPath(path);
  if (!checked.ok) return no(checked.why);
  const asked = join(root, checked.path);
  const stat = await orNull(sys.lstat(asked), ['ENOENT', 'ENOTDIR']);
  if (stat?.kind === 'symlink') {
    const real = await orNull(sys.realpath(asked), ['ENOENT', 'ENOTDIR', 'ELOOP']);
    if (real === null) return no('it is a symbolic link that leads nowhere');
    return inside(root, real, [], true);
  }
  const missing: string[] = [];
  for (let dir = dirname(asked); ; dir = dirname(dir)) {
    const real = await orNull(sys.realpath(dir), ['ENOENT', 'ENOTDIR']);
    if (real === null) {
      if ((await orNull(sys.lstat(dir), ['ENOENT', 'ENOTDIR'])) !== null)
        return no(`${relative(root, dir)} is a symbolic link that leads nowhere`);
      missing.unshift(basename(dir));
      continue;
    }
    if ((await sys.stat(real)).kind !== 'directory') return no(`${relative(root, dir) || root} is not a directory`);
    const dirs = missing.map((_, i) => join(real, ...missing.slice(0, i + 1)));
    return inside(root, join(real, ...missing, basename(asked)), dirs, false);
  }
};

const inside = (root: string, real: string, dirs: readonly string[], viaLink: boolean): PathResolution => {
  if (!isInside(root, real)) return no('it leads out of the workspace');
  const local = (path: string) => relative(root, path).split(sep).join('/');
  const again = checkPath(local(real));
  return again.ok ? { ok: true, real: again.path, missing: dirs.map(local), viaLink } : no(again.why);
};

/** Is the directory (relative to the workspace's real path) still itself, not a link put in its place? */
export const isStillDirectory = async (sys: Sys, root: string, dir: string): Promise<boolean> => {
  const path = join(root, dir);
  return (await orNull(sys.realpath(path), ['ENOENT', 'ENOTDIR', 'ELOOP'])) === path;
};
