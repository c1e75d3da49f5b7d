/** Looks after a sandbox from outside: one that takes more of the machine than it may is ended as a whole. */
import { readdir, readFile, statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { orNull } from '../../system/durable.js';
import { mostProcesses, type Box } from './sandbox.js';

const MIB = 1024 ** 2;
const MEMORY_SHARE = 0.75; // bound: Of the machine's memory a command gets so much, unless `memory_mib` says otherwise.
const PAGE_BYTES = 4096; // bound: Memory is counted in pages of this; where they are larger, too little is counted.
const LEAST_FREE_MIB = 1_024; // bound: A command that fills the workspace's disk is ended before it has less free,
const MOST_WRITTEN_MIB = 32_768; // bound: or once it has so much less free than when the command began.

/** What a box may use; a test may say less. */
export type Allowance = Readonly<Record<'memory_mib' | 'processes' | 'leastFree_mib' | 'mostWritten_mib', number>>;
export const allowanceOf = ({ settings }: Pick<Box, 'settings'>): Allowance => ({
  memory_mib: settings.memory_mib ?? Math.floor((totalmem() * MEMORY_SHARE) / MIB),
  processes: mostProcesses(settings),
  leastFree_mib: LEAST_FREE_MIB,
  mostWritten_mib: MOST_WRITTEN_MIB,
});

/** Of the file system of a path, in MiB. */
const spaceOf = async (path: string) => {
  const { blocks, bfree, bavail, bsize } = await statfs(path);
  return { free: (bavail * bsize) / MIB, used: ((blocks - bfree) * bsize) / MIB };
};

/**
 * For ProcessRequest.watch. Bubblewrap tells the pid of the sandbox's first process; what that one has mounted as /proc lists the
 * processes of the sandbox and no others.
 */
export const watchBox = async ({ workspace }: Pick<Box, 'workspace'>, allowed: Allowance) => {
  const { free: freeAtFirst } = await spaceOf(workspace);
  return async (told: string): Promise<string | null> => {
    const pid = /"child-pid":\s*(\d+)/.exec(told)?.[1];
    if (pid === undefined) return null;
    const { free } = await spaceOf(workspace);
    const written = freeAtFirst - free;
    if (written > allowed.mostWritten_mib || (free < allowed.leastFree_mib && written > allowed.leastFree_mib / 8))
      return `it wrote ${Math.round(written)} MiB, and ${Math.round(free)} MiB of disk space are left`;
    const inside = `/proc/${pid}/root`;
    const gone = ['ENOENT', 'ESRCH', 'EACCES', 'EINVAL', 'ENOTDIR'];
    const pids = ((await orNull(readdir(join(inside, 'proc')), gone)) ?? []).filter((name) => /^\d+$/.test(name));
    if (pids.length > allowed.processes)
      return `it has ${pids.length} processes; \`processes\` allows ${allowed.processes}`;
    let memory = 0;
    for (const each of pids) {
      const statm = await orNull(readFile(join(inside, 'proc', each, 'statm'), 'utf8'), gone);
      const [, resident = 0, shared = 0] = (statm ?? '').split(' ').map(Number);
      memory += ((resident - shared) * PAGE_BYTES) / MIB;
    }
    // What is written to them is memory, too.
    for (const place of ['tmp', 'dev/shm', 'run'])
      memory += (await orNull(spaceOf(join(inside, place)), gone))?.used ?? 0;
    return memory > allowed.memory_mib
      ? `it uses ${Math.round(memory)} MiB of memory; \`memory_mib\` allows ${allowed.memory_mib}`
      : null;
  };
};
