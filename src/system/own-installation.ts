/**
 * Finds the parts of Emend's own installation that are inside a workspace: a command there must not change the Emend that the user starts next
 * (docs/decisions/0038).
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isWithin } from './paths.js';
import { traceOf } from './trusted-path.js';

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

/**
 * Returns the directory right below the workspace that holds the code: in one between them, a command could make a `node_modules` with
 * another copy of a package. Null: the code is elsewhere.
 */
const codeOf = (module: string, workspace: string): string | null =>
  ancestorsOf(module).find((path) => dirname(path) === workspace) ?? null;

/** Returns the directories that hold a link on the way to a file. */
const linksOnWay = (path: string): string[] =>
  traceOf(path).lookups.flatMap(({ directory, entry }) =>
    entry?.isSymbolicLink() === true ? [directory] : [],
  );

/**
 * Returns the real paths of directories below a workspace (also a real path) from which the user's Emend runs: its code, the packages
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
  const links = script === null ? [] : linksOnWay(script);
  const programs = [...links, ...linksOnWay(node), dirname(realpathSync(node))];
  const inside = [...packages, ...programs, ...(code === null ? [] : [code])].filter(
    (directory) => directory !== workspace && isWithin(directory, workspace),
  );
  return [...new Set(inside)].filter(
    (directory) => !inside.some((other) => other !== directory && isWithin(directory, other)),
  );
};
