/**
 * Hides sockets in directories that a command sees directly. Elsewhere it sees overlays, through which no process connects to a socket of the
 * machine. A socket that appears here after the start can be connected to (docs/sandbox.md).
 */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { orNull } from '../../system/durable.js';
import { isWithin } from '../../system/paths.js';
import type { Mounts } from './mounts.js';

const ENTRIES = 1_000_000; // bound: Entries of directories that are looked at for sockets.
const GONE = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP'];

/** Only root writes the packages of the system, which are many files. */
const isPackages = (dir: string): boolean =>
  ['/usr', '/nix', '/gnu', '/snap'].some((part) => isWithin(dir, part));

/** `own`: directories of Emend's own, in which there is none. */
export async function hideSockets(mounts: Mounts, own: readonly string[]): Promise<void> {
  const directories = mounts.direct().filter((dir) => !own.includes(dir) && !isPackages(dir));
  const seen = new Set<string>();
  let entries = 0;
  for (let dir = directories.pop(); dir !== undefined; dir = directories.pop()) {
    if (seen.has(dir) || entries > ENTRIES) continue;
    seen.add(dir);
    const listed: readonly Dirent[] =
      (await orNull(readdir(dir, { withFileTypes: true }), GONE)) ?? [];
    entries += listed.length;
    for (const entry of listed) {
      const path = join(dir, entry.name);
      if (entry.isSocket()) mounts.set(path, { kind: 'socket' });
      else if (entry.isDirectory()) directories.push(path);
    }
  }
}
