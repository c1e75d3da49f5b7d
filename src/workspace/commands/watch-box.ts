/** Watches a sandbox from outside: one that takes more of the machine than it may is ended as a whole. */
import { readdir, statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { orNull } from '../../system/durable.js';
import { OWN_TASKS, type Cgroup, type CgroupLimits } from './cgroup.js';
import { machineMemory, memoryOf, type MachineMemory } from './memory-use.js';
import { FORWARDER_MIB, FORWARDER_TASKS } from './network/index.js';
import { mostProcesses, type Box } from './sandbox.js';
import { TreeWatch, type Count } from './tree-size.js';

const MIB = 1024 ** 2;
const MEMORY_SHARE = 0.75; // bound: Of the machine's memory a command gets so much, unless `memory_mib` says otherwise.
const LEAST_FREE_MIB = 1_024; // bound: A command that fills the workspace's disk is ended before it has less free,
const MOST_WRITTEN_MIB = 32_768; // bound: or once it has so much less free than when the command began.

const LAYER_MIB = 32_768; // bound: A command writes at most so much to its layer, unless `disk_mib` gives another limit,
const LAYER_ENTRIES = 1_000_000; // bound: and makes at most so many files and directories there.
const MOST_MADE = 2_000_000; // bound: Once its file system has so many more files than when the command began, it is ended before they are counted,
const LEAST_FREE_FILES = 10_000; // bound: as it is before fewer files than these can be made there.
const FEW_FILES = 1_000; // bound: A command with which no more files than these came is not ended for that.

/** Amounts that a box may use; a test may give less. */
export type Allowance = Readonly<
  Record<
    | 'memory_mib'
    | 'processes'
    | 'leastFree_mib'
    | 'mostWritten_mib'
    | 'disk_mib'
    | 'entries'
    | 'leastFree_files'
    | 'mostMade_files',
    number
  >
> & {
  /** For Emend's own processes in the box, in addition. */
  readonly own: { readonly tasks: number; readonly memory_mib: number };
};

export const allowanceOf = ({
  settings,
  overlay,
}: Pick<Box, 'settings' | 'overlay'>): Allowance => {
  const disk_mib = settings.disk_mib ?? LAYER_MIB;
  return {
    memory_mib: settings.memory_mib ?? Math.floor((totalmem() * MEMORY_SHARE) / MIB),
    processes: mostProcesses(settings),
    leastFree_mib: LEAST_FREE_MIB,
    // Other programs also take space. The files of a layer can be counted instead.
    mostWritten_mib: overlay === undefined ? disk_mib : Math.max(MOST_WRITTEN_MIB, disk_mib),
    disk_mib,
    entries: LAYER_ENTRIES,
    leastFree_files: LEAST_FREE_FILES,
    mostMade_files: MOST_MADE,
    own:
      settings.network === false
        ? { tasks: 0, memory_mib: 0 }
        : { tasks: FORWARDER_TASKS, memory_mib: FORWARDER_MIB },
  };
};

interface Space {
  readonly free_mib: number;
  /** Files and directories that are there, and that still can be made; 0 and endless: the file system does not count them. */
  readonly files: number;
  readonly free_files: number;
}
/** Returns the space of the file system of a path. */
const spaceOf = async (path: string): Promise<Space> => {
  const { bavail, bsize, files, ffree } = await statfs(path);
  return {
    free_mib: (bavail * bsize) / MIB,
    files: files - ffree,
    free_files: files === 0 ? Infinity : ffree,
  };
};

type Reason = string | null;

/** Returns the limits that the kernel enforces if there is a control group for the box. */
export const groupLimits = ({ memory_mib, processes, own }: Allowance): CgroupLimits => ({
  memory_mib: memory_mib + own.memory_mib,
  processes: processes + own.tasks + OWN_TASKS,
});

export interface BoxWatch {
  /** For ProcessRequest.watch: returns why the box must be ended now. */
  readonly look: (status: string) => Promise<Reason>;
  /** Returns what the kernel did at a limit, after the end. */
  readonly result: () => Promise<{ readonly ended: Reason; readonly note: Reason }>;
  readonly end: () => Promise<void>;
}

/** Watches a box from before its start until `end`. */
export async function watchBox(
  { workspace, overlay }: Pick<Box, 'workspace' | 'overlay'>,
  allowed: Allowance,
  cgroup: Cgroup | null,
): Promise<BoxWatch> {
  const place = overlay?.upper ?? workspace;
  const spaceBefore = await spaceOf(place);
  const memoryBefore = await machineMemory();
  const limit = { bytes: allowed.disk_mib * MIB, entries: allowed.entries };
  const layer = overlay === undefined ? null : new TreeWatch(overlay.upper, limit);
  let isInGroup = false;
  /** An empty file takes no space, and a count of many takes long. */
  const hasManyNew = ({ files }: Space): boolean => files - spaceBefore.files > allowed.entries;
  return {
    look: async (status) => {
      // Bubblewrap reports the pid of the first process in the sandbox.
      const pid = /"child-pid":\s*(\d+)/.exec(status)?.[1];
      if (pid === undefined) return null;
      const space = await spaceOf(place);
      isInGroup ||= cgroup !== null && (await cgroup.contains(pid));
      return (
        (isInGroup
          ? await memoryProblem(cgroup, allowed)
          : await processProblem(`/proc/${pid}/root`, memoryBefore, allowed)) ??
        spaceProblem(spaceBefore, space, allowed) ??
        (layer === null ? null : layerProblem(layer.size(hasManyNew(space)), allowed))
      );
    },
    result: async () => ({
      ended:
        (await memoryProblem(cgroup, allowed)) ??
        (layer !== null && hasManyNew(await spaceOf(place))
          ? layerProblem(await layer.count(), allowed)
          : null),
      note:
        (await cgroup?.events())?.pids === true
          ? `a process could not be started; \`processes\` allows ${allowed.processes} (control group)`
          : null,
    }),
    end: async () => {
      layer?.end();
      await cgroup?.end();
    },
  };
}

/** Returns whether the kernel ended a process of the box for its memory. The rest of the box would work on with a part missing. */
const memoryProblem = async (cgroup: Cgroup | null, { memory_mib }: Allowance): Promise<Reason> =>
  (await cgroup?.events())?.oom === true
    ? `it used over ${memory_mib} MiB of memory; \`memory_mib\` allows ${memory_mib} (control group)`
    : null;

function spaceProblem(
  before: Space,
  space: Space,
  { mostWritten_mib, leastFree_mib, mostMade_files, leastFree_files }: Allowance,
): Reason {
  const written_mib = Math.round(before.free_mib - space.free_mib);
  const made_files = space.files - before.files;
  if (written_mib > mostWritten_mib)
    return `it wrote ${written_mib} MiB; \`disk_mib\` allows ${mostWritten_mib}`;
  if (space.free_mib < leastFree_mib && written_mib > leastFree_mib / 8)
    return `it wrote ${written_mib} MiB, and ${Math.round(space.free_mib)} MiB of disk space are left`;
  if (made_files > mostMade_files)
    return `its file system has ${made_files} more files than before; at most ${mostMade_files} are allowed`;
  return space.free_files < leastFree_files && made_files > FEW_FILES
    ? `its file system has ${made_files} more files than before, and only ${space.free_files} more can be made`
    : null;
}

function layerProblem(size: Count, { disk_mib, entries }: Allowance): Reason {
  if (size.isPartial)
    return 'it made a path of more than 4,095 bytes, below which files cannot be counted';
  if (size.bytes > disk_mib * MIB)
    return `it wrote ${Math.round(size.bytes / MIB)} MiB of files; \`disk_mib\` allows ${disk_mib}`;
  return size.entries > entries
    ? `it made ${size.entries} files and directories; at most ${entries} are allowed`
    : null;
}

const GONE = ['ENOENT', 'ESRCH', 'EACCES', 'EINVAL', 'ENOTDIR'];

/** Counts processes and memory. `inside` is the root that the box sees; its /proc lists the processes of the box and no others. */
async function processProblem(
  inside: string,
  before: MachineMemory,
  { processes, memory_mib, own }: Allowance,
): Promise<Reason> {
  const pids = ((await orNull(readdir(join(inside, 'proc')), GONE)) ?? []).filter((name) =>
    /^\d+$/.test(name),
  );
  if (pids.length > processes + own.tasks)
    return `it has ${pids.length} processes; \`processes\` allows ${processes}`;
  const limit_mib = memory_mib + own.memory_mib;
  const memory = await memoryOf({ inside, pids, before }, limit_mib);
  return memory > limit_mib
    ? `it uses ${Math.round(memory)} MiB of memory; \`memory_mib\` allows ${memory_mib}`
    : null;
}
