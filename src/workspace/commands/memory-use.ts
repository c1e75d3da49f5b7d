/**
 * Counts the memory of a sandbox from outside: private pages, shared memory in every form, and files that are in memory. Used if no control
 * group counts for us. It does not see the kernel's own memory (pipes, sockets, page tables), nor what is swapped out.
 */
import { readdir, readFile, readlink, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { orNull } from '../../system/durable.js';
import { mountsIn } from '../../system/mount-table.js';

const MIB = 1024 ** 2;
const PAGE_BYTES = 4096; // bound: Memory is counted in pages of this; where they are larger, too little is counted.
const BLOCK_BYTES = 512; // bound: Unit of `Stats.blocks`.
const KIB = 1024;
const INODE_BYTES = 1024; // bound: Memory of the kernel for a file in memory, even if it is empty (measured, decision 41).
const KERNEL_FACTOR = 1.5; // bound: That memory is at most this many times the part of it that the kernel counts as not reclaimable.

/** Errors for a process that ended in the meantime. */
const GONE = ['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'EINVAL', 'ENOTDIR'];
const textOf = async (path: string): Promise<string> =>
  (await orNull(readFile(path, 'utf8'), GONE)) ?? '';

/** Memory of the whole machine. */
export interface MachineMemory {
  /** Shared memory, with files in memory. */
  readonly shared_mib: number;
  /** Memory of the kernel that it cannot free, with what it needs for each file in memory. */
  readonly kernel_mib: number;
}
export async function machineMemory(): Promise<MachineMemory> {
  const table = await textOf('/proc/meminfo');
  const amountOf = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(table)?.[1] ?? 0) / KIB;
  return { shared_mib: amountOf('Shmem'), kernel_mib: amountOf('SUnreclaim') };
}

export interface Counted {
  /** Host path of the root that the sandbox sees. Its /proc lists the processes of the sandbox and no others. */
  readonly inside: string;
  /** Numbers of its processes, as /proc there lists them. */
  readonly pids: readonly string[];
  /** Memory of the machine before the command began. */
  readonly before: MachineMemory;
}

/** Returns the memory in MiB. Counts exactly only what could be over the limit: that takes a look at every open file and mapping. */
export async function memoryOf(counted: Counted, limit_mib: number): Promise<number> {
  const processes = counted.pids.map((pid) => join(counted.inside, 'proc', pid));
  let used = 0;
  for (const dir of processes) {
    const [, resident = 0, shared = 0] = (await textOf(join(dir, 'statm'))).split(' ').map(Number);
    used += ((resident - shared) * PAGE_BYTES) / MIB;
  }
  const machine = await machineMemory();
  const kernelGrowth_mib = Math.max(0, machine.kernel_mib - counted.before.kernel_mib);
  // All that is shared or in files is part of the machine's shared memory, and most of what files need in addition to their bytes is part of the kernel's.
  const most = used + machine.shared_mib + KERNEL_FACTOR * kernelGrowth_mib;
  if (used > limit_mib || most <= limit_mib) return used;
  const files = await inFiles(counted);
  if (used + files > limit_mib) return used + files;
  const shared = await sharedOf(processes);
  const known = used + files + shared.used_mib;
  // Pages that only a process which has ended touched are in no living one's share, but in the machine's.
  const growth = machine.shared_mib - counted.before.shared_mib - files - shared.used_mib;
  return known + Math.max(0, Math.min(growth, shared.mapped_mib - shared.used_mib));
}

/** Option of the overlays that bubblewrap's `--tmp-overlay` mounts. */
const THROW_AWAY_LAYER = 'upperdir=/tmp-overlay-upper-';

/** Returns what files in memory take: every tmpfs of the sandbox, and the upper layers of its throw-away overlays. */
async function inFiles({ inside, pids }: Counted): Promise<number> {
  const first = pids[0] ?? '1';
  const own = new Set(mountsIn(await textOf('/proc/self/mountinfo')).map(({ device }) => device));
  const tmpfs = new Map<string, string>();
  let overlays = 0;
  const table = await textOf(join(inside, 'proc', first, 'mountinfo'));
  for (const { device, point, type, options } of mountsIn(table)) {
    const path = join(inside, point);
    if (type === 'tmpfs' && !own.has(device)) tmpfs.set(device, path);
    // Bubblewrap keeps all these layers in one tmpfs, whose size each overlay reports as its own.
    if (type === 'overlay' && options.some((option) => option.startsWith(THROW_AWAY_LAYER)))
      overlays = Math.max(overlays, await usedOf(path));
  }
  const used = await Promise.all([...tmpfs.values()].map(usedOf));
  return overlays + used.reduce((sum, size) => sum + size, 0);
}

async function usedOf(path: string): Promise<number> {
  const space = await orNull(statfs(path), GONE);
  if (space === null) return 0;
  const { blocks, bfree, bsize, files, ffree } = space;
  return ((blocks - bfree) * bsize + (files - ffree) * INODE_BYTES) / MIB;
}

interface Shared {
  readonly used_mib: number;
  /** Size of the mappings of shared memory that has no file, each object once. */
  readonly mapped_mib: number;
}

/** Returns shared memory without a file in a mounted file system: anonymous, System V, memfd. */
async function sharedOf(processes: readonly string[]): Promise<Shared> {
  const open = new Map<string, number>();
  const mapped = new Map<string, { size_mib: number; share_mib: number }>();
  for (const dir of processes) {
    await addOpen(dir, open);
    await addMapped(dir, mapped);
  }
  let used_mib = 0;
  let mapped_mib = 0;
  for (const size of open.values()) used_mib += size;
  for (const [inode, { size_mib, share_mib }] of mapped) {
    if (open.has(inode)) continue;
    used_mib += share_mib;
    mapped_mib += size_mib;
  }
  return { used_mib, mapped_mib: mapped_mib + [...open.values()].reduce((a, b) => a + b, 0) };
}

/** Adds the memory behind open descriptors, by inode. It counts whether it is mapped or not. */
async function addOpen(dir: string, open: Map<string, number>): Promise<void> {
  for (const fd of (await orNull(readdir(join(dir, 'fd')), GONE)) ?? []) {
    const path = join(dir, 'fd', fd);
    const to = (await orNull(readlink(path), GONE)) ?? '';
    if (!to.startsWith('/memfd:')) continue;
    const file = await orNull(stat(path), GONE);
    if (file !== null) open.set(String(file.ino), (file.blocks * BLOCK_BYTES) / MIB);
  }
}

const MAPPING =
  /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ (\d+) +(?:\/memfd:.*|\/dev\/zero \(deleted\)|\/SYSV[0-9a-f]{8} \(deleted\))$/;

/** Adds what processes have touched of such memory, each page in equal shares, by inode. */
async function addMapped(
  dir: string,
  mapped: Map<string, { size_mib: number; share_mib: number }>,
): Promise<void> {
  let inode: string | null = null;
  for (const line of (await textOf(join(dir, 'smaps'))).split('\n')) {
    if (/^[0-9a-f]+-/.test(line)) inode = MAPPING.exec(line)?.[1] ?? null;
    if (inode === null) continue;
    const [, name, kib = ''] = /^(Size|Pss): +(\d+) kB/.exec(line) ?? [];
    if (name === undefined) continue;
    const known = mapped.get(inode) ?? { size_mib: 0, share_mib: 0 };
    const value = Number(kib) / KIB;
    mapped.set(
      inode,
      name === 'Size'
        ? { ...known, size_mib: Math.max(known.size_mib, value) }
        : { ...known, share_mib: known.share_mib + value },
    );
  }
}
