/**
 * Shows tools: what PATH names, where its links lead, and the directories in which version managers keep programs. Of a directory that also
 * holds credentials only parts are shown.
 */
import { readdirSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { onPath, type Environment } from '../../system/environment.js';
import { isWithin, lookOrNull } from '../../system/paths.js';
import type { Mounts } from './mounts.js';

const ROOTS =
  'pyenv nvm rustup asdf volta sdkman rbenv nodenv nodebrew jenv goenv deno bun nix-profile proto'.split(
    ' ',
  );
const PART_ROOTS: Readonly<Record<string, readonly string[]>> = {
  '.cargo': ['bin'],
  '.local': ['bin'],
};
const ROOTS_IN_HOME = (
  '.local/share/mise .local/share/uv .local/share/pipx .local/share/fnm .local/pipx sdk go/bin ' +
  'miniconda3 anaconda3 miniforge3 mambaforge'
).split(' ');
/** Read where a package manager looks for what it has fetched; what is written there is dropped, as it would reach other runs. */
const CACHES = (
  '.npm/_cacache .cache/go-build .cargo/registry .cargo/git go/pkg/mod .m2/repository .gradle/caches ' +
  '.cache/pip .cache/uv .cache/yarn .local/share/pnpm/store .cache/pnpm .bun/install/cache .nuget/packages'
).split(' ');
const ROOT_NAMES =
  'NVM_DIR NVM_BIN PYENV_ROOT RUSTUP_HOME ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR VOLTA_HOME CONDA_PREFIX GOROOT JAVA_HOME SDKMAN_DIR VIRTUAL_ENV BUN_INSTALL'.split(
    ' ',
  );
const CACHE_NAMES = 'GOMODCACHE GOCACHE npm_config_cache PIP_CACHE_DIR UV_CACHE_DIR'.split(' ');
/** Their links lead to other parts of the system, which a command sees. */
const SYSTEM_PROGRAMS = ['/bin', '/sbin', '/usr/bin', '/usr/sbin'];
/** Directories of an installation next to its `bin`. */
const PARTS_OF_INSTALLATION = 'bin sbin lib lib64 libexec share include'.split(' ');

export interface Places {
  readonly env: Environment;
  /** Real paths; the first one is HOME. */
  readonly homes: readonly string[];
  /** Emend's own directories. */
  readonly hidden: readonly string[];
}

export function showTools(mounts: Mounts, places: Places): void {
  const { env, homes } = places;
  for (const dir of onPath(env)) showProgramDirectory(mounts, dir, places);
  for (const name of ROOT_NAMES)
    if (isAbsolute(env[name] ?? '')) showTool(mounts, env[name] ?? '', places);
  const home = homes[0] ?? '/';
  for (const root of [...ROOTS.map((name) => `.${name}`), ...ROOTS_IN_HOME])
    showTool(mounts, join(home, root), places);
  const named = CACHE_NAMES.map((name) => env[name] ?? '').filter(isAbsolute);
  for (const cache of [...CACHES.map((name) => join(home, name)), ...named])
    showCache(mounts, cache, places);
}

/** A cache in the workspace is shown with it. */
function showCache(mounts: Mounts, cache: string, places: Places): void {
  const real = mounts.leadsTo(cache);
  if (real !== null && mounts.isEmpty(real) && !isWide(real, places)) mounts.show(cache, 'overlay');
}

/** Shows the directory if neither it nor where it leads holds more than tools. */
function showTool(mounts: Mounts, dir: string, places: Places): void {
  const real = mounts.leadsTo(dir);
  if (real === null) return;
  const isPart = PART_ROOTS[basename(dirname(real))]?.includes(basename(real)) === true;
  if (isWide(real, places) && !isPart) return;
  if (dirname(real) === '/' && !isInstalledByRoot(real)) return;
  mounts.show(dir);
}

/**
 * Returns whether a directory holds more than tools: a home, what holds one or one of Emend's own directories, or a hidden directory right
 * in a home (as `~/.local`).
 */
const isWide = (dir: string, { homes, hidden }: Places): boolean =>
  [...homes, ...homesAround(dir)].some((home) => isWithin(home, dir) || isHiddenIn(home, dir)) ||
  hidden.some((own) => isWithin(own, dir) || isWithin(dir, own));
/** Returns the home that a path names by where homes usually are: another user's is as private as one's own. */
const homesAround = (path: string): readonly string[] =>
  /^\/(?:root|(?:home|Users)\/[^/]+)(?=\/|$)/.exec(path)?.slice(0, 1) ?? [];
const isHiddenIn = (home: string, dir: string): boolean =>
  dirname(dir) === home && basename(dir).startsWith('.') && !isRoot(basename(dir));
const isRoot = (name: string): boolean => name.startsWith('.') && ROOTS.includes(name.slice(1));

/** Directories right below the root hold anything: only those of a package manager are shown whole. */
const isInstalledByRoot = (dir: string): boolean => ['/nix', '/gnu', '/snap'].includes(dir);

function showProgramDirectory(mounts: Mounts, dir: string, places: Places): void {
  const real = mounts.leadsTo(dir);
  if (real === null || SYSTEM_PROGRAMS.includes(real)) return;
  showTool(mounts, dir, places);
  showInstallation(mounts, join(real, 'tool'), places);
  // A model may have made the links.
  if (mounts.isUntrusted(real)) return;
  for (const entry of lookOrNull(() => readdirSync(dir, { withFileTypes: true })) ?? []) {
    if (!entry.isSymbolicLink()) continue;
    const link = join(dir, entry.name);
    const program = mounts.leadsTo(link);
    if (program === null) continue;
    if (dirname(program) !== real && mounts.isEmpty(program))
      showInstallation(mounts, program, places);
    if (!isInPrivateDirectory(program, places)) mounts.show(link);
  }
}

/** Returns whether a file is in a hidden directory of a home that holds no tools, or is Emend's own. */
const isInPrivateDirectory = (file: string, { homes, hidden }: Places): boolean =>
  homes.some((home) => isHiddenIn(home, dirname(file))) ||
  hidden.some((own) => isWithin(file, own));

/** Shows, for `ROOT/bin/tool`, ROOT: a program reads the files next to it. */
function showInstallation(mounts: Mounts, program: string, places: Places): void {
  const segments = program.split('/').filter((part) => part !== '');
  const manager = segments.findIndex(isRoot);
  if (manager > 0) showTool(mounts, `/${segments.slice(0, manager + 1).join('/')}`, places);
  const part = segments.findIndex((name) => name in PART_ROOTS);
  const dir = dirname(program);
  if (part < 0 || part !== segments.length - 3) {
    const installation = basename(dir) === 'bin' ? dirname(dir) : dir;
    if (dirname(installation) === '/')
      for (const name of PARTS_OF_INSTALLATION) showTool(mounts, join(installation, name), places);
    else if (installation === dir && places.homes.includes(dirname(dir))) mounts.show(program);
    else showTool(mounts, installation, places);
  }
  if (segments[part] === '.cargo')
    showTool(mounts, `/${segments.slice(0, part).join('/')}/.rustup`, places);
}
