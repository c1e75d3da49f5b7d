/** Asks the kernel which file systems are mounted for this process. */
import { orNull } from './durable.js';
import { mountsIn, type MountedFileSystem } from './mount-table.js';
import { realSys, type Sys } from './sys.js';

/** Returns the file systems that are mounted for this process. Empty: the system has no table of mounts, or does not show it. */
export async function readMounts(sys: Sys = realSys): Promise<readonly MountedFileSystem[]> {
  const table = await orNull(sys.readFile('/proc/self/mountinfo'), ['ENOENT', 'EACCES', 'EPERM']);
  return mountsIn(new TextDecoder().decode(table ?? undefined));
}

/** Returns the directories at which something is mounted for this process. */
export async function mountPoints(sys: Sys = realSys): Promise<readonly string[]> {
  return (await readMounts(sys)).map(({ point }) => point);
}
