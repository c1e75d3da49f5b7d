/** What stands beside new files under a name that differs in letter case or in how an accent is written. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { foldedName } from '../shared/text.js';

/** Relative paths of files and folders; none where a folder cannot be read. */
export const namesBeside = async (root: string, paths: readonly string[]): Promise<readonly string[]> => {
  const listed = new Map<string, Promise<readonly string[]>>();
  const namesIn = (folder: string): Promise<readonly string[]> => {
    const names = listed.get(folder) ?? readdir(join(root, folder)).catch(() => []);
    listed.set(folder, names);
    return names;
  };
  const found = new Set<string>();
  for (const path of paths) {
    let folder = '';
    for (const part of path.split('/')) {
      const names = await namesIn(folder);
      const folded = foldedName(part);
      for (const name of names) if (name !== part && foldedName(name) === folded) found.add(join(folder, name));
      if (!names.includes(part)) break;
      folder = join(folder, part);
    }
  }
  return [...found];
};
