/**
 * What a sandbox shows of the machine: mounts by path, over an empty root. Directories are shown through overlays, as no process can
 * connect to a socket through one: the kernel finds a socket by its inode, and that of an overlay is another one (docs/decisions/0040).
 */
import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { ProcessInput } from '../../system/process-group.js';
import { isWithin, lookOrNull } from '../../system/paths.js';

const HIDDEN_BYTES = 4_096; // bound: Bytes of an empty directory that hides a place.
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

/** `read`: shown unless it is already. `guard`: read-only where its surroundings are writable. `overlay`: what is written is dropped. */
type Shown = 'read' | 'guard' | 'write' | 'overlay' | ({ readonly kind: 'layers' } & Overlay);
type Mount =
  | {
      readonly kind: 'read' | 'guard' | 'write' | 'overlay';
      readonly isDirectory: boolean;
    }
  | ({ readonly kind: 'layers' } & Overlay)
  /** A copy of a small file; many of them cost less than as many mounts. */
  | { readonly kind: 'copy'; readonly permissions: number }
  | { readonly kind: 'scratch'; readonly bytes: number }
  | { readonly kind: 'hidden' }
  /** A file with other content in place of a file that is hidden. */
  | { readonly kind: 'mask'; readonly content: string }
  | { readonly kind: 'socket' }
  /** Files of the kernel, over which there is no overlay. */
  | { readonly kind: 'kernel' }
  | { readonly kind: 'link'; readonly to: string };

/** Descriptors of bubblewrap that have content, in the order of their numbers. */
export interface Inputs {
  /** Returns the number of the descriptor. */
  add(input: ProcessInput): string;
}
export interface MountSurroundings {
  readonly inputs: Inputs;
  /** An empty directory: a read-only overlay needs two. */
  readonly emptyDirectory: string;
}

const parts = (path: string): string[] => path.split('/').filter((part) => part !== '');

type Entry = { readonly stat: Stats; readonly link: string | null };
const entryAt = (path: string): Entry | null => {
  // Without an exception if there is none: it costs ten times the look.
  const stat = lookOrNull(() => lstatSync(path, { throwIfNoEntry: false })) ?? null;
  if (stat === null) return null;
  return { stat, link: stat.isSymbolicLink() ? lookOrNull(() => readlinkSync(path)) : null };
};

/** Bubblewrap mounts these for each command. */
const isNewInSandbox = (path: string): boolean =>
  isWithin(path, '/proc') || (isWithin(path, '/dev') && !isWithin(path, '/dev/shm'));

interface Way {
  readonly stat: Stats;
  /** The place to which the path leads. */
  readonly end: string;
  readonly links: readonly { readonly path: string; readonly to: string }[];
}

export interface MachinePlaces {
  /** Directories in which a model may have written, so that no link in them is followed. */
  readonly untrusted: readonly string[];
  /** Directories of the machine at which file systems are mounted. */
  readonly mountPoints: readonly string[];
}

/** What is mounted where; of two mounts the deeper one shows. */
export class Mounts {
  readonly #all = new Map<string, Mount>();
  /** Entries that were looked at: hundreds of paths have the same beginnings. */
  readonly #entries = new Map<string, Entry | null>();
  readonly #untrusted: readonly string[];

  readonly #mountPoints: readonly string[];

  constructor({ untrusted, mountPoints }: MachinePlaces) {
    this.#untrusted = untrusted;
    this.#mountPoints = mountPoints;
  }

  set(path: string, mount: Mount): void {
    this.#all.set(path, mount);
  }
  /** The mount that shows a path; null: it is in the empty root. */
  #over(path: string): Mount | null {
    for (let dir = path; dir !== '/'; dir = dirname(dir)) {
      const mount = this.#all.get(dir);
      if (mount !== undefined) return mount;
    }
    return null;
  }
  isEmpty(path: string): boolean {
    const kind = this.#over(path)?.kind ?? 'hidden';
    return kind === 'hidden' || kind === 'scratch';
  }
  isUntrusted(path: string): boolean {
    return this.#untrusted.some((dir) => isWithin(path, dir));
  }
  /** Returns where a path leads; null: it is not there, or a link in a directory that a model may have written leads further. */
  leadsTo(path: string): string | null {
    return this.#follow(path)?.end ?? null;
  }
  #follow(path: string): Way | null {
    const links: { path: string; to: string }[] = [];
    let rest = parts(path);
    let end = '/';
    let stat = this.#entryAt('/')?.stat ?? null;
    for (let steps = 0; rest.length > 0; steps++) {
      const next = end === '/' ? `/${rest[0]}` : `${end}/${rest[0]}`;
      const entry = this.#entryAt(next);
      if (entry === null || steps > LINKS) return null;
      if (entry.link === null) {
        end = next;
        stat = entry.stat;
        rest = rest.slice(1);
        continue;
      }
      if (this.isUntrusted(next)) return null;
      links.push({ path: next, to: entry.link });
      rest = [...parts(resolve(dirname(next), entry.link)), ...rest.slice(1)];
      end = '/';
    }
    return stat === null ? null : { end, stat, links };
  }
  #entryAt(path: string): Entry | null {
    const known = this.#entries.get(path);
    if (known !== undefined) return known;
    const entry = entryAt(path);
    this.#entries.set(path, entry);
    return entry;
  }
  /** Shows where a path leads, and each link on the way that an empty place would hide. What is not there is left out. */
  show(path: string, shown: Shown = 'read'): void {
    const way = this.#follow(path);
    if (way === null || way.end === '/') return;
    const { stat } = way;
    // A socket, a pipe or a device is never shown.
    if (!stat.isDirectory() && !stat.isFile()) return;
    this.#showLinks(way);
    if (isNewInSandbox(way.end)) return;
    const mount: Mount =
      typeof shown === 'string' ? { kind: shown, isDirectory: stat.isDirectory() } : shown;
    if (isWithin(way.end, '/sys')) this.set(way.end, { kind: 'kernel' });
    else if (shown !== 'read' || this.isEmpty(way.end)) this.set(way.end, mount);
  }
  /** Copies the file to which a path leads, as `show`. */
  copy(path: string): void {
    const way = this.#follow(path);
    if (way?.stat.isFile() !== true) return;
    this.#showLinks(way);
    if (this.isEmpty(way.end))
      this.set(way.end, { kind: 'copy', permissions: way.stat.mode & 0o777 });
  }
  /** Shows the links on the way to a place that is shown otherwise. */
  showWay(path: string): void {
    const way = this.#follow(path);
    if (way !== null) this.#showLinks(way);
  }
  #showLinks({ links }: Way): void {
    for (const { path, to } of links) if (this.isEmpty(path)) this.set(path, { kind: 'link', to });
  }
  /** Places that a command writes for real. */
  written(): string[] {
    return [...this.#all].flatMap(([path, { kind }]) => (kind === 'write' ? [path] : []));
  }
  /** Directories that a command sees without an overlay between it and the machine. */
  direct(): string[] {
    return [...this.#all].flatMap(([path, mount]) =>
      mount.kind === 'write' || this.#isBound(path, mount) ? [path] : [],
    );
  }
  /** Returns whether a directory is shown by a bind mount, as the kernel refuses an overlay of it. */
  #isBound(path: string, { kind }: Mount): boolean {
    const isOverlay = kind === 'read' || kind === 'guard' || kind === 'overlay';
    return isOverlay && this.#mountPoints.some((point) => point !== path && isWithin(point, path));
  }
  /** Directories that are shown read-only. */
  readable(): string[] {
    return [...this.#all].flatMap(([path, mount]) =>
      mount.kind === 'read' && mount.isDirectory ? [path] : [],
    );
  }
  /** Returns the options of bubblewrap, parents before their children. */
  arguments(surroundings: MountSurroundings): string[] {
    const sorted = [...this.#all].sort(([a], [b]) =>
      parts(a).join('\0') < parts(b).join('\0') ? -1 : 1,
    );
    return sorted.flatMap(([path, mount]) => {
      if (!this.#isNeeded(path, mount.kind)) return [];
      return this.#isBound(path, mount)
        ? ['--ro-bind', path, path]
        : mountArguments(path, mount, surroundings);
    });
  }
  #isNeeded(path: string, kind: Mount['kind']): boolean {
    const isInEmpty = this.isEmpty(dirname(path));
    if (kind === 'read' || kind === 'copy' || kind === 'link') return isInEmpty;
    return kind === 'hidden' ? !isInEmpty : true;
  }
}

function mountArguments(
  path: string,
  mount: Mount,
  { inputs, emptyDirectory }: MountSurroundings,
): string[] {
  switch (mount.kind) {
    case 'kernel':
      return ['--ro-bind', path, path];
    case 'read':
    case 'guard':
      return mount.isDirectory
        ? ['--overlay-src', emptyDirectory, '--overlay-src', path, '--ro-overlay', path]
        : ['--ro-bind', path, path];
    case 'write':
      return ['--bind', path, path];
    case 'overlay':
      return ['--overlay-src', path, '--tmp-overlay', path];
    case 'layers':
      return overlayArguments(path, mount);
    case 'copy':
      return ['--perms', octal(mount.permissions), '--file', inputs.add({ file: path }), path];
    case 'mask':
      return ['--ro-bind-data', inputs.add({ bytes: Buffer.from(mount.content) }), path];
    case 'scratch':
      return [
        ...['--perms', path.endsWith('tmp') ? '1777' : '0755'],
        ...['--size', String(mount.bytes), '--tmpfs', path],
      ];
    case 'hidden':
      return ['--perms', '0555', '--size', String(HIDDEN_BYTES), '--tmpfs', path];
    case 'socket':
      return ['--ro-bind', '/dev/null', path];
    case 'link':
      return ['--symlink', mount.to, path];
  }
}

const octal = (permissions: number): string => permissions.toString(8).padStart(4, '0');
