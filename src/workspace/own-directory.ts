/** A directory of ours that holds code, prompts and answers: it must be this user's own. */
import { shellWord } from './shell-word.js';
import { ensureDir, orNull } from './sys-put.js';
import { errnoOf, type Sys } from './sys.js';

/**
 * The directory's absolute real path, created with mode 0700 where it was missing. `unusable` throws: it gets the path, why it will not
 * do (a sentence's end) and what to do.
 */
export const ownDirectory = async (
  sys: Sys,
  path: string,
  elsewhere: string,
  unusable: (path: string, why: string, next: string) => never,
): Promise<string> => {
  try {
    if ((await orNull(sys.stat(path))) === null) await ensureDir(sys, path);
    const stat = await sys.stat(path);
    if (stat.kind !== 'directory') return unusable(path, 'it is not a directory', elsewhere);
    if (process.getuid !== undefined && stat.uid !== process.getuid())
      return unusable(path, `it belongs to user ${stat.uid}, not to you (${process.getuid()})`, elsewhere);
    if ((stat.mode & 0o022) !== 0)
      return unusable(path, 'other users may write to it', `Run: chmod go-w ${shellWord(path)}`);
    await sys.accessWrite(path);
    return await sys.realpath(path);
  } catch (error) {
    const code = errnoOf(error);
    if (code === null) throw error;
    return unusable(path, `${WHY[code] ?? 'a system call failed'} (${code})`, elsewhere);
  }
};

const WHY: Record<string, string> = {
  EROFS: 'its filesystem is read-only',
  EACCES: 'you may not write there',
  EPERM: 'you may not write there',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'it is a file or a broken link',
  ENOSPC: 'the disk is full',
};
