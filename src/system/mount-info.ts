/** Asks the kernel where file systems are mounted for this process. */
import { readGivenText, UNREADABLE } from './given-file.js';
import { mountsIn } from './mount-table.js';

/** Returns the directories at which something is mounted for this process. */
export async function mountPoints(): Promise<readonly string[]> {
  const table = (await readGivenText('/proc/self/mountinfo', UNREADABLE)) ?? '';
  return mountsIn(table).map(({ point }) => point);
}
