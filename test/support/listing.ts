/** What a directory holds, to be compared before and after something that must not change it. */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

const contentOf = (path: string): string => {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return `-> ${readlinkSync(path)}`;
  return stat.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
};

/** Returns each path below `dir` with its mode in octal and a hash of its content. Paths that `isLeftOut` accepts are missing. */
export const listing = (
  dir: string,
  isLeftOut: (path: string) => boolean = () => false,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((path) => !isLeftOut(path))
      .sort()
      .map((path) => [
        path,
        `${lstatSync(join(dir, path)).mode.toString(8)} ${contentOf(join(dir, path))}`,
      ]),
  );
