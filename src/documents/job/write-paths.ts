/**
 * Sorts the paths of `sandbox.write`, which commands may write outside their throwaway layer: those inside the workspace, those outside, and
 * those that Emend refuses.
 */
import { posix } from 'node:path';
import { fail } from '../../shared/problems.js';
import { isDependencyFolder } from './dependency-folders.js';
import { DEFAULT_PROTECTED } from './protected-patterns.js';
import { whyProtected } from './protected-paths.js';

interface Writes {
  readonly write: readonly string[];
}
interface Places {
  /** Real path of the workspace. */
  readonly root: string;
  /** The directory that `~` names. */
  readonly home: string;
}

/** Returns the paths inside the workspace, relative to it and normalized. Throws ProblemError `config_invalid` for a path that is refused. */
export const workspaceWrites = (settings: Writes, { root, home }: Places): readonly string[] =>
  settings.write
    .map((input) => ({ input, path: posix.resolve(root, expandHome(input, home)) }))
    .filter(({ path }) => isInside(path, root))
    .map(({ input, path }) => {
      const relative = posix.relative(root, path);
      const refusal = writeRefusal(input.endsWith('/') ? `${relative}/` : relative);
      return refusal === null ? relative : refuse(input, `expected ${refusal}`);
    });

/** Returns the absolute paths outside the workspace. Throws ProblemError `config_invalid` for a path that contains the workspace. */
export const outsideWrites = (settings: Writes, { root, home }: Places): readonly string[] =>
  settings.write
    .map((input) => ({ input, path: posix.resolve(root, expandHome(input, home)) }))
    .filter(({ path }) => !isInside(path, root))
    .map(({ input, path }) =>
      isInside(root, path) ? refuse(input, 'it contains the workspace') : path,
    );

/** Returns whether a path of `sandbox.write` is relative to the workspace. */
export const isRelativeWrite = (path: string): boolean => !/^~?\//.test(path);

const expandHome = (path: string, home: string): string =>
  path.startsWith('~/') ? posix.join(home, path.slice(2)) : path;
const isInside = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
const refuse = (path: string, reason: string): never =>
  fail(
    'config_invalid',
    `\`sandbox.write\` names ${path}: ${reason}.`,
    'Name a folder for snapshots or reports, such as `reports/`.',
  );

/** The default patterns, once they are read. Reading takes milliseconds, and a command may write thousands of files that need the check. */
let defaults: ReturnType<typeof whyProtected> | null = null;
const defaultProtection = (): ReturnType<typeof whyProtected> =>
  (defaults ??= whyProtected(DEFAULT_PROTECTED));

/**
 * Returns the kind of path that is expected instead of this one, or null if commands may write this one. The path is relative to the
 * workspace, and ends in a slash if it names a folder. It comes from `sandbox.write`, or it is a file that a command wrote below such a path.
 * `patterns` are the protected paths.
 */
export const writeRefusal = (
  path: string,
  patterns: readonly string[] = DEFAULT_PROTECTED,
): string | null => {
  const parts = path.split('/').filter((part) => part !== '');
  if (parts.length === 0) return 'a path below the workspace, not the workspace itself';
  if (parts.some((part) => part.toLowerCase() === '.git')) return 'a path outside .git';
  if (isDependencyFolder(path)) return 'a path outside dependency folders such as node_modules';
  const protection = whyProtected(patterns);
  const folder = parts.join('/');
  // A whole folder is protected if any name in it is. Some folders contain jobs and plans, of which only Markdown files are protected.
  const folderReason = protection(`${folder}/any`) ?? defaultProtection()(`${folder}/job.md`);
  if (folderReason !== null) return `a path that is not protected (${folderReason})`;
  const fileReason = path.endsWith('/') ? null : protection(path);
  return fileReason === null
    ? null
    : `a file that is not protected (${fileReason}), or a folder with "/" at its end`;
};
