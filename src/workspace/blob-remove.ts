/**
 * Taking a blob away beside processes that put and look for blobs. Whoever relies on a blob that is there already touches it (`put`,
 * `has`), and only then names it. So it is first moved aside: a touch that came before is seen at the moved file, and the blob goes back;
 * a touch that comes after finds no file, and the putter writes it anew. Readers look at both names.
 */
import { rename, stat, unlink } from 'node:fs/promises';
import { orNull } from './sys-put.js';

const ASIDE = '.GC';
/** Where a blob lies while it is decided on. */
export const asidePath = (path: string): string => `${path}${ASIDE}`;
export const isAside = (path: string): boolean => path.endsWith(ASIDE);

/** Removes the blob unless it was written or touched since `written_ms` (its mtime). False: it stays, or was gone. */
export const removeBlob = async (path: string, written_ms: number): Promise<boolean> => {
  const aside = asidePath(path);
  if ((await orNull(rename(path, aside).then(() => true))) === null) return false;
  // Gone: another removal, which began after ours, has put it back.
  const now = await orNull(stat(aside));
  if (now?.mtimeMs === written_ms) return (await orNull(unlink(aside).then(() => true))) !== null;
  await orNull(restoreBlob(aside));
  return false;
};

/** Puts a blob back that was moved aside; what a putter wrote there meanwhile has the same bytes. */
export const restoreBlob = (aside: string): Promise<void> => rename(aside, aside.slice(0, -ASIDE.length));
