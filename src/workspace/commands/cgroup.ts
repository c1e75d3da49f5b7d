/**
 * A control group for one command, if this machine lets this process make one: the kernel itself then stops the command at its limits of
 * memory and processes. Version 2, or the older separate hierarchies. Otherwise the monitor (watch-box.ts) does what it can.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { orNull } from '../../system/durable.js';
import { mountsIn, type MountedFileSystem } from '../../system/mount-table.js';
import { errnoOf } from '../../system/sys.js';

const REMOVE_TRIES = 50; // bound: Times that the end of a command waits for the kernel to empty its group,
const REMOVE_WAIT_MS = 20; // bound: and how long each time.
export const OWN_TASKS = 4; // bound: Processes of the sandbox itself (bubblewrap, its first process, the shell that starts it).

const CONTROLLERS = ['memory', 'pids'] as const;
type Controller = (typeof CONTROLLERS)[number];

/** A directory in which this process may make groups for a controller. */
export interface CgroupPlace {
  readonly version: 1 | 2;
  readonly parent: string;
  readonly controllers: readonly Controller[];
}
export interface CgroupLimits {
  readonly memory_mib: number;
  readonly processes: number;
}
export interface Cgroup {
  /** Wraps a program so that it joins the group before it starts. If that fails, it starts without it. */
  readonly wrap: (argv: readonly string[]) => readonly string[];
  /** Returns whether a process is in the group. */
  readonly contains: (pid: string) => Promise<boolean>;
  /** Returns what the kernel refused or ended. */
  readonly events: () => Promise<{ readonly oom: boolean; readonly pids: boolean }>;
  readonly end: () => Promise<void>;
}

/** Names of the files in which the versions differ. */
const FILES = {
  1: { memory: 'memory.limit_in_bytes', oom: 'memory.oom_control' },
  2: { memory: 'memory.max', oom: 'memory.events' },
} as const;
const NAME = /^emend-(\d+)-/;

/** Tables of the kernel about the groups of this process. */
export interface CgroupSource {
  /** Contents of /proc/self/cgroup. */
  readonly groups: string;
  /** Contents of /proc/self/mountinfo. */
  readonly mounts: string;
}
const readSource = async (): Promise<CgroupSource> => ({
  groups: await readFile('/proc/self/cgroup', 'utf8'),
  mounts: await readFile('/proc/self/mountinfo', 'utf8'),
});

let known: Promise<readonly CgroupPlace[] | string> | null = null;
/** Returns where groups for both limits can be made, or why they cannot. It is tried once, with a group that is removed again. */
export const cgroupPlaces = (): Promise<readonly CgroupPlace[] | string> =>
  (known ??= readSource()
    .then(findPlaces)
    .catch((error: unknown) => (error instanceof Error ? error.message : String(error))));

/** Looks for a place of each controller, and tries it. */
export async function findPlaces(source: CgroupSource): Promise<readonly CgroupPlace[] | string> {
  const unified = await unifiedPlace(source);
  if (unified !== null) {
    const problem = await problemOf(unified);
    return problem ?? [unified];
  }
  const places = CONTROLLERS.flatMap((controller) => separatePlace(source, controller) ?? []);
  if (places.length < CONTROLLERS.length)
    return 'no hierarchy of control groups has the controllers of memory and processes';
  for (const place of places) {
    const problem = await problemOf(place);
    if (problem !== null) return problem;
  }
  return places;
}

/** Path of this process's group in a hierarchy, in the file system. */
const directoryOf = ({ root, point }: MountedFileSystem, path: string): string =>
  join(point, root === '/' ? path : relative(root, path));

/**
 * Version 2: next to the group of this process, as a group with processes can have no limited groups in it. That is allowed for root, and where
 * systemd delegates the group above (`Delegate=yes` with `DelegateSubgroup=`, or a user's service).
 */
async function unifiedPlace({ groups, mounts }: CgroupSource): Promise<CgroupPlace | null> {
  const path = /^0::(.*)$/m.exec(groups)?.[1];
  const mounted = mountsIn(mounts).find(({ type }) => type === 'cgroup2');
  if (path === undefined || mounted === undefined) return null;
  const parent = directoryOf(mounted, dirname(path));
  const listed = async (name: string): Promise<readonly string[]> =>
    ((await orNull(readFile(join(parent, name), 'utf8'), UNREADABLE)) ?? '').trim().split(/\s+/);
  const available = await listed('cgroup.controllers');
  if (!CONTROLLERS.every((name) => available.includes(name))) return null;
  const enabled = await listed('cgroup.subtree_control');
  if (!CONTROLLERS.every((name) => enabled.includes(name)))
    await orNull(writeFile(join(parent, 'cgroup.subtree_control'), '+memory +pids'), UNWRITABLE);
  return { version: 2, parent, controllers: CONTROLLERS };
}
const UNREADABLE = ['ENOENT', 'EACCES', 'EPERM', 'ENOTDIR'];
const UNWRITABLE = [...UNREADABLE, 'EROFS', 'EBUSY', 'EINVAL', 'ENODEV', 'EOPNOTSUPP'];

/** Version 1: in the group of this process, one hierarchy for each controller. */
function separatePlace(
  { groups, mounts }: CgroupSource,
  controller: Controller,
): CgroupPlace | null {
  const path = groups
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, names = '']) => names.split(',').includes(controller))?.[2];
  const mounted = mountsIn(mounts).find(
    ({ type, options }) => type === 'cgroup' && options.includes(controller),
  );
  return path === undefined || mounted === undefined
    ? null
    : { version: 1, parent: directoryOf(mounted, path), controllers: [controller] };
}

const problemOf = async (place: CgroupPlace): Promise<string | null> => {
  await removeLeftBehind(place.parent);
  const dir = join(place.parent, newName());
  try {
    await makeGroup(dir, place, { memory_mib: 1_024, processes: 64 });
    return null;
  } catch (error) {
    return `no control group can be made in ${place.parent}: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    await orNull(rmdir(dir), [...UNWRITABLE, 'ENOTEMPTY']);
  }
};

const newName = (): string => `emend-${process.pid}-${randomUUID()}`;

/** Removes the empty groups of processes that were killed. */
async function removeLeftBehind(parent: string): Promise<void> {
  for (const name of (await orNull(readdir(parent), UNREADABLE)) ?? []) {
    const pid = NAME.exec(name)?.[1];
    if (pid === undefined || Number(pid) === process.pid) continue;
    const isAlive = (await orNull(readdir(`/proc/${pid}`), UNREADABLE)) !== null;
    if (!isAlive) await orNull(rmdir(join(parent, name)), [...UNWRITABLE, 'ENOTEMPTY']);
  }
}

async function makeGroup(
  dir: string,
  { version, controllers }: CgroupPlace,
  { memory_mib, processes }: CgroupLimits,
): Promise<void> {
  await mkdir(dir);
  if (controllers.includes('memory')) {
    await writeFile(join(dir, FILES[version].memory), String(memory_mib * 1024 ** 2));
    if (version === 2) {
      // Not there without swap, and before Linux 4.19.
      await orNull(writeFile(join(dir, 'memory.swap.max'), '0'), UNWRITABLE);
      await orNull(writeFile(join(dir, 'memory.oom.group'), '1'), UNWRITABLE);
    }
  }
  if (controllers.includes('pids')) await writeFile(join(dir, 'pids.max'), String(processes));
}

/** Makes the groups of one command; null: this machine does not let this process. */
export async function makeCgroup(limits: CgroupLimits): Promise<Cgroup | null> {
  const places = await cgroupPlaces();
  if (typeof places === 'string') return null;
  const name = newName();
  const groups = places.map((place) => ({ ...place, dir: join(place.parent, name) }));
  try {
    for (const group of groups) await makeGroup(group.dir, group, limits);
  } catch {
    await removeGroups(groups.map(({ dir }) => dir));
    return null;
  }
  const fileOf = (controller: Controller, file: (version: 1 | 2) => string): string => {
    const group = groups.find(({ controllers }) => controllers.includes(controller));
    return group === undefined ? '' : join(group.dir, file(group.version));
  };
  const oomFile = fileOf('memory', (version) => FILES[version].oom);
  const pidsFile = fileOf('pids', () => 'pids.events');
  return {
    wrap: (argv) => [
      '/bin/sh',
      '-c',
      `${groups.map((_, index) => `echo $$ 2>/dev/null >"$${index + 1}/cgroup.procs"; `).join('')}shift ${groups.length}; exec "$@"`,
      'sh',
      ...groups.map(({ dir }) => dir),
      ...argv,
    ],
    contains: async (pid) => {
      const joined = (await orNull(readFile(`/proc/${pid}/cgroup`, 'utf8'), GONE)) ?? '';
      return joined.split(`/${name}`).length - 1 === groups.length;
    },
    events: async () => ({
      oom: /^oom_kill [1-9]/m.test((await orNull(readFile(oomFile, 'utf8'), GONE)) ?? ''),
      pids: /^max [1-9]/m.test((await orNull(readFile(pidsFile, 'utf8'), GONE)) ?? ''),
    }),
    end: () => removeGroups(groups.map(({ dir }) => dir)),
  };
}
const GONE = [...UNREADABLE, 'ESRCH', 'ENODEV'];

/** The processes in it are dead, or about to be: their namespace ended with its first process. */
async function removeGroups(dirs: readonly string[]): Promise<void> {
  for (const dir of dirs)
    for (let tries = 0; tries < REMOVE_TRIES; tries++) {
      const result = await rmdir(dir).catch((error: unknown) => errnoOf(error));
      if (result !== 'EBUSY') break;
      await sleep(REMOVE_WAIT_MS);
    }
}

/** Returns what limits commands here, in words. */
export async function limitedBy(): Promise<string> {
  const places = await cgroupPlaces();
  return typeof places === 'string'
    ? `a monitor (${places})`
    : `control groups in ${places.map(({ parent }) => parent).join(' and ')}`;
}
