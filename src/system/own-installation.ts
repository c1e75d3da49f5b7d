/**
 * Finds what of Emend's own installation is inside a workspace: a command there must not change the Emend that the user starts next
 * (docs/decisions/0038).
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isWithin, traceOf } from './trusted-path.js';

const ancestorsOf = (path: string): string[] =>
  path === '/' ? ['/'] : [path, ...ancestorsOf(dirname(path))];

interface Installation {
  /** Real path of a file of Emend's. */
  readonly module: string;
  /** The file that Node.js was started with, as it was named; null: none. */
  readonly script: string | null;
  /** The program of Node.js. */
  readonly node: string;
}
const running = (): Installation => ({
  module: realpathSync(fileURLToPath(import.meta.url)),
  script: process.argv[1] ?? null,
  node: process.execPath,
});

/** Returns the package's directory. If it holds the workspace, as in a repository of Emend itself, only the built or source tree in it. */
const codeOf = (module: string, workspace: string): string | null => {
  const above = ancestorsOf(dirname(module));
  const root = above.findIndex((directory) => existsSync(join(directory, 'package.json')));
  const inWorkspace = (directory: string | undefined): boolean =>
    directory !== undefined && directory !== workspace && isWithin(directory, workspace);
  return [above[root], above[root - 1]].find(inWorkspace) ?? null;
};

/** Returns the directories that hold a link on the way to a file, and the file's own directory. */
const directoriesOnWay = (path: string): string[] => {
  const { lookups, real } = traceOf(path);
  const links = lookups.flatMap(({ directory, entry }) =>
    entry?.isSymbolicLink() === true ? [directory] : [],
  );
  return real === null ? links : [...links, dirname(real)];
};

/**
 * Returns the real paths of directories below a workspace (also a real path) from which the user's Emend runs: its package, the packages
 * that it loads, the links that lead to it, and Node.js. None of them holds another one.
 */
export const ownPlacesIn = (
  workspace: string,
  { module, script, node }: Installation = running(),
): readonly string[] => {
  const code = codeOf(module, workspace);
  const packages = ancestorsOf(dirname(module))
    .map((directory) => join(directory, 'node_modules'))
    .filter((directory) => existsSync(directory));
  const programs = [script, node].flatMap((path) => (path === null ? [] : directoriesOnWay(path)));
  const inside = [...packages, ...programs, ...(code === null ? [] : [code])].filter(
    (directory) => directory !== workspace && isWithin(directory, workspace),
  );
  return [...new Set(inside)].filter(
    (directory) => !inside.some((other) => other !== directory && isWithin(directory, other)),
  );
};
