/** What of the machine a sandbox shows, and where: mounts by path, and of a home what tools need. */
import { lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { errnoOf } from '../../system/sys.js';
import { onPath, type Environment } from '../../system/environment.js';

const SCRATCH_BYTES = 1024 ** 3; // bound: What a command may write to /tmp, and to the home that it sees, each;
const SMALL_BYTES = 64 * 1024 ** 2; // bound: and to every other place that is empty for it.
const LINKS = 200; // bound: Links and parts of a path that are followed to show where it leads.

/** Directories of one overlay over a workspace; all paths are absolute. */
export interface Overlay {
  /** Read-only layers over the workspace, the lowest first: earlier outputs of the run, then the proposal. */
  readonly lower: readonly string[];
  /** The layer that the command writes. It belongs to one mount only and was empty before it. */
  readonly upper: string;
  /** The kernel's own working directory, next to `upper` on the same filesystem. */
  readonly work: string;
}

/** Options of bubblewrap that mount the overlay over `path`; of its sources the last one is on top. */
export const overlayArguments = (path: string, { lower, upper, work }: Overlay): string[] => [
  ...[path, ...lower].flatMap((source) => ['--overlay-src', source]),
  '--overlay',
  upper,
  work,
  path,
];

type Shown = 'read' | 'write' | 'overlay' | 'guard' | ({ readonly kind: 'layers' } & Overlay);
type Mount =
  | { readonly kind: 'empty' | 'read' | 'write' | 'overlay' | 'socket' | 'guard' }
  | ({ readonly kind: 'layers' } & Overlay)
  | { readonly kind: 'link'; readonly to: string };

const parts = (path: string): string[] => path.split('/').filter((part) => part !== '');
export const isWithin = (path: string, dir: string): boolean =>
  path === dir || path.startsWith(dir === '/' ? '/' : `${dir}/`);
/** Null: it is not there, or not ours to see. Synchronous: hundreds of such short looks take the event loop less time than their turns. */
export const found = <T>(look: () => T): T | null => {
  try {
    return look();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EINVAL', 'ELOOP', 'EPERM'].includes(errnoOf(error) ?? ''))
      return null;
    throw error;
  }
};

/** What is mounted where; of two mounts the deeper one shows. */
export class Mounts {
  readonly #all = new Map<string, Mount>([['/', { kind: 'read' }]]);
  /** Where a path leads, '' for what is no link: hundreds of paths have the same beginnings, and looking throws. */
  readonly #links = new Map<string, string>();

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
  show(path: string, shown: Shown = 'read'): void {
    let rest = parts(path);
    let at = '/';
    for (let steps = 0; rest.length > 0; steps++) {
      if (steps > LINKS) return;
      const next = join(at, rest[0] ?? '');
      const to = this.#links.get(next) ?? found(() => readlinkSync(next)) ?? '';
      this.#links.set(next, to);
      if (to === '') {
        at = next;
        rest = rest.slice(1);
        continue;
      }
      if (this.isEmpty(next)) this.set(next, { kind: 'link', to });
      rest = [...parts(resolve(dirname(next), to)), ...rest.slice(1)];
      at = '/';
    }
    if (at === '/' || found(() => lstatSync(at)) === null) return;
    const mount = typeof shown === 'string' ? { kind: shown } : shown;
    if (shown !== 'read' || this.isEmpty(at)) this.set(at, mount);
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
          return [
            '--perms',
            path.endsWith('tmp') ? '1777' : '0755',
            '--size',
            String(size),
            '--tmpfs',
            path,
          ];
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
        case 'layers':
          return overlayArguments(path, mount);
        case 'socket':
          return ['--ro-bind', '/dev/null', path];
      }
    });
  }
}

// Tools: what PATH names, where that leads, and the roots that its managers keep them under. Of a root that holds credentials only parts.

const ROOTS =
  'pyenv nvm rustup asdf volta sdkman rbenv nodenv nodebrew jenv goenv deno bun nix-profile proto'.split(
    ' ',
  );
const PART_ROOTS: Readonly<Record<string, readonly string[]>> = {
  '.cargo': ['bin'],
  '.local': ['bin'],
};
const ROOTS_IN_HOME =
  '.local/share/mise .local/share/uv .local/share/pipx .local/share/fnm .local/pipx sdk go/bin'.split(
    ' ',
  );
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

export function showTools(mounts: Mounts, env: Environment, homes: readonly string[]): void {
  /** A home, what holds one, or a hidden directory right in one (as `~/.local`) is never shown whole. */
  const isWide = (dir: string): boolean =>
    homes.some(
      (home) =>
        isWithin(home, dir) ||
        (dirname(dir) === home && basename(dir).startsWith('.') && !isRoot(basename(dir))),
    );
  const show = (dir: string): void => {
    if (!isWide(dir) || PART_ROOTS[basename(dirname(dir))]?.includes(basename(dir)) === true)
      mounts.show(dir);
  };
  /** Of `ROOT/bin/tool` the root, as what is run there reads the files beside it. */
  const showRootOf = (file: string): void => {
    const segments = parts(file);
    const manager = segments.findIndex(isRoot);
    if (manager > 0) show(`/${segments.slice(0, manager + 1).join('/')}`);
    const part = segments.findIndex((name) => name in PART_ROOTS);
    const dir = dirname(file);
    if (part < 0 || part !== segments.length - 3)
      show(basename(dir) === 'bin' ? dirname(dir) : dir);
    if (segments[part] === '.cargo') show(`/${segments.slice(0, part).join('/')}/.rustup`);
  };
  for (const dir of onPath(env)) {
    show(dir);
    if (!mounts.isEmpty(dirname(dir)) && !homes.some((home) => isWithin(dir, home))) continue;
    showRootOf(join(dir, 'tool'));
    for (const entry of found(() => readdirSync(dir, { withFileTypes: true })) ?? []) {
      if (!entry.isSymbolicLink()) continue;
      const link = join(dir, entry.name);
      const real = found(() => realpathSync.native(link));
      if (real !== null && dirname(real) !== dir) showRootOf(real);
      if (real !== null) mounts.show(link);
    }
  }
  for (const name of ROOT_NAMES) if (isAbsolute(env[name] ?? '')) show(env[name] ?? '');
  const home = homes[0] ?? '/';
  for (const root of [...ROOTS.map((name) => `.${name}`), ...ROOTS_IN_HOME])
    mounts.show(join(home, root));
  for (const cache of CACHES) mounts.show(join(home, cache), 'overlay');
  for (const name of CACHE_NAMES)
    if (isAbsolute(env[name] ?? '') && !isWide(env[name] ?? ''))
      mounts.show(env[name] ?? '', 'overlay');
}
const isRoot = (name: string): boolean => name.startsWith('.') && ROOTS.includes(name.slice(1));
