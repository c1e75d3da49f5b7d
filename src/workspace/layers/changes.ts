/** Reads what a command left in the upper layer of its overlay. No link is followed: the command chose what lies there. */
import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { STORE_BOUNDS } from '../../shared/bounds.js';
import { fail } from '../../shared/problems.js';
import { orNull } from '../../system/durable.js';

/** One entry that a command wrote or removed; `path` is relative to the workspace. */
export interface Change {
  readonly path: string;
  readonly kind: 'file' | 'link' | 'removed' | 'other';
}

const CHANGES = 10_000; // bound: Entries of one upper layer that are listed.

/** A character device 0:0 in an upper layer is the kernel's mark for a name that was removed. */
const isWhiteout = (stat: { isCharacterDevice: () => boolean; readonly rdev: number }): boolean =>
  stat.isCharacterDevice() && stat.rdev === 0;

/** Lists the files, links and removals in an upper layer, in the order of their paths. */
export async function changesIn(upper: string): Promise<readonly Change[]> {
  const changes: Change[] = [];
  const visit = async (dir: string): Promise<void> => {
    const names = (await orNull(readdir(join(upper, dir)), ['EACCES', 'ENOENT'])) ?? [];
    for (const name of names.sort()) {
      if (changes.length >= CHANGES) return;
      const path = dir + name;
      const stat = await lstat(join(upper, path));
      if (stat.isDirectory()) await visit(`${path}/`);
      else if (isWhiteout(stat)) changes.push({ path, kind: 'removed' });
      else if (stat.isFile()) changes.push({ path, kind: 'file' });
      else changes.push({ path, kind: stat.isSymbolicLink() ? 'link' : 'other' });
    }
  };
  await visit('');
  return changes;
}

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * Reads a file that a command left below `dir`, a directory of ours, after the command has ended. Returns null if there is nothing at that
 * path. Throws ProblemError `target_not_a_file` for anything but a regular file reached through real directories, and `target_too_large`.
 */
export async function readFromLayer(
  dir: string,
  path: string,
  max_bytes: number = STORE_BOUNDS.target_bytes,
): Promise<{ readonly bytes: Buffer; readonly mode: number } | null> {
  const parts = path.split('/');
  let at = dir;
  for (const [index, part] of parts.entries()) {
    at = join(at, part);
    const stat = await orNull(lstat(at), ['ENOENT', 'ENOTDIR']);
    if (stat === null) return null;
    const isExpected = index === parts.length - 1 ? stat.isFile() : stat.isDirectory();
    if (!isExpected)
      return fail('target_not_a_file', `A command left ${path} as something other than a file.`);
  }
  const file = await open(at, READ);
  try {
    const stat = await file.stat();
    if (!stat.isFile())
      return fail('target_not_a_file', `A command left ${path} as something other than a file.`);
    if (stat.size > max_bytes)
      return fail('target_too_large', `A command left ${path} with more than ${max_bytes} bytes.`);
    return { bytes: await file.readFile(), mode: stat.mode & 0o777 };
  } finally {
    await file.close();
  }
}
