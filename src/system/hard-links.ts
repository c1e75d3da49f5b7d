/**
 * Decides whether a file outside every workspace is also a file of one: by a hard link, what writes the one changes the other
 * (docs/decisions/0038). Package managers link files too, so a second name alone proves nothing: Emend looks for it.
 */
import { lstatSync, readdirSync, statSync, type BigIntStats } from 'node:fs';
import { dirname, join } from 'node:path';
import { knownWorkspaces } from './known-workspaces.js';
import { lookOrNull, realOrSame } from './paths.js';

const SEARCHED_ENTRIES = 100_000; // bound: Files and directories of a workspace in which a second name of a file is looked for.
const REMEMBERED_FILES = 1_000; // bound: States of files with several names for which this process remembers what it found.

const OTHERS_WRITE = 0o022n;
/** Git's own installation links its programs to each other, from these directories. */
const USUAL_DIRECTORIES = ['.', '../libexec/git-core', '../lib/git-core', '../../bin'];

const lookAt = (path: string): BigIntStats | null =>
  lookOrNull(() => lstatSync(path, { bigint: true }));

const isSame = (a: BigIntStats | null, b: BigIntStats): boolean =>
  a !== null && a.dev === b.dev && a.ino === b.ino;

/** Returns whether a command of this user could write the file by another name. */
const isWritable = ({ uid, mode }: BigIntStats): boolean =>
  uid === BigInt(process.getuid?.() ?? 0) || (mode & OTHERS_WRITE) !== 0n;

/** Returns whether all names of a file are next to it, or in the usual directories of a program. */
const areNamesNearby = (path: string, file: BigIntStats): boolean => {
  const places = USUAL_DIRECTORIES.map((place) => join(dirname(path), place));
  const names = [...new Set(places.map(realOrSame))].flatMap((place) =>
    (lookOrNull(() => readdirSync(place)) ?? []).map((name) => join(place, name)),
  );
  return BigInt(names.filter((name) => isSame(lookAt(name), file)).length) === file.nlink;
};

type Found = { readonly path: string } | 'none' | 'unknown';

/** Looks for a file in a workspace. No command can write what is in `.git`. */
const findIn = (workspace: string, file: BigIntStats, maxEntries: number): Found => {
  const directories = [workspace];
  let count = 0;
  for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
    const place = directory;
    for (const entry of lookOrNull(() => readdirSync(place, { withFileTypes: true })) ?? []) {
      count += 1;
      if (count > maxEntries) return 'unknown';
      const path = join(place, entry.name);
      if (entry.isDirectory() && entry.name !== '.git') directories.push(path);
      if (entry.isFile() && isSame(lookAt(path), file)) return { path };
    }
  }
  return 'none';
};

/** What was found for a state of a file, by workspace. A link that is made or removed changes the file's ctime. */
const remembered = new Map<string, Map<string, Found>>();

const findingsFor = ({ dev, ino, ctimeNs }: BigIntStats): Map<string, Found> => {
  const key = `${dev} ${ino} ${ctimeNs}`;
  const known = remembered.get(key) ?? new Map<string, Found>();
  if (remembered.size >= REMEMBERED_FILES) remembered.clear();
  remembered.set(key, known);
  return known;
};

/** Returns why a file may be changed by another name in a known workspace, as a clause; null: it cannot, or there is no such file. */
export const sharedFault = (path: string, maxEntries = SEARCHED_ENTRIES): string | null => {
  const file = lookOrNull(() => statSync(path, { bigint: true }));
  if (file === null || !file.isFile() || file.nlink < 2n || !isWritable(file)) return null;
  const real = realOrSame(path);
  if (areNamesNearby(real, file)) return null;
  const findings = findingsFor(file);
  for (const workspace of knownWorkspaces()) {
    if (lookAt(workspace)?.dev !== file.dev) continue;
    const found = findings.get(workspace) ?? findIn(workspace, file, maxEntries);
    findings.set(workspace, found);
    if (found === 'unknown')
      return `it has ${file.nlink} names (hard links), and the workspace ${workspace} has too many files to look for them. Replace it by a copy`;
    if (found !== 'none')
      return `it is also ${found.path}, by a hard link, in the workspace ${workspace}. Replace it by a copy`;
  }
  return null;
};
