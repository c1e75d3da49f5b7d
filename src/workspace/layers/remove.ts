/** Removes layers. A test may leave directories that its own user may not enter (mode 000), so removal opens them first. */
import { lstat, readdir, rm } from 'node:fs/promises';
import { orNull } from '../../system/durable.js';
import { openDirectory } from './entries.js';

/** Removes a directory with everything in it, also directories of mode 000. Nothing there is fine. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch {
    await openDirectories(Buffer.from(path));
    await rm(path, { recursive: true, force: true });
  }
}

/** Names are bytes: a command chose them. */
async function openDirectories(dir: Buffer): Promise<void> {
  const stat = await orNull(lstat(dir), ['ENOENT']);
  if (stat?.isDirectory() !== true) return;
  await openDirectory(dir, stat);
  for (const entry of await readdir(dir, { encoding: 'buffer', withFileTypes: true }))
    if (entry.isDirectory())
      await openDirectories(Buffer.concat([dir, Buffer.from('/'), entry.name]));
}
