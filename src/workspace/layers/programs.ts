/** Finds the directories of a workspace whose programs a worker or a shell runs by name, or which are Emend itself. */
import { relative } from 'node:path';
import { onPath, type Environment } from '../../system/environment.js';
import { ownPlacesIn } from '../../system/own-installation.js';
import { isWithin, realOrSame } from '../../system/paths.js';

/**
 * Returns the directories on PATH in the workspace, as named and as links lead, and those of Emend's installation, relative to the workspace;
 * '' is the workspace itself.
 */
export function programDirectories(env: Environment, workspace: string): readonly string[] {
  const named = onPath(env);
  const real = named.map(realOrSame);
  const inside = [...named, ...real].filter((dir) => isWithin(dir, workspace));
  return [...new Set([...inside, ...ownPlacesIn(workspace)])].map((dir) =>
    relative(workspace, dir),
  );
}

/** Returns whether a file may be run by its name, or a directory is one of these. Of the workspace itself, only its own files are programs. */
export const isProgram = (
  directories: readonly string[],
  path: string,
  isDirectory = false,
): boolean =>
  directories.some((dir) =>
    dir === '' ? !isDirectory && !path.includes('/') : isWithin(path, dir),
  );
