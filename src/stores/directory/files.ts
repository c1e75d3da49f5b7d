/**
 * The files of a directory store, or of a home, and how they are removed beside processes that write. Of failures only `ABSENT` is passed
 * over: what cannot be read may name what must stay.
 */
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { orNull } from '../../system/durable.js';
import { ABSENT } from '../../system/given-file.js';
import { together } from '../../system/turns.js';
import type { StoredFile, StoreFiles } from '../ports.js';
import { besideGc, removeBlob, restoreBlob } from './blobs.js';

const at = async (path: string): Promise<StoredFile | null> => {
  const found = await orNull(stat(path), ABSENT);
  if (found?.isFile() !== true) return null;
  const { size: bytes, mtimeMs: written_ms, ctimeMs } = found;
  return { path, bytes, changed_ms: Math.max(written_ms, ctimeMs), written_ms };
};

export const diskFiles: StoreFiles = {
  list: async (directory) => {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    // A part of a home may lie on another disk.
    const links = entries.filter((each) => each.isSymbolicLink() && each.parentPath === directory);
    const linked = await together(links, ({ name }) => orNull(diskFiles.list(join(directory, name)), ['ENOTDIR']));
    const files = await together(
      entries.filter((each) => each.isFile()),
      (entry) => at(join(entry.parentPath, entry.name)),
    );
    return [...files, ...linked.flat()].filter((file) => file !== null);
  },
  at,
  readText: async (path) => (await besideGc(path, (each) => orNull(readFile(each, 'latin1'), ABSENT))) ?? '',
  remove: (path) => rm(path, { recursive: true, force: true }),
  removeBlob: ({ path, written_ms }) => removeBlob(path, written_ms),
  restoreBlob: (aside) => restoreBlob(aside).catch(() => undefined),
};
