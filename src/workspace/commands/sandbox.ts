/**
 * Puts together what a command sees that runs on bytes which a model wrote: an empty root with the system's programs, tools and the workspace.
 * docs/sandbox.md lists it, and the attacks that it withstands.
 */
import { lstatSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { fail } from '../../shared/problems.js';
import { outsideWrites, type SandboxSettings } from '../../documents/job/index.js';
import { onPath, type Environment } from '../../system/environment.js';
import { FIRST_INPUT, type ProcessInput } from '../../system/process-group.js';
import { knownWorkspaces } from '../../system/known-workspaces.js';
import { mountPoints } from '../../system/mount-info.js';
import { isWithin, lookOrNull, realOrNull, realOrSame } from '../../system/paths.js';
import { emptyDirectory } from '../../system/scratch.js';
import { ALWAYS } from './bubblewrap.js';
import { controlGroup } from './control-group.js';
import { guardInstallation } from './cover-installation.js';
import { hideCredentials } from './credentials.js';
import { guardGit } from './git-guard.js';
import { gitPlaces, type GitPlaces } from '../git/git-places.js';
import { Mounts, overlayArguments, type Overlay } from './mounts.js';
import { seccompFilter } from './seccomp.js';
import { hideSockets } from './sockets.js';
import { showSystem } from './system.js';
import { showTools } from './tools.js';

const SCRATCH_BYTES = 1024 ** 3; // bound: What a command may write to /tmp, and to the home that it sees, each;
const SMALL_BYTES = 64 * 1024 ** 2; // bound: and to every other place that is empty for it.
const PROCESSES = 4_096; // bound: Processes of one command, unless `processes` says otherwise.

/** A command's sandbox. */
export interface Box {
  readonly settings: SandboxSettings;
  /** Real path. The command may write it, except for the git directory. */
  readonly workspace: string;
  /** The command writes an upper layer instead of the workspace; absent: the workspace itself, which only tests after an apply do. */
  readonly overlay?: Overlay;
  /** The workspace is read-only: a formatter without an overlay writes copies. */
  readonly isReadOnly?: boolean;
  /** Directories of Emend's own that the command may write. */
  readonly scratch?: readonly string[];
  /** The command sees the machine as it is. Only its writes to the workspace (`overlay`) and the git directory are dropped. */
  readonly isOpen?: boolean;
}
export interface Surroundings {
  readonly env: Environment;
  /** Emend's own directories: home and store. */
  readonly hidden: readonly string[];
}

const KERNEL = ['sys', 'sysrq-trigger', 'irq', 'bus', 'acpi', 'fs'];

/** Options for a command without a sandbox: only its processes end with it. */
const OPEN = ['--unshare-user', '--unshare-pid', '--die-with-parent', '--new-session'];

/** Options of bubblewrap before the command, and what they refer to. */
export interface BoxOptions {
  readonly options: readonly string[];
  /** Contents of its descriptors, from `FIRST_INPUT` on. */
  readonly inputs: readonly ProcessInput[];
}

export async function boxOptions(box: Box, { env, hidden }: Surroundings): Promise<BoxOptions> {
  const { settings, workspace } = box;
  const homes = homesOf(env);
  if (homes.includes(workspace))
    fail(
      'config_invalid',
      `${workspace} is a home directory: a sandbox cannot hide anything in it.`,
      'Work in a directory below it, or set `sandbox: off`.',
    );
  const git = await gitPlaces(workspace);
  if (box.isOpen === true) return { options: openArguments(box, git), inputs: [] };
  // A home that is a repository is still a home.
  const own = git !== null && !homes.some((home) => isWithin(home, git.top)) ? git : null;
  const mounts = new Mounts({
    untrusted: [workspace, ...(own === null ? [] : workingTrees(own)), ...knownWorkspaces()],
    mountPoints: await mountPoints(),
  });
  showEmptyPlaces(mounts, homes, hidden.map(realOrSame));
  mounts.showWay(env.HOME ?? '/');
  showSystem(mounts);
  await showWorkspace(mounts, box, { git, own });
  showTools(mounts, { env, homes, hidden: hidden.map(realOrSame) });
  for (const path of settings.read) mounts.show(expanded(path, homes));
  showWrites(mounts, box, { env, home: homes[0] ?? '/' });
  for (const path of box.scratch ?? []) mounts.show(path, 'write');
  hideCredentials(mounts);
  await hideSockets(mounts, box.scratch ?? []);
  return rooted(mounts, box);
}

/** Real paths of the user's homes; the first one is HOME. */
function homesOf(env: Environment): string[] {
  const homes = [env.HOME ?? '', homedir(), userInfo().homedir].filter(isAbsolute);
  return [...new Set(homes.map(realOrSame))].filter((home) => home !== '/');
}

/** The working trees of a repository in which commands of other runs may have written. */
function workingTrees({ top, places }: GitPlaces): string[] {
  const trees = [top, ...places.filter((place) => basename(place) === '.git').map(dirname)];
  return trees.filter((tree) => tree !== '/');
}

function showEmptyPlaces(
  mounts: Mounts,
  homes: readonly string[],
  hidden: readonly string[],
): void {
  for (const path of ['/tmp', ...homes])
    mounts.set(path, { kind: 'scratch', bytes: SCRATCH_BYTES });
  for (const path of ['/var/tmp', '/run', '/dev/shm'])
    mounts.set(path, { kind: 'scratch', bytes: SMALL_BYTES });
  mounts.set('/var/run', { kind: 'link', to: '/run' });
  for (const path of hidden) mounts.set(path, { kind: 'hidden' });
}

async function showWorkspace(
  mounts: Mounts,
  box: Box,
  { git, own }: { readonly git: GitPlaces | null; readonly own: GitPlaces | null },
): Promise<void> {
  const { workspace, overlay } = box;
  if (own !== null) mounts.show(own.top);
  const direct = box.isReadOnly === true ? 'guard' : 'write';
  mounts.show(workspace, overlay === undefined ? direct : { kind: 'layers', ...overlay });
  // A repository that the command makes there is none for Emend's git or yours, even if it is never removed.
  if (git === null && overlay === undefined && direct === 'write')
    mounts.set(join(workspace, '.git'), { kind: 'scratch', bytes: SMALL_BYTES });
  if (own !== null) await guardGit(mounts, own, box);
  guardInstallation(mounts, box);
}

/** Adds what every sandbox has, and hands all options over by a descriptor: a command sees the words that bubblewrap was started with. */
async function rooted(mounts: Mounts, { workspace, scratch = [] }: Box): Promise<BoxOptions> {
  const inputs: ProcessInput[] = [];
  const add = (input: ProcessInput): string => String(FIRST_INPUT + inputs.push(input) - 1);
  // Layers and directories of Emend's own are closed to other users, and files are copied from there without these bits.
  const refusesSetId = mounts.written().some((path) => !scratch.includes(path));
  const filter = seccompFilter({ refusesSetId });
  const options = [
    ...ALWAYS,
    // With `network` there is a way out through a proxy (network/index.ts).
    '--unshare-net',
    ...(filter === null ? [] : ['--seccomp', add({ bytes: filter })]),
    ...['--dev', '/dev', '--proc', '/proc'],
    // Bubblewrap makes what leads to a file readable for its owner alone.
    ...['/etc', '/sys', '/var'].flatMap((dir) => ['--perms', '0755', '--dir', dir]),
    ...KERNEL.flatMap((name) => ['--ro-bind-try', `/proc/${name}`, `/proc/${name}`]),
    ...mounts.arguments({ inputs: { add }, emptyDirectory: await emptyDirectory() }),
    ...(await controlGroup()),
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', workspace],
  ];
  const bytes = Buffer.from(options.map((option) => `${option}\0`).join(''));
  return { options: ['--args', add({ bytes })], inputs };
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
    const real = realOrNull(path);
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

/** Returns the options for a command without a sandbox. They cover the workspace and the git directories, so that nothing written there stays. */
function openArguments({ workspace, overlay }: Box, git: GitPlaces | null): string[] {
  const places = [workspace, ...(git?.places ?? [])].filter((place) =>
    lookOrNull(() => lstatSync(place))?.isDirectory(),
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
