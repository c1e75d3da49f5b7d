/** Files of a proposal after tests that wrote to them: which these are, and how they become again what was applied. */
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fail } from '../../shared/problems.js';
import type { BlobStore } from '../../stores/ports.js';
import { ensureDir, unlinkIfThere } from '../../system/durable.js';
import type { Sys } from '../../system/sys.js';
import type { ExpectedFile, Workspace } from '../ports.js';
import { dirOf, freshId, isStillDirectory } from './paths.js';
import { isAt, look, PERMISSIONS } from './record.js';

interface Parts {
  readonly sys: Sys;
  readonly blobs: BlobStore;
}

export const differing = async (
  { sys, blobs }: Parts,
  root: string,
  files: readonly ExpectedFile[],
): ReturnType<Workspace['differing']> => {
  const found: Awaited<ReturnType<Workspace['differing']>>[number][] = [];
  for (const file of files) {
    // Through a link that was put in the place of a directory other bytes would be read.
    const isThere = await isStillDirectory(sys, root, dirOf(file.path));
    const seen = isThere ? await look(sys, join(root, file.path)) : ({ kind: 'absent' } as const);
    if (isAt(seen, file.result) && (isThere || file.result === null)) continue;
    const now = seen.kind === 'file' ? { ref: await blobs.put(seen.bytes), mode: seen.stat.mode & PERMISSIONS } : null;
    found.push({ ...file, now });
  }
  return found;
};

export const putBack = async (
  { sys, blobs }: Parts,
  root: string,
  { path, result }: ExpectedFile,
  assertCurrent: () => void,
): Promise<void> => {
  const target = join(root, path);
  const dir = dirname(target);
  if ((await look(sys, dir)).kind === 'absent') await ensureDir(sys, dir, 0o777);
  if (!(await isStillDirectory(sys, root, dirOf(path))))
    fail('conflict', `${path}: a directory above it was moved or replaced by the tests.`, 'Put it back, then retry.');
  const seen = await look(sys, target);
  assertCurrent();
  if (seen.kind === 'directory') await rm(target, { recursive: true, force: true });
  if (result === null) await unlinkIfThere(sys, target);
  else {
    const temp = join(dir, `.emend-${freshId()}.tmp`);
    const owner = seen.kind === 'file' ? { owner: { uid: seen.stat.uid, gid: seen.stat.gid } } : {};
    await sys.writeExclusive(temp, await blobs.get(result.ref), { mode: result.mode & PERMISSIONS, ...owner });
    await sys.rename(temp, target);
  }
  await sys.fsyncDir(dir);
};
