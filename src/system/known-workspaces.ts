/**
 * Knows the workspaces that this process works on. What a model wrote may run in them, so no program in them is Emend's. A process meets
 * workspaces one after another: whoever remembers a program asks again when `knownWorkspaces().version` has changed.
 */
import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isWithin, traceOf, type Trace } from './trusted-path.js';

const REMEMBERED_PLACES = 1_000; // bound: Directories around which this process need not look for a workspace again.

const workspaces = new Set<string>();
const seen = new Set<string>();

const realOrNull = (path: string): string | null => {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
};

/** Records a directory as a workspace, for as long as this process lives. What does not exist is none. */
export const learnWorkspace = (directory: string): void => {
  const real = realOrNull(directory);
  if (real !== null) workspaces.add(real);
};

/** Returns whether a directory holds a home or the system's own programs, and so cannot be what one command works on. */
const isWide = (directory: string): boolean =>
  [process.env.HOME ?? '', homedir(), '/bin/sh'].some((path) => {
    const real = path === '' ? null : realOrNull(path);
    return real !== null && isWithin(real, directory);
  });

const repositoryAround = (directory: string): string | null => {
  for (let top = directory; ; top = dirname(top)) {
    if (existsSync(join(top, '.git'))) return top;
    if (top === dirname(top)) return null;
  }
};

/**
 * Records the workspace around the directory in which a program is about to run: the repository's working tree, else the directory itself.
 * A home, and what holds one, are none: they are full of the user's own programs.
 */
export const learnAround = (directory: string): void => {
  if (seen.has(directory)) return;
  if (seen.size >= REMEMBERED_PLACES) seen.clear();
  seen.add(directory);
  const real = realOrNull(directory);
  if (real === null) return;
  const top = repositoryAround(real);
  const workspace = [top, real].find((path) => path !== null && !isWide(path));
  if (workspace !== undefined && workspace !== null) workspaces.add(workspace);
};

let isStartKnown = false;
/** Records the workspace in which this process was started. */
export const learnStart = (): void => {
  if (isStartKnown) return;
  isStartKnown = true;
  try {
    learnAround(process.cwd());
  } catch {
    // The directory was removed: no program is in it.
  }
};

/** `version` changes with each new workspace. */
export const knownWorkspaces = (): { readonly version: number } => ({ version: workspaces.size });

/** Returns the known workspace through which a path leads, by its real place or by a link on the way; null: none. */
export const workspaceOnWay = ({ lookups, real }: Trace): string | null => {
  const places = [...lookups.map(({ directory }) => directory), ...(real === null ? [] : [real])];
  const isOnWay = (workspace: string): boolean =>
    places.some((place) => isWithin(place, workspace));
  return [...workspaces].find(isOnWay) ?? null;
};

/** Returns the known workspace that an absolute path is in, or leads through; null: none. */
export const workspaceHolding = (path: string): string | null => workspaceOnWay(traceOf(path));
