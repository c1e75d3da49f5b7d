/** Names of the files that a transaction puts next to its targets for a while, and the paths of all that it touches. */
import { randomBytes } from 'node:crypto';
import { join, posix, basename, dirname, relative, sep } from 'node:path';
import type { PlannedFile, TransactionPlan } from './record.js';
import { checkPath } from '../../edits/index.js';
import { gitDirectoryOf } from '../git/git.js';
import { orNull } from '../../system/durable.js';
import { errnoOf, type Sys } from '../../system/sys.js';

/** Returns a random id of 12 hex digits for an attempt or a token. */
export const freshId = (): string => randomBytes(6).toString('hex');

/** Returns the directory of a file, relative to the workspace; the empty string for the workspace itself. */
export const dirOf = (real: string): string => {
  const dir = posix.dirname(real);
  return dir === '.' ? '' : dir;
};

export interface TargetPaths {
  readonly target: string;
  /** Has the bytes of the result (none for a deletion) until the file is finished. If it is absent, an attempt has finished the file. */
  readonly temp: string;
  readonly backup: (attempt: string, seq: number) => string;
}

const stemOf = (plan: TransactionPlan): string =>
  `.emend-${plan.stepKey.slice(0, 8)}-${plan.token}`;

export const targetPaths = (plan: TransactionPlan, index: number): TargetPaths => {
  const { real } = fileAt(plan, index);
  const dir = join(plan.workspace, dirOf(real));
  const stem = `${stemOf(plan)}-${index}`;
  return {
    target: join(plan.workspace, real),
    temp: join(dir, `${stem}.tmp`),
    backup: (attempt, seq) => join(dir, `${stem}.${attempt}-${seq}.backup`),
  };
};

export const fileAt = (plan: TransactionPlan, index: number): PlannedFile => {
  const file = plan.files[index];
  if (file === undefined) throw new RangeError(`file ${index} of ${plan.files.length}`);
  return file;
};

/** Returns the file and the attempt of a directory entry that is a backup of this plan; null: it is none. */
export const readBackupName = (
  plan: TransactionPlan,
  name: string,
): { index: number; attempt: string } | null => {
  const stem = `${stemOf(plan)}-`;
  const parts = name.startsWith(stem)
    ? /^([0-9]+)\.([0-9a-f]+)-[0-9]+\.backup$/.exec(name.slice(stem.length))
    : null;
  return parts === null ? null : { index: Number(parts[1]), attempt: parts[2] ?? '' };
};

/** Returns the directories with a target, relative to the workspace, each once. */
export const targetDirs = (plan: TransactionPlan): readonly string[] => [
  ...new Set(plan.files.filter((file) => file.write).map((file) => dirOf(file.real))),
];

// Where a workspace-relative path really lies: links followed, nothing outside, nothing of git's own.

interface ResolvedPath {
  readonly ok: true;
  /** In normal form. */
  readonly path: string;
  /** Relative to the workspace's real path, with `/`, free of links up to its last name (which is no link either where it exists). */
  readonly real: string;
  /** Missing directories above it, outermost first, relative as `real`. */
  readonly missing: readonly string[];
  /** The path is a symbolic link; `real` is what it leads to. */
  readonly viaLink: boolean;
}
type RefusedCode = 'name_too_long' | 'target_outside' | 'target_missing' | 'target_not_a_file';
type RefusedPath = Readonly<{ ok: false; code: RefusedCode; why: string }>;

const no = (why: string, code: RefusedCode = 'target_outside'): RefusedPath => ({
  ok: false,
  code,
  why,
});

/** `root` is the workspace's real path. Refusals are sentences' ends: "it leads to /etc/hosts, outside the workspace". */
export const resolveInWorkspace = (
  sys: Sys,
  root: string,
  asked: string,
): Promise<ResolvedPath | RefusedPath> =>
  resolved(sys, root, asked).catch((error: unknown) => {
    const errno = errnoOf(error);
    if (errno === 'ELOOP') return no('symbolic links form a loop', 'target_not_a_file');
    if (errno === 'ENAMETOOLONG')
      return no('the name or the path is too long for this file system', 'name_too_long');
    throw error;
  });

const resolved = async (
  sys: Sys,
  root: string,
  asked: string,
): Promise<ResolvedPath | RefusedPath> => {
  const checked = checkPath(asked);
  if (!checked.ok) return no(checked.why);
  const { path } = checked;
  const full = join(root, path);
  const inside = async (real: string, dirs: readonly string[], viaLink: boolean) => {
    if (real === root) return no('it is a directory, expected a file', 'target_not_a_file');
    if (!real.startsWith(root.endsWith(sep) ? root : root + sep))
      return no(`it leads to ${real}, outside the workspace`);
    const local = (each: string) => relative(root, each).split(sep).join('/');
    const again = checkPath(local(real));
    if (!again.ok) return no(again.why);
    const git = await gitDirectoryOf(real);
    if (git !== null) return no(`the path is in a \`.git\` folder: ${git} is git's own`);
    return { ok: true, path, real: again.path, missing: dirs.map(local), viaLink } as const;
  };
  const stat = await orNull(sys.lstat(full), ['ENOENT', 'ENOTDIR']);
  if (stat?.kind === 'symlink') {
    const real = await orNull(sys.realpath(full), ['ENOENT', 'ENOTDIR']);
    return real === null
      ? no('it is a broken symbolic link', 'target_missing')
      : inside(real, [], true);
  }
  const missing: string[] = [];
  for (let dir = dirname(full); ; dir = dirname(dir)) {
    const real = await orNull(sys.realpath(dir), ['ENOENT', 'ENOTDIR']);
    if (real === null) {
      if ((await orNull(sys.lstat(dir), ['ENOENT', 'ENOTDIR'])) !== null)
        return no(`${relative(root, dir)} is a broken symbolic link`, 'target_missing');
      missing.unshift(basename(dir));
      continue;
    }
    if ((await sys.stat(real)).kind !== 'directory')
      return no(`${relative(root, dir) || root} is not a directory`, 'target_missing');
    const dirs = missing.map((_, i) => join(real, ...missing.slice(0, i + 1)));
    return inside(join(real, ...missing, basename(full)), dirs, false);
  }
};

/** Is the directory (relative to the workspace's real path) still itself, not a link put in its place? */
export const isStillDirectory = async (sys: Sys, root: string, dir: string): Promise<boolean> => {
  const path = join(root, dir);
  return (await orNull(sys.realpath(path), ['ENOENT', 'ENOTDIR', 'ELOOP'])) === path;
};
