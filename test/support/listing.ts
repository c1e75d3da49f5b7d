/** What a directory holds, to be compared before and after something that must not change it. */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { join } from 'node:path';

const contentOf = (path: string, stat: Stats): string => {
  if (stat.isSymbolicLink()) return `-> ${readlinkSync(path)}`;
  return stat.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
};

/** Returns each path below `dir` with its mode in octal and a hash of its content. Paths that `isLeftOut` accepts are missing. No link is followed. */
export const listing = (
  dir: string,
  isLeftOut: (path: string) => boolean = () => false,
): Readonly<Record<string, string>> => {
  const entries: Record<string, string> = {};
  const visit = (parent: string): void => {
    for (const name of readdirSync(join(dir, parent)).sort()) {
      const path = join(parent, name);
      const stat = lstatSync(join(dir, path));
      if (!isLeftOut(path))
        entries[path] = `${stat.mode.toString(8)} ${contentOf(join(dir, path), stat)}`;
      if (stat.isDirectory()) visit(path);
    }
  };
  visit('');
  return entries;
};
