/**
 * Removes layers. A test may leave directories that its own user may not enter (mode 000), so removal opens them. Node's recursive `rm` is of
 * no use here: it rejects at the first of them while it is still removing others.
 */
import { readdir } from 'node:fs/promises';
import { orNull } from '../../system/durable.js';
import { lstat, rmdir, unlink } from '../../system/fs.js';
import { openDirectory } from './entries.js';

/** Removes a file, or a directory with everything in it. Nothing there is fine. Names are bytes: a command chose them. */
export async function removeTree(path: string | Buffer): Promise<void> {
  const stat = await orNull(lstat(path));
  if (stat === null) return;
  if (!stat.isDirectory()) return remove(unlink(path));
  await openDirectory(path, stat);
  const entries = await orNull(readdir(path, { encoding: 'buffer', withFileTypes: true }));
  for (const entry of entries ?? []) {
    const child = Buffer.concat([Buffer.from(path), SLASH, entry.name]);
    await (entry.isDirectory() ? removeTree(child) : remove(unlink(child)));
  }
  await remove(rmdir(path));
}

const SLASH = Buffer.from('/');

/** Somebody else may have removed it. */
async function remove(work: Promise<void>): Promise<void> {
  await orNull(work);
}
