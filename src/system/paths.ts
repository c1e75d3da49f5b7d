/** Compares absolute paths, and asks where they lead. */
import { realpathSync } from 'node:fs';
import { errnoOf } from './sys.js';

/** Returns whether a path is a directory or below it, by their names alone. */
export const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);

const UNREACHABLE = 'ENOENT ENOTDIR EACCES EINVAL ELOOP EPERM ENAMETOOLONG'.split(' ');

/**
 * Returns the result of a look at a file; null: the file is not there, or this user may not see it. Synchronous: hundreds of such short looks
 * take the event loop less time than their turns.
 */
export const lookOrNull = <T>(look: () => T): T | null => {
  try {
    return look();
  } catch (error) {
    if (UNREACHABLE.includes(errnoOf(error) ?? '')) return null;
    throw error;
  }
};

/** Never throws. */
export const realOrNull = (path: string): string | null => {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
};

export const realOrSame = (path: string): string => realOrNull(path) ?? path;
