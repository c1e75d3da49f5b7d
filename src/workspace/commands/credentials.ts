/** Hides files with tokens that tools keep next to their programs, where a sandbox shows the programs. */
import { readdirSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { isWithin, lookOrNull } from '../../system/paths.js';
import { credentialsAt } from '../secret-files.js';
import type { Mounts } from './mounts.js';

const SEARCH_DEPTH = 6; // bound: Directories below a directory of tools, one in another, in which files with tokens are looked for.
const SEARCHED_DIRECTORIES = 2_000; // bound: Directories that are searched below one directory of tools.

/** Directories that are not searched: programs and their data, which are large. */
const LARGE = new Set(
  (
    'bin shims node_modules site-packages dist-packages lib lib64 libexec src pkg share include doc docs man test tests locale ' +
    '__pycache__ cache caches downloads objects'
  ).split(' '),
);
/** Directories of which only npm's own directory is searched. */
const DEEPER = new Set(['lib', 'lib64']);
/** Directories of the system that are searched, without those below them. */
const SYSTEM_DIRECTORIES = [
  ...['/usr/etc', '/usr/local/etc', '/usr/local', '/etc/maven', '/usr/share/maven/conf'],
  ...['/usr/lib/node_modules/npm', '/usr/local/lib/node_modules/npm', '/usr/share/nodejs/npm'],
  ...['/opt/conda', '/opt/maven/conf', '/home/linuxbrew/.linuxbrew/etc'],
];

export function hideCredentials(mounts: Mounts): void {
  for (const dir of mounts.readable()) if (mayHoldTokens(mounts, dir)) searchBelow(mounts, dir);
  for (const dir of SYSTEM_DIRECTORIES) {
    const real = mounts.leadsTo(dir);
    if (real !== null && !mounts.isEmpty(real)) hideIn(mounts, real);
  }
}

/** The packages of the system hold no tokens, and the repository of the workspace is the command's. */
const mayHoldTokens = (mounts: Mounts, dir: string): boolean =>
  !mounts.isUntrusted(dir) && !PACKAGES.some((part) => isWithin(dir, part));
const PACKAGES = ['/usr', '/etc', '/nix', '/gnu', '/snap', '/sys', '/var'];

function searchBelow(mounts: Mounts, root: string): void {
  let level = [root];
  let searched = 0;
  for (let depth = 0; depth < SEARCH_DEPTH && searched < SEARCHED_DIRECTORIES; depth++) {
    const next: string[] = [];
    for (const dir of level.slice(0, SEARCHED_DIRECTORIES - searched)) {
      searched += 1;
      for (const entry of hideIn(mounts, dir)) {
        if (!entry.isDirectory()) continue;
        if (DEEPER.has(entry.name)) hideIn(mounts, join(dir, entry.name, 'node_modules/npm'));
        if (!LARGE.has(entry.name)) next.push(join(dir, entry.name));
      }
    }
    level = next;
  }
}

/** Hides files with tokens in a directory, and returns all of its entries. */
function hideIn(mounts: Mounts, dir: string): readonly Dirent[] {
  const entries = lookOrNull(() => readdirSync(dir, { withFileTypes: true })) ?? [];
  for (const entry of entries) {
    const path = join(dir, entry.name);
    const credential = credentialsAt(path);
    if (credential === null) continue;
    if (entry.isDirectory()) mounts.set(path, { kind: 'hidden' });
    else if (entry.isFile()) mounts.set(path, { kind: 'mask', content: credential.content });
    // The target of a link is hidden at its own place, if it is shown at all.
  }
  return entries;
}
