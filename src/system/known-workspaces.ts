/**
 * Knows the workspaces that this process works on. What a model wrote may run in them, so no program in them is Emend's. A process meets
 * workspaces one after another: a caller that remembers a program asks again when `workspacesVersion` has changed.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { sha256 } from './hash.js';
import { isWithin, realOrNull } from './paths.js';
import { traceOf, type Trace } from './trusted-path.js';

const GIT_FILE_BYTES = 4_096; // bound: A `.git` file that names the git directory of a linked worktree.
const RECENT_DIRECTORIES = 1_000; // bound: Directories in which this process worked last, with the workspaces around them.
const CHECKED_PLACES = 10_000; // bound: Places of programs for which this process remembers that it checked them.

/** Workspaces that this process never forgets: those of a home, of earlier processes, and those around a checked place. */
const lasting = new Set<string>();
/**
 * The workspace around each directory in which this process worked, the latest last; null: none. Most are scratch directories, which are
 * removed again.
 */
const recent = new Map<string, string | null>();
/** Directories and programs for which this process checked whether they are in a workspace. */
const checkedPlaces = new Set<string>();
let version = 0;
/** Directories of homes that have a lock for every workspace outside git, named by the hash of its path. */
const lockDirectories = new Set<string>();

const isKnown = (workspace: string): boolean =>
  lasting.has(workspace) || [...recent.values()].includes(workspace);

/** Records the workspace around a directory. The version changes if it holds a checked place. */
const remember = (directory: string, workspace: string | null): void => {
  const isNews =
    workspace !== null &&
    !isKnown(workspace) &&
    [...checkedPlaces].some((place) => isWithin(place, workspace));
  if (isNews) {
    lasting.add(workspace);
    version += 1;
  }
  const [oldest] = recent.keys();
  if (recent.size >= RECENT_DIRECTORIES && oldest !== undefined) recent.delete(oldest);
  recent.set(directory, workspace);
};

/** Records a directory as a workspace. It need not exist yet. */
export const learnWorkspace = (directory: string): void => {
  const workspace = realOrNull(directory) ?? resolve(directory);
  remember(workspace, workspace);
};

let narrow: readonly string[] | null = null;
/** Returns the real paths of homes and of the system's shell. They are remembered: finding one takes as long as everything else here. */
const narrowPlaces = (): readonly string[] => {
  narrow ??= [process.env.HOME ?? '', homedir(), '/bin/sh'].flatMap((path) =>
    path === '' ? [] : (realOrNull(path) ?? []),
  );
  return narrow;
};
/** Returns whether a directory holds a home or the system's own programs, and so cannot be what one command works on. */
const isWide = (directory: string): boolean =>
  narrowPlaces().some((place) => isWithin(place, directory));

/** Returns the nearest directory, from this one upwards, that has a `.git`. */
export const repositoryAround = (directory: string): string | null => {
  for (let top = directory; ; top = dirname(top)) {
    if (existsSync(join(top, '.git'))) return top;
    if (top === dirname(top)) return null;
  }
};

/**
 * Records the workspace around the directory in which a program is about to run: the repository's working tree, else the directory itself.
 * A home, or a directory that holds one, is no workspace: it is full of the user's own programs.
 */
export const learnAround = (directory: string): void => {
  const known = recent.get(directory);
  if (known !== undefined) {
    recent.delete(directory);
    recent.set(directory, known);
    return;
  }
  const real = realOrNull(directory);
  if (real === null) return;
  const candidates = [repositoryAround(real), real];
  remember(directory, candidates.find((path) => path !== null && !isWide(path)) ?? null);
};

/** Returns the workspaces that this process knows. Links in them may be a model's. */
export const knownWorkspaces = (): readonly string[] => [
  ...new Set([...lasting, ...[...recent.values()].filter((workspace) => workspace !== null)]),
];

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

/** Records where a home keeps its checkouts, and its locks of workspaces outside git. */
export const learnHome = (checkouts: string, locks: string): void => {
  if (lockDirectories.has(locks)) return;
  lasting.add(realOrNull(checkouts) ?? resolve(checkouts));
  lockDirectories.add(locks);
  version += 1;
};

/** Returns a number that changes if the answer about a place may have changed: a workspace, or a home that knows some, became known. */
export const workspacesVersion = (): number => version;

/** Returns the beginning of a regular file; '' for anything else. A link is not followed, and a named pipe is not waited for. */
const beginningOf = (path: string): string => {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return '';
    const bytes = Buffer.alloc(GIT_FILE_BYTES);
    return bytes.toString('utf8', 0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
};

/** Returns the git directory of a working tree's top; null: the directory is none. */
const gitDirectoryIn = (top: string): string | null => {
  const entry = join(top, '.git');
  try {
    const stat = lstatSync(entry, { throwIfNoEntry: false });
    if (stat === undefined) return null;
    if (stat.isDirectory()) return entry;
    const named = /^gitdir: (.+)$/m.exec(beginningOf(entry))?.[1];
    return named === undefined ? null : resolve(top, named);
  } catch {
    return null;
  }
};

/** Returns whether Emend has ever locked this directory as a workspace: its lock is in the git directory, else in the home. */
const wasLocked = (directory: string): boolean => {
  const git = gitDirectoryIn(directory);
  if (git !== null && existsSync(join(git, 'emend', 'lock'))) return true;
  return [...lockDirectories].some((locks) => existsSync(join(locks, sha256(directory))));
};

/** Records the workspaces of earlier processes through which a path leads. */
export const learnEarlier = (trace: Trace): void => {
  const looked = new Set<string>();
  for (const place of placesOf(trace))
    for (let directory = place; !looked.has(directory); directory = dirname(directory)) {
      looked.add(directory);
      if (!lasting.has(directory) && !isWide(directory) && wasLocked(directory)) {
        lasting.add(directory);
        version += 1;
      }
    }
};

const placesOf = ({ lookups, real }: Trace): string[] => [
  ...lookups.map(({ directory }) => directory),
  ...(real === null ? [] : [real]),
];

const noteChecked = (places: readonly string[]): void => {
  if (checkedPlaces.size >= CHECKED_PLACES) {
    checkedPlaces.clear();
    version += 1;
  }
  for (const place of places) checkedPlaces.add(place);
};

/** Returns the known workspace through which a path leads, by its real place or by a link on the way; null: none. */
export const workspaceOnWay = (trace: Trace): string | null => {
  const places = placesOf(trace);
  noteChecked(places);
  const isOnWay = (workspace: string | null): boolean =>
    workspace !== null && places.some((place) => isWithin(place, workspace));
  const workspace = [...lasting, ...recent.values()].find(isOnWay) ?? null;
  if (workspace !== null) lasting.add(workspace);
  return workspace;
};

/** Returns the known workspace that an absolute path is in, or leads through; null: none. */
export const workspaceHolding = (path: string): string | null => workspaceOnWay(traceOf(path));
