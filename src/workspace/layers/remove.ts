/** Removes layers. A test may leave directories that its own user may not enter (mode 000), so removal opens them first. */
import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { orNull } from '../../system/durable.js';

/** Removes a directory with everything in it, also directories of mode 000. Nothing there is fine. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch {
    await openDirectories(path);
    await rm(path, { recursive: true, force: true });
  }
}

async function openDirectories(dir: string): Promise<void> {
  const stat = await orNull(lstat(dir), ['ENOENT']);
  if (stat?.isDirectory() !== true) return;
  await chmod(dir, 0o700);
  for (const entry of await readdir(dir, { withFileTypes: true }))
    if (entry.isDirectory()) await openDirectories(join(dir, entry.name));
}
