/**
 * Removes layers. A test may leave directories that its own user may not enter (mode 000), so removal opens them. Node's recursive `rm` is of
 * no use here: it rejects at the first of them while it is still removing others.
 */
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { orNull } from '../../system/durable.js';
import { lstat, rename, rmdir, unlink } from '../../system/fs.js';
import { openDirectory, PATH_BYTES } from './entries.js';

/** Removes a file, or a directory with everything in it. Nothing there is fine. Names are bytes: a command chose them. */
export async function removeTree(path: string | Buffer): Promise<void> {
  const top = Buffer.from(path);
  await removeBelow(top, top);
}

/** Removes a path in or at `top`. A directory whose path is long is moved up to `top` first: the kernel takes 4,095 bytes. */
async function removeBelow(path: Buffer, top: Buffer): Promise<void> {
  const stat = await orNull(lstat(path));
  if (stat === null) return;
  if (!stat.isDirectory()) return remove(unlink(path));
  await openDirectory(path, stat);
  const higher = Buffer.concat([top, SLASH, Buffer.from(randomUUID())]);
  if (path.length > Math.max(PATH_BYTES, higher.length)) {
    await orNull(rename(path, higher));
    return removeBelow(higher, top);
  }
  const entries = await orNull(readdir(path, { encoding: 'buffer', withFileTypes: true }));
  for (const entry of entries ?? []) {
    const child = Buffer.concat([path, SLASH, entry.name]);
    await (entry.isDirectory() ? removeBelow(child, top) : remove(unlink(child)));
  }
  await remove(rmdir(path));
}

const SLASH = Buffer.from('/');

/** Another process may have removed it. */
async function remove(work: Promise<void>): Promise<void> {
  await orNull(work);
}
