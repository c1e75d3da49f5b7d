/** The files of a store, and how they are removed beside processes that write. */
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { together } from '../workspace/together.js';

export interface StoredFile {
  readonly path: string;
  readonly bytes: number;
  /** Milliseconds since 1970: the later of its last write and its last change of any kind. */
  readonly changed_ms: number;
  readonly written_ms: number;
}

/** Every regular file below the directories; what goes away meanwhile is left out. */
export const storedFiles = async (directories: readonly string[]): Promise<readonly StoredFile[]> => {
  const found: StoredFile[] = [];
  for (const directory of directories) {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    const files = await together(
      entries.filter((each) => each.isFile()),
      (entry) => fileAt(join(entry.parentPath, entry.name)),
    );
    for (const file of files) if (file !== null) found.push(file);
  }
  return found;
};

export const fileAt = async (path: string): Promise<StoredFile | null> => {
  const found = await stat(path).catch(() => null);
  if (found?.isFile() !== true) return null;
  return {
    path,
    bytes: found.size,
    changed_ms: Math.max(found.mtimeMs, found.ctimeMs),
    written_ms: found.mtimeMs,
  };
};

/** Bytes as text; references are ASCII in every encoding that we write. */
export const readText = (path: string): Promise<string> => readFile(path, 'latin1').catch(() => '');

/** Removes the place where none of its files was written since they were found, and none is new. False: it was left alone. */
export const removePlace = async (place: string, files: readonly StoredFile[]): Promise<boolean> => {
  const before = new Map(files.map((file) => [file.path, file.written_ms]));
  const single = await fileAt(place);
  const now = single !== null ? [single] : await storedFiles([place]).catch(() => []);
  if (now.some((file) => before.get(file.path) !== file.written_ms)) return false;
  await rm(place, { recursive: true, force: true });
  return true;
};
