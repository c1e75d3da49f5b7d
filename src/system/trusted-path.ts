/**
 * Decides whether only root and this user can change which file a path leads to. Every directory in which a part of the path is looked up
 * counts, and so does every link on the way.
 */
import { lstatSync, readlinkSync, realpathSync, statSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { errnoOf } from './sys.js';

const LINKS = 40; // bound: Links that are followed in one path; Linux follows as many.
const EVERYBODY_WRITES = 0o002;
const STICKY = 0o1000;

/** One name of a path, looked up in a directory. */
interface Lookup {
  readonly directory: string;
  readonly name: string;
  /** The entry itself, which may be a link; null: the path ends here, for the reason in `error`. */
  readonly entry: Stats | null;
  readonly error: string | null;
}
export interface Trace {
  readonly lookups: readonly Lookup[];
  /** The real path; null: the path leads nowhere. */
  readonly real: string | null;
}

const parts = (path: string): string[] => path.split('/').filter((part) => part !== '');

/** Never throws. */
export const lookUp = (directory: string, name: string): Lookup => {
  try {
    const entry = lstatSync(join(directory, name), { throwIfNoEntry: false }) ?? null;
    return { directory, name, entry, error: entry === null ? 'ENOENT' : null };
  } catch (error) {
    return { directory, name, entry: null, error: errnoOf(error) ?? String(error) };
  }
};

/** Looks up each name of an absolute path, and of every link on the way, as the kernel does. */
export const traceOf = (path: string): Trace => {
  const lookups: Lookup[] = [];
  let rest = parts(resolve(path));
  let directory = '/';
  for (let links = 0; rest.length > 0;) {
    const [name = '', ...others] = rest;
    const lookup = lookUp(directory, name);
    lookups.push(lookup);
    if (lookup.entry === null) return { lookups, real: null };
    rest = others;
    if (lookup.entry.isSymbolicLink()) {
      links += 1;
      if (links > LINKS) return { lookups, real: null };
      rest = [...parts(resolve(directory, readlinkSync(join(directory, name)))), ...others];
      directory = '/';
    } else directory = join(directory, name);
  }
  return { lookups, real: directory };
};

/** Users whose directories are trusted: see `trustedOwners`. */
let owners: ReadonlySet<number> | null = null;

/**
 * In a user namespace that does not map root, root's files belong to another number. Whoever owns the system's shell is root there: Emend
 * starts that shell in any case.
 */
const trustedOwners = (): ReadonlySet<number> => {
  owners ??= new Set([0, process.getuid?.() ?? 0, statSync(dirname(realpathSync('/bin/sh'))).uid]);
  return owners;
};

const ownerFault = (path: string, { uid }: Stats): string | null =>
  trustedOwners().has(uid) ? null : `${path} belongs to another user (${uid})`;

/** Returns why another user could put something else in place of the entry of a directory; null: no other user can. */
const lookupFault = ({ directory, name, entry, error }: Lookup): string | null => {
  const path = join(directory, name);
  if (entry === null) return `${path} cannot be found (${error ?? 'unknown'})`;
  const fault = ownerFault(path, entry);
  if (fault !== null) return fault;
  const { mode } = statSync(directory);
  return (mode & EVERYBODY_WRITES) === 0 || (mode & STICKY) !== 0
    ? null
    : `every user can write to ${directory}`;
};

/** Returns why another user decides which file or directory an absolute path is; null: only root and this user do. */
export const pathFault = ({ lookups, real }: Trace): string | null => {
  for (const lookup of lookups) {
    const fault = lookupFault(lookup);
    if (fault !== null) return fault;
  }
  if (real === null) return 'it has too many links';
  // A sticky directory keeps its entries, but every user can add some.
  const isOpen = (lstatSync(real).mode & EVERYBODY_WRITES) !== 0;
  return isOpen ? `every user can write to ${real}` : null;
};

/**
 * Returns why the programs of an absolute directory are not trusted; null: they are. Other users must be able to write neither to it nor to
 * any directory above it (one with the sticky bit may be above it), and root or this user must own all of them.
 */
export const directoryFault = (directory: string): string | null => {
  const trace = traceOf(directory);
  const fault = pathFault(trace);
  if (fault !== null || trace.real === null) return fault;
  return lstatSync(trace.real).isDirectory() ? null : `${directory} is not a directory`;
};
