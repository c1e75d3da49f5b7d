/** Compares absolute paths, and finds where they lead. */
import { realpathSync } from 'node:fs';
import { errnoOf } from './sys.js';

/** Returns whether a path is a directory or below it, by their names alone. */
export const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);

const UNREACHABLE = 'ENOENT ENOTDIR EACCES EINVAL ELOOP EPERM ENAMETOOLONG'.split(' ');

/**
 * Returns the result of a look at a file; null: the file is not there, or this user may not see it. It is synchronous: hundreds of such
 * short calls take less time than as many turns of the event loop.
 */
export const lookOrNull = <T>(look: () => T): T | null => {
  try {
    return look();
  } catch (error) {
    if (UNREACHABLE.includes(errnoOf(error) ?? '')) return null;
    throw error;
  }
};

/** Returns the real path; null: the path leads nowhere, or this user may not see it. Never throws. */
export const realOrNull = (path: string): string | null => {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
};

export const realOrSame = (path: string): string => realOrNull(path) ?? path;
