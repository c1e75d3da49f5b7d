/** The files of a directory store, or of a home, and how they are removed beside processes that write. */
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { together } from '../../system/turns.js';
import type { StoredFile, StoreFiles } from '../ports.js';
import { asidePath, removeBlob, restoreBlob } from './blobs.js';

const at = async (path: string): Promise<StoredFile | null> => {
  const found = await stat(path).catch(() => null);
  if (found?.isFile() !== true) return null;
  const { size: bytes, mtimeMs: written_ms, ctimeMs } = found;
  return { path, bytes, changed_ms: Math.max(written_ms, ctimeMs), written_ms };
};

export const diskFiles: StoreFiles = {
  list: async (directory) => {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    const files = await together(
      entries.filter((each) => each.isFile()),
      (entry) => at(join(entry.parentPath, entry.name)),
    );
    return files.filter((file) => file !== null);
  },
  at,
  readText: async (path) => {
    for (const each of [path, asidePath(path)]) {
      const text = await readFile(each, 'latin1').catch(() => null);
      if (text !== null) return text;
    }
    return '';
  },
  remove: (path) => rm(path, { recursive: true, force: true }),
  removeBlob: ({ path, written_ms }) => removeBlob(path, written_ms),
  restoreBlob: (aside) => restoreBlob(aside).catch(() => undefined),
};
