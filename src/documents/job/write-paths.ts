/** Paths of `sandbox.write`, which commands may write for real: those inside the workspace, those elsewhere, and those that are refused. */
import { posix } from 'node:path';
import { fail } from '../../shared/problems.js';
import { isDependencyFolder } from './dependency-folders.js';
import { DEFAULT_PROTECTED, whyProtected } from './protected-paths.js';

interface Writes {
  readonly write: readonly string[];
}
export interface Places {
  /** Real path of the workspace. */
  readonly root: string;
  /** The directory that `~` names. */
  readonly home: string;
}

/** Returns the paths that are inside the workspace, relative to it and normalized. Throws ProblemError `config_invalid`. */
export const workspaceWrites = (settings: Writes, { root, home }: Places): readonly string[] =>
  settings.write
    .map((written) => ({ written, path: posix.resolve(root, expanded(written, home)) }))
    .filter(({ path }) => isInside(path, root))
    .map(({ written, path }) => {
      const relative = posix.relative(root, path);
      const refusal = writeRefusal(written.endsWith('/') ? `${relative}/` : relative);
      return refusal === null ? relative : refuse(written, `expected ${refusal}`);
    });

/** Returns the absolute paths that are outside the workspace. Throws ProblemError `config_invalid` for one that contains it. */
export const outsideWrites = (settings: Writes, { root, home }: Places): readonly string[] =>
  settings.write
    .map((written) => ({ written, path: posix.resolve(root, expanded(written, home)) }))
    .filter(({ path }) => !isInside(path, root))
    .map(({ written, path }) =>
      isInside(root, path) ? refuse(written, 'it contains the workspace') : path,
    );

/** Returns whether a path is written relative to the workspace. */
export const isRelativeWrite = (written: string): boolean => !/^~?\//.test(written);

const expanded = (path: string, home: string): string =>
  path.startsWith('~/') ? posix.join(home, path.slice(2)) : path;
const isInside = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
const refuse = (written: string, reason: string): never =>
  fail(
    'config_invalid',
    `\`sandbox.write\` names ${written}: ${reason}.`,
    'Name a folder for snapshots or reports, such as `reports/`.',
  );

/** Reading the patterns takes milliseconds, and a command may leave thousands of files. */
let defaults: ReturnType<typeof whyProtected> | null = null;
const defaultProtection = (): ReturnType<typeof whyProtected> =>
  (defaults ??= whyProtected(DEFAULT_PROTECTED));

/**
 * Returns the kind of path that is expected in place of this one; null: commands may write it for real. The path is relative to the
 * workspace and ends in a slash if it names a folder. `sandbox.write` names it, or a command left it below a path that is named there.
 * `patterns`: the protected paths.
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
  // Any name shows whether a whole folder is protected. In some folders Emend obeys Markdown files.
  const inFolder = protection(`${folder}/any`) ?? defaultProtection()(`${folder}/job.md`);
  if (inFolder !== null) return `a path that is not protected (${inFolder})`;
  const ofFile = path.endsWith('/') ? null : protection(path);
  return ofFile === null
    ? null
    : `a file that is not protected (${ofFile}), or a folder with "/" at its end`;
};
