/**
 * What a command sees that runs on bytes which a model wrote: the machine read-only, the workspace to write in but for its git directory,
 * tools, and nothing of the person's or of ours beside. docs/sandbox.md has the picture and the attacks that it withstands.
 */
import { lstatSync, realpathSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { fail } from '../../shared/problems.js';
import { outsideWrites, type SandboxSettings } from '../../documents/job/index.js';
import { onPath, type Environment } from '../../system/environment.js';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import { gitPlaces, type GitPlaces } from '../git/git-places.js';
import { ALWAYS } from './bubblewrap.js';
import { guardInstallation } from './cover-installation.js';
import { found, isWithin, Mounts, overlayArguments, showTools, type Overlay } from './mounts.js';

const PROCESSES = 4_096; // bound: Processes of one command, unless `processes` says otherwise.

/** A command's sandbox. */
export interface Box {
  readonly settings: SandboxSettings;
  /** Real path: written to but for its git directory. */
  readonly workspace: string;
  /** The command writes an upper layer instead of the workspace; absent: the workspace itself, which only tests after an apply do. */
  readonly overlay?: Overlay;
  /** The workspace is read-only: a formatter without an overlay writes copies. */
  readonly isReadOnly?: boolean;
  /** Directories of ours that it may write to. */
  readonly scratch?: readonly string[];
  /** Nothing is shut in or hidden: only what is written in the workspace (`overlay`) and its git directory goes nowhere. */
  readonly isOpen?: boolean;
}
export interface Surroundings {
  readonly env: Environment;
  /** Our own directories: home and store. */
  readonly hidden: readonly string[];
}

/** Bound sockets by path. A read-only mount does not keep anybody from connecting to them. */
async function sockets(): Promise<readonly string[]> {
  const listed = (await readGivenText('/proc/net/unix', UNREADABLE)) ?? '';
  const paths = listed.split('\n').flatMap((line) => /\s(\/.*)$/.exec(line)?.[1] ?? []);
  const real: string[] = [];
  for (const path of new Set([
    ...paths,
    '/var/run/docker.sock',
    '/var/run/dbus/system_bus_socket',
  ])) {
    const leads = found(() => realpathSync.native(path));
    if (leads !== null && lstatSync(leads).isSocket()) real.push(leads);
  }
  return real;
}

const KERNEL = ['sys', 'sysrq-trigger', 'irq', 'bus', 'acpi', 'fs'];

/** Its processes end with it. */
const OPEN = ['--unshare-user', '--unshare-pid', '--die-with-parent', '--new-session'];

/** Options of bubblewrap, up to the command. */
export async function boxArguments(box: Box, { env, hidden }: Surroundings): Promise<string[]> {
  const { settings, workspace } = box;
  const mounts = new Mounts();
  const given = [env.HOME ?? '', homedir(), userInfo().homedir].filter(isAbsolute);
  const homes = [
    ...new Set(given.map((path) => found(() => realpathSync.native(path)) ?? resolve(path))),
  ].filter((home) => home !== '/');
  for (const path of [
    '/tmp',
    '/var/tmp',
    '/run',
    '/home',
    '/root',
    '/var/run',
    '/dev/shm',
    ...homes,
    ...hidden,
  ]) {
    const real = found(() => realpathSync.native(path));
    // A place that is not there needs no cover, unless it lies in one that is empty.
    if (real === path || (real === null && mounts.isEmpty(path)))
      mounts.set(path, { kind: 'empty' });
    else if (real !== null && hidden.includes(path)) mounts.set(real, { kind: 'empty' });
  }
  if (homes.includes(workspace))
    fail(
      'config_invalid',
      `${workspace} is a home directory: a sandbox cannot hide anything in it.`,
      'Work in a directory below it, or set `sandbox: off`.',
    );
  const git = await gitPlaces(workspace);
  if (box.isOpen === true) return openArguments(box, git);
  showTools(mounts, env, homes);
  if (settings.network) mounts.show('/etc/resolv.conf');
  // A home that is a repository is still a home.
  const isOwn = git !== null && !homes.some((home) => isWithin(home, git.top));
  if (isOwn) mounts.show(git.top);
  const { overlay } = box;
  const direct = box.isReadOnly === true ? 'guard' : 'write';
  mounts.show(workspace, overlay === undefined ? direct : { kind: 'layers', ...overlay });
  // What it makes there is no repository for git that we or a person run, even if it is never removed.
  if (git === null && overlay === undefined && direct === 'write')
    mounts.set(join(workspace, '.git'), { kind: 'empty' });
  for (const path of settings.read) mounts.show(expanded(path, homes));
  showWrites(mounts, box, { env, home: homes[0] ?? '/' });
  for (const path of box.scratch ?? []) mounts.show(path, 'write');
  if (isOwn) guardGit(mounts, git, box);
  guardInstallation(mounts, box);
  for (const socket of await sockets())
    if (!mounts.isEmpty(socket)) mounts.set(socket, { kind: 'socket' });
  return [
    ...ALWAYS,
    ...(settings.network ? [] : ['--unshare-net']),
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...KERNEL.flatMap((name) => ['--ro-bind-try', `/proc/${name}`, `/proc/${name}`]),
    ...mounts.arguments(),
    ...['--remount-ro', '/dev', '--chdir', workspace],
  ];
}

/** Shows what `sandbox.write` names outside the workspace. What it names inside is copied from the command's layer. */
function showWrites(
  mounts: Mounts,
  { settings, workspace }: Box,
  { env, home }: { readonly env: Environment; readonly home: string },
): void {
  const paths = outsideWrites(settings, { root: workspace, home });
  const programs = paths.length === 0 ? [] : onPath(env).map(realOrSame);
  for (const path of paths) {
    const real = found(() => realpathSync.native(path));
    const program = programs.find(
      (dir) => isWithin(real ?? path, dir) || isWithin(dir, real ?? path),
    );
    if (program !== undefined)
      fail(
        'config_invalid',
        `\`sandbox.write\` names ${path}, which is in or around ${program}, a directory on PATH.`,
        'Name a folder for snapshots or reports.',
      );
    if (real !== null && (isWithin(real, workspace) || isWithin(workspace, real)))
      fail(
        'config_invalid',
        `\`sandbox.write\` names ${path}, which leads to ${real}, in or around the workspace.`,
        'Name paths inside the workspace relative to it.',
      );
    mounts.show(path, 'write');
  }
}

const realOrSame = (path: string): string => found(() => realpathSync.native(path)) ?? path;

/** Outside the sandbox. Only the workspace and the repository's git directories are covered, so that nothing written there stays. */
function openArguments({ workspace, overlay }: Box, git: GitPlaces | null): string[] {
  const places = [workspace, ...(git?.places ?? [])].filter((place) =>
    found(() => lstatSync(place))?.isDirectory(),
  );
  const outermost = places.filter(
    (dir) => !places.some((other) => other !== dir && isWithin(dir, other)),
  );
  const covers = outermost.flatMap((dir) =>
    dir === workspace && overlay !== undefined
      ? overlayArguments(dir, overlay)
      : ['--overlay-src', dir, '--tmp-overlay', dir],
  );
  return [...OPEN, '--dev-bind', '/', '/', '--proc', '/proc', ...covers, '--chdir', workspace];
}

/** Makes the git directories read-only and, if commands write the workspace itself, what git runs or includes from the working tree. */
function guardGit(mounts: Mounts, git: GitPlaces, { workspace, overlay }: Box): void {
  const entry = join(git.top, '.git');
  const places =
    overlay === undefined
      ? git.places
      : git.places.filter((place) => place === entry || !isWithin(place, workspace));
  for (const place of places) {
    // No directory above it can be renamed, either.
    for (
      let dir = dirname(place);
      dir !== workspace && isWithin(dir, workspace);
      dir = dirname(dir)
    )
      mounts.show(dir, 'write');
    mounts.show(place, 'guard');
  }
}

const expanded = (path: string, homes: readonly string[]): string =>
  path.startsWith('~/') ? join(homes[0] ?? '/', path.slice(2)) : path;

/** In the sandbox, round the command: limits that only hold where they are set inside. `dash` and `bash` call that of processes by two names. */
export const limited = (
  { memory_mib, processes }: SandboxSettings,
  command: readonly string[],
): string[] => {
  const data = memory_mib === null ? '' : `ulimit -d ${memory_mib * 1024}; `;
  const most = processes ?? PROCESSES;
  return [
    '/bin/sh',
    '-c',
    `${data}ulimit -u ${most} 2>/dev/null || ulimit -p ${most}; exec "$@"`,
    'sh',
    ...command,
  ];
};
export const mostProcesses = ({ processes }: SandboxSettings): number => processes ?? PROCESSES;
