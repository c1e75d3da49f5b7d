/**
 * What a command sees that runs on bytes which a model wrote: the machine read-only, the workspace to write in but for its git directory,
 * tools, and nothing of the person's or of ours beside. docs/sandbox.md has the picture and the attacks that it withstands.
 */
import { lstat, readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { homedir, userInfo } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { fail } from '../../shared/problems.js';
import type { SandboxSettings } from '../../documents/job/index.js';
import { definedOf, type Environment } from '../../system/environment.js';
import { orNull } from '../../system/durable.js';
import { ALWAYS } from './bubblewrap.js';

const SCRATCH_BYTES = 1024 ** 3; // bound: What a command may write to /tmp, and to the home that it sees, each;
const SMALL_BYTES = 64 * 1024 ** 2; // bound: and to every other place that is empty for it.
const LINKS = 200; // bound: Links and parts of a path that are followed to show where it leads.
const PROCESSES = 4_096; // bound: Processes of one command, unless `processes` says otherwise.

/** A command's sandbox. */
export interface Box {
  readonly settings: SandboxSettings;
  /** Real path: written to but for its git directory. */
  readonly workspace: string;
  /** What the command writes in the workspace goes nowhere. */
  readonly dropsWrites?: boolean;
  /** Directories of ours that it may write to. */
  readonly scratch?: readonly string[];
}
export interface Surroundings {
  readonly env: Environment;
  /** Our own directories: home and store. */
  readonly hidden: readonly string[];
}

type Mount =
  | { readonly kind: 'empty' | 'read' | 'write' | 'overlay' | 'socket' | 'guard' }
  | { readonly kind: 'link'; readonly to: string };

const parts = (path: string): string[] => path.split('/').filter((part) => part !== '');
const isWithin = (path: string, dir: string): boolean => path === dir || path.startsWith(dir === '/' ? '/' : `${dir}/`);
const found = <T>(work: Promise<T>): Promise<T | null> =>
  orNull(work, ['ENOENT', 'ENOTDIR', 'EACCES', 'EINVAL', 'ELOOP', 'EPERM']);

/** What is mounted where; of two mounts the deeper one shows. */
class Mounts {
  readonly #all = new Map<string, Mount>([['/', { kind: 'read' }]]);

  set(path: string, mount: Mount): void {
    this.#all.set(path, mount);
  }
  #above(path: string): Mount {
    for (let dir = dirname(path); ; dir = dirname(dir)) {
      const mount = this.#all.get(dir);
      if (mount !== undefined) return mount;
    }
  }
  isEmpty(path: string): boolean {
    return (this.#all.get(path) ?? this.#above(path)).kind === 'empty';
  }
  /** Shows where a path leads, and each link on the way that an empty place would hide. What is not there is left out. */
  async show(path: string, kind: 'read' | 'write' | 'overlay' | 'guard' = 'read'): Promise<void> {
    let rest = parts(path);
    let at = '/';
    for (let steps = 0; rest.length > 0; steps++) {
      if (steps > LINKS) return;
      const next = join(at, rest[0] ?? '');
      const to = await found(readlink(next));
      if (to === null) {
        at = next;
        rest = rest.slice(1);
        continue;
      }
      if (this.isEmpty(next)) this.set(next, { kind: 'link', to });
      rest = [...parts(resolve(dirname(next), to)), ...rest.slice(1)];
      at = '/';
    }
    if (at === '/' || (await found(lstat(at))) === null) return;
    if (kind !== 'read' || this.isEmpty(at)) this.set(at, { kind });
  }
  /** Parents before what lies in them. */
  arguments(): string[] {
    const sorted = [...this.#all]
      .filter(([path]) => path !== '/')
      .sort(([a], [b]) => (parts(a).join('\0') < parts(b).join('\0') ? -1 : 1));
    return sorted.flatMap(([path, mount]) => {
      const above = this.#above(path).kind;
      switch (mount.kind) {
        case 'empty': {
          const size = path === '/tmp' || above === 'read' ? SCRATCH_BYTES : SMALL_BYTES;
          return ['--perms', path.endsWith('tmp') ? '1777' : '0755', '--size', String(size), '--tmpfs', path];
        }
        case 'read':
          return above === 'empty' ? ['--ro-bind', path, path] : [];
        case 'link':
          return above === 'empty' ? ['--symlink', mount.to, path] : [];
        case 'guard':
          return ['--ro-bind', path, path];
        case 'write':
          return ['--bind', path, path];
        case 'overlay':
          return ['--overlay-src', path, '--tmp-overlay', path];
        case 'socket':
          return ['--ro-bind', '/dev/null', path];
      }
    });
  }
}

// Tools: what PATH names, where that leads, and the roots that its managers keep them under. Of a root that holds credentials only parts.

const ROOTS = 'pyenv nvm rustup asdf volta sdkman rbenv nodenv nodebrew jenv goenv deno bun nix-profile proto'.split(
  ' ',
);
const PART_ROOTS: Readonly<Record<string, readonly string[]>> = { '.cargo': ['bin'], '.local': ['bin'] };
const ROOTS_IN_HOME = [
  '.local/share/mise',
  '.local/share/uv',
  '.local/share/pipx',
  '.local/share/fnm',
  '.local/pipx',
  'sdk',
  'go/bin',
];
/** Read where a package manager looks for what it has fetched; what is written there is dropped, as it would reach other runs. */
const CACHES = [
  ...[
    '.npm/_cacache',
    '.cache/go-build',
    '.cargo/registry',
    '.cargo/git',
    'go/pkg/mod',
    '.m2/repository',
    '.gradle/caches',
  ],
  ...[
    '.cache/pip',
    '.cache/uv',
    '.cache/yarn',
    '.local/share/pnpm/store',
    '.cache/pnpm',
    '.bun/install/cache',
    '.nuget/packages',
  ],
];
const ROOT_NAMES =
  'NVM_DIR NVM_BIN PYENV_ROOT RUSTUP_HOME ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR VOLTA_HOME CONDA_PREFIX GOROOT JAVA_HOME SDKMAN_DIR VIRTUAL_ENV BUN_INSTALL'.split(
    ' ',
  );
const CACHE_NAMES = 'GOMODCACHE GOCACHE npm_config_cache PIP_CACHE_DIR UV_CACHE_DIR'.split(' ');
const OTHER_NAMES =
  'PATH HOME USER LOGNAME LANG TERM TZ CI GOPATH CARGO_HOME RUSTUP_TOOLCHAIN PYENV_VERSION PNPM_HOME NODENV_VERSION'.split(
    ' ',
  );
const KEPT = new Set([...ROOT_NAMES, ...CACHE_NAMES, ...OTHER_NAMES]);

/** The environment of a command in the sandbox: an allow-list. */
export const boxEnvironment = (
  env: Environment,
  { env: more }: Pick<SandboxSettings, 'env'>,
): Record<string, string> => ({
  ...definedOf(
    Object.fromEntries(
      Object.entries(env).filter(([name]) => KEPT.has(name) || name.startsWith('LC_') || more.includes(name)),
    ),
  ),
  TMPDIR: '/tmp',
});

async function showTools(mounts: Mounts, env: Environment, homes: readonly string[]): Promise<void> {
  /** A home, what holds one, or a hidden directory right in one (as `~/.local`) is never shown whole. */
  const isWide = (dir: string): boolean =>
    homes.some(
      (home) =>
        isWithin(home, dir) || (dirname(dir) === home && basename(dir).startsWith('.') && !isRoot(basename(dir))),
    );
  const show = async (dir: string): Promise<void> => {
    if (!isWide(dir) || PART_ROOTS[basename(dirname(dir))]?.includes(basename(dir)) === true) await mounts.show(dir);
  };
  /** Of `ROOT/bin/tool` the root, as what is run there reads the files beside it. */
  const showRootOf = async (file: string): Promise<void> => {
    const segments = parts(file);
    const manager = segments.findIndex(isRoot);
    if (manager > 0) await show(`/${segments.slice(0, manager + 1).join('/')}`);
    const part = segments.findIndex((name) => name in PART_ROOTS);
    const dir = dirname(file);
    if (part < 0 || part !== segments.length - 3) await show(basename(dir) === 'bin' ? dirname(dir) : dir);
    if (segments[part] === '.cargo') await show(`/${segments.slice(0, part).join('/')}/.rustup`);
  };
  for (const dir of (env.PATH ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((dir) => resolve(dir))) {
    await show(dir);
    if (!mounts.isEmpty(dirname(dir)) && !homes.some((home) => isWithin(dir, home))) continue;
    await showRootOf(join(dir, 'tool'));
    for (const name of (await found(readdir(dir))) ?? []) {
      if ((await found(readlink(join(dir, name)))) === null) continue;
      const real = await found(realpath(join(dir, name)));
      if (real !== null && dirname(real) !== dir) await showRootOf(real);
      if (real !== null) await mounts.show(join(dir, name));
    }
  }
  for (const name of ROOT_NAMES) if (isAbsolute(env[name] ?? '')) await show(env[name] ?? '');
  const home = homes[0] ?? '/';
  for (const root of [...ROOTS.map((name) => `.${name}`), ...ROOTS_IN_HOME]) await mounts.show(join(home, root));
  for (const cache of CACHES) await mounts.show(join(home, cache), 'overlay');
  for (const name of CACHE_NAMES)
    if (isAbsolute(env[name] ?? '') && !isWide(env[name] ?? '')) await mounts.show(env[name] ?? '', 'overlay');
}
const isRoot = (name: string): boolean => name.startsWith('.') && ROOTS.includes(name.slice(1));

// Git: its directory is read-only, wherever it lies.

export interface GitPlaces {
  readonly top: string;
  /** `.git` in the working tree, and the directories that a linked worktree has elsewhere. */
  readonly places: readonly string[];
}

export async function gitPlaces(workspace: string): Promise<GitPlaces | null> {
  for (let top = workspace; ; top = dirname(top)) {
    const entry = join(top, '.git');
    const stat = await found(lstat(entry));
    if (stat?.isDirectory() === true) return { top, places: [entry] };
    if (stat !== null) {
      const gitDir = /^gitdir: (.+)$/m.exec((await found(readFile(entry, 'utf8'))) ?? '')?.[1];
      if (gitDir === undefined) return { top, places: [entry] };
      const own = resolve(top, gitDir);
      const common = await found(readFile(join(own, 'commondir'), 'utf8'));
      return { top, places: [entry, own, ...(common === null ? [] : [resolve(own, common.trim())])] };
    }
    if (top === '/') return null;
  }
}

/** Bound sockets by path. A read-only mount does not keep anybody from connecting to them. */
async function sockets(): Promise<readonly string[]> {
  const listed = (await found(readFile('/proc/net/unix', 'utf8'))) ?? '';
  const paths = listed.split('\n').flatMap((line) => /\s(\/.*)$/.exec(line)?.[1] ?? []);
  const real: string[] = [];
  for (const path of new Set([...paths, '/var/run/docker.sock', '/var/run/dbus/system_bus_socket'])) {
    const leads = await found(realpath(path));
    if (leads !== null && (await lstat(leads)).isSocket()) real.push(leads);
  }
  return real;
}

const KERNEL = ['sys', 'sysrq-trigger', 'irq', 'bus', 'acpi', 'fs'];

/** Options of bubblewrap, up to the command. */
export async function boxArguments(box: Box, { env, hidden }: Surroundings): Promise<string[]> {
  const { settings, workspace } = box;
  const mounts = new Mounts();
  const given = [env.HOME ?? '', homedir(), userInfo().homedir].filter(isAbsolute);
  const homes = [
    ...new Set(await Promise.all(given.map(async (path) => (await found(realpath(path))) ?? resolve(path)))),
  ].filter((home) => home !== '/');
  for (const path of ['/tmp', '/var/tmp', '/run', '/home', '/root', '/var/run', '/dev/shm', ...homes, ...hidden]) {
    const real = await found(realpath(path));
    // A place that is not there needs no cover, unless it lies in one that is empty.
    if (real === path || (real === null && mounts.isEmpty(path))) mounts.set(path, { kind: 'empty' });
    else if (real !== null && hidden.includes(path)) mounts.set(real, { kind: 'empty' });
  }
  if (homes.includes(workspace))
    fail(
      'config_invalid',
      `${workspace} is a home directory: a sandbox could hide nothing in it.`,
      'Work in a directory below it, or set `sandbox: off`.',
    );
  await showTools(mounts, env, homes);
  if (settings.network) await mounts.show('/etc/resolv.conf');
  const git = await gitPlaces(workspace);
  // A home that is a repository is still a home.
  const isOwn = git !== null && !homes.some((home) => isWithin(home, git.top));
  if (isOwn) await mounts.show(git.top);
  await mounts.show(workspace, box.dropsWrites === true ? 'overlay' : 'write');
  for (const path of settings.read) await mounts.show(expanded(path, homes));
  for (const path of settings.write) await mounts.show(expanded(path, homes), 'write');
  for (const path of box.scratch ?? []) await mounts.show(path, 'write');
  if (isOwn) for (const place of git.places) await mounts.show(place, 'guard');
  for (const socket of await sockets()) if (!mounts.isEmpty(socket)) mounts.set(socket, { kind: 'socket' });
  return [
    ...ALWAYS,
    ...(settings.network ? [] : ['--unshare-net']),
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...KERNEL.flatMap((name) => ['--ro-bind-try', `/proc/${name}`, `/proc/${name}`]),
    ...mounts.arguments(),
    ...['--remount-ro', '/dev', '--chdir', workspace],
  ];
}

const expanded = (path: string, homes: readonly string[]): string =>
  path.startsWith('~/') ? join(homes[0] ?? '/', path.slice(2)) : path;

/** In the sandbox, round the command: limits that only hold where they are set inside. `dash` and `bash` call that of processes by two names. */
export const limited = ({ memory_mib, processes }: SandboxSettings, command: readonly string[]): string[] => {
  const data = memory_mib === null ? '' : `ulimit -d ${memory_mib * 1024}; `;
  const most = processes ?? PROCESSES;
  return ['/bin/sh', '-c', `${data}ulimit -u ${most} 2>/dev/null || ulimit -p ${most}; exec "$@"`, 'sh', ...command];
};
export const mostProcesses = ({ processes }: SandboxSettings): number => processes ?? PROCESSES;
