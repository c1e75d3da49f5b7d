/** Lists what a command left in the upper layer of its overlay, against the layers below. No link is followed. */
import type { Stats } from 'node:fs';
import { listBeneath, statBeneath, withFileBeneath } from '../../system/beneath.js';
import { read } from '../../system/fs.js';
import { entriesIn, entryAt, isRemovalMark } from './entries.js';

/** One entry that a command wrote or removed; `path` is relative to the workspace. */
export interface Change {
  readonly path: string;
  readonly kind: 'file' | 'link' | 'removed' | 'other';
}

/** Returns the names that the command saw at its end in each of these directories. */
export type ShownNames = (
  directories: readonly string[],
) => Promise<ReadonlyMap<string, ReadonlySet<string>>>;

export interface ChangesRequest {
  readonly upper: string;
  /** Layers under `upper`, the highest first. */
  readonly below: readonly string[];
  readonly shownNames: ShownNames;
}

const CHANGES = 10_000; // bound: Entries of one upper layer that are listed.
const DIRECTORIES = 100_000; // bound: Directories of one upper layer that are entered to list its changes.
const COMPARED_BYTES = 65_536; // bound: Two files are compared in parts of this size.

/**
 * Lists the changed files, links and removals in the order of their paths; only those of a path that `isWanted` accepts, which must also
 * accept the directories above.
 */
export async function changesIn(
  request: ChangesRequest,
  isWanted: (path: string) => boolean = () => true,
): Promise<readonly Change[]> {
  const { upper, below } = request;
  const changes: Change[] = [];
  /** A directory that was removed and made again has no marks for the names that were in it. */
  const directories: string[] = [];
  const visit = async (dir: string): Promise<void> => {
    directories.push(dir);
    for (const { name, stat } of await entriesIn(upper, dir)) {
      const path = pathIn(dir, name);
      if (!isWanted(path)) continue;
      if (changes.length >= CHANGES || directories.length >= DIRECTORIES) return;
      // A repository that the command made is one change.
      if (stat.isDirectory() && name !== '.git') await visit(path);
      else if (!stat.isFile() || !(await isAsBelow(upper, below, path)))
        changes.push({ path, kind: kindOf(stat) });
    }
  };
  await visit('');
  const removed = (await removedWithoutMark(request, directories)).filter(isWanted);
  return [...changes, ...removed.map((path): Change => ({ path, kind: 'removed' }))]
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .slice(0, CHANGES);
}

const pathIn = (dir: string, name: string): string => (dir === '' ? name : `${dir}/${name}`);

const kindOf = (stat: Stats): Change['kind'] => {
  if (stat.isFile()) return 'file';
  if (stat.isSymbolicLink()) return 'link';
  return isRemovalMark(stat) ? 'removed' : 'other';
};

/** Returns whether the layers below show the same bytes and mode: a command that only touches a file has it copied up. */
async function isAsBelow(upper: string, below: readonly string[], path: string): Promise<boolean> {
  const there = await shownBelow(below, path);
  if (there === null) return false;
  const [own, other] = [await entryAt(upper, path), await entryAt(there, path)];
  if (own === null || other?.isFile() !== true) return false;
  return own.mode === other.mode && own.size === other.size && haveSameBytes(upper, there, path);
}

/** Returns the highest layer that has the path; null: there is none, or a higher one hides it. */
async function shownBelow(layers: readonly string[], path: string): Promise<string | null> {
  for (const layer of layers) {
    const stat = await entryIn(layer, path);
    if (stat === 'hidden') return null;
    if (stat !== 'absent') return layer;
  }
  return null;
}

/** Looks a path up in one layer. `hidden`: the layer has something on the way that hides what lower layers have. */
async function entryIn(layer: string, path: string): Promise<Stats | 'absent' | 'hidden'> {
  const stat = await statBeneath(layer, path);
  if (stat.ok) return isRemovalMark(stat.value) ? 'hidden' : stat.value;
  return stat.reason === 'link' || stat.reason === 'not_a_directory' ? 'hidden' : 'absent';
}

/** A file without the right to read it counts as changed. */
async function haveSameBytes(one: string, two: string, path: string): Promise<boolean> {
  const compared = await withFileBeneath(one, path, (a) =>
    withFileBeneath(two, path, async (b) => ({ ok: true, value: await areSame(a.fd, b.fd) })),
  );
  return compared.ok && compared.value;
}

async function areSame(one: number, two: number): Promise<boolean> {
  for (;;) {
    const [a, b] = [await nextBytes(one), await nextBytes(two)];
    if (!a.equals(b)) return false;
    if (a.length === 0) return true;
  }
}

async function nextBytes(file: number): Promise<Buffer> {
  const part = Buffer.alloc(COMPARED_BYTES);
  let length = 0;
  for (let count = -1; count !== 0 && length < part.length; length += count)
    count = await read(file, part.subarray(length), null);
  return part.subarray(0, length);
}

/** Returns the names below these directories that the command did not see at its end, and that have no mark in the upper layer. */
export async function removedWithoutMark(
  { upper, below, shownNames }: ChangesRequest,
  directories: readonly string[],
): Promise<readonly string[]> {
  const missing = new Map<string, readonly string[]>();
  // The workspace itself cannot be removed.
  for (const dir of directories.filter((path) => path !== '')) {
    const own = new Set((await entriesIn(upper, dir)).map(({ name }) => name));
    const names = (await namesBelow(below, dir)).filter((name) => !own.has(name));
    if (names.length > 0) missing.set(dir, names);
  }
  if (missing.size === 0) return [];
  const shown = await shownNames([...missing.keys()]);
  return [...missing].flatMap(([dir, names]) =>
    names.filter((name) => shown.get(dir)?.has(name) !== true).map((name) => pathIn(dir, name)),
  );
}

/** Lists the names that layers show together in a directory. Does not open one that is closed: it may be the workspace's. */
async function namesBelow(layers: readonly string[], dir: string): Promise<readonly string[]> {
  const names = new Map<string, boolean>();
  for (const layer of layers) {
    const own = await entryIn(layer, dir);
    if (own === 'absent') continue;
    // A link may lead anywhere.
    if (own === 'hidden' || !own.isDirectory()) break;
    const listed = await listBeneath(layer, dir);
    for (const name of listed.ok ? listed.value : []) {
      const stat = await entryAt(layer, pathIn(dir, name));
      if (!names.has(name)) names.set(name, stat !== null && !isRemovalMark(stat));
    }
  }
  return [...names].filter(([, isThere]) => isThere).map(([name]) => name);
}
