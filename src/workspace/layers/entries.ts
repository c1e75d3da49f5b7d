/** Reads directories of a layer after its command has ended. No link is followed: the command chose what is there. */
import type { Stats } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { statBeneath, withDirectory } from '../../system/beneath.js';
import { orNull } from '../../system/durable.js';
import { fstat, lstat, readdir } from '../../system/fs.js';

export interface Entry {
  readonly name: string;
  readonly stat: Stats;
}

const ABSENT = ['ENOENT', 'ENOTDIR', 'EACCES'];

// bound: Bytes of a path in a layer. What is deeper is removed with it, but neither listed nor kept: the kernel takes 4,095.
export const PATH_BYTES = 2_048;

/** Returns what is at a path beneath a root, which is no link's target; null: nothing that this user can see. */
export async function entryAt(root: string, path: string): Promise<Stats | null> {
  const stat = await statBeneath(root, path);
  return stat.ok ? stat.value : null;
}

/** Returns whether this is the kernel's mark for a name that was removed: a character device 0:0. */
export const isRemovalMark = (stat: Pick<Stats, 'isCharacterDevice' | 'rdev'>): boolean =>
  stat.isCharacterDevice() && stat.rdev === 0;

const OPEN = 0o700;

/** Gives the owner all rights to a directory: a command may leave one of mode 000. */
export async function openDirectory(path: string | Buffer, { mode }: Stats): Promise<void> {
  if ((mode & OPEN) !== OPEN) await chmod(path, (mode & 0o7777) | OPEN);
}

/**
 * Lists a directory beneath a root in the order of its names, and opens it first if its mode forbids that. Lists nothing if there is no
 * directory. Leaves out names that are not UTF-8, which no path in a message can state, and paths of more than `PATH_BYTES`.
 */
export async function entriesIn(root: string, path: string): Promise<readonly Entry[]> {
  const listed = await withDirectory(root, path, async (directory) => {
    await openDirectory(directory.self, await fstat(directory.fd));
    const entries: Entry[] = [];
    for (const name of (await readdir(directory.self)).sort()) {
      const isLong = Buffer.byteLength(`${root}/${path}/${name}`) > PATH_BYTES;
      const stat = isLong ? null : await orNull(lstat(directory.pathOf(name)), ABSENT);
      if (stat !== null) entries.push({ name, stat });
    }
    return { ok: true, value: entries };
  });
  return listed.ok ? listed.value : [];
}
