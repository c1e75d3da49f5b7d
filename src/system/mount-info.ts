/** Reads where file systems are mounted, from the kernel's table for a process. */
import { readGivenText, UNREADABLE } from './given-file.js';

export interface MountedFileSystem {
  /** Number of the device, as `8:1`: the same for all mounts of one file system. */
  readonly device: string;
  /** Directory of the file system that is mounted. */
  readonly root: string;
  /** Directory at which it is mounted. */
  readonly point: string;
  readonly type: string;
  /** Options of the file system, not of this mount. */
  readonly options: readonly string[];
}

/** Returns the file systems that a `/proc/<pid>/mountinfo` lists, in the order in which they were mounted. */
export const mountsIn = (table: string): readonly MountedFileSystem[] =>
  table.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , device = '', root, point] = before.split(' ');
    const [type = '', , options = ''] = after.split(' ');
    return root === undefined || point === undefined
      ? []
      : [{ device, root: decoded(root), point: decoded(point), type, options: options.split(',') }];
  });

/** The kernel writes a blank, a tab, a line feed and a backslash as three octal digits each, byte by byte. */
const decoded = (escaped: string): string =>
  escaped.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));

/** Returns the directories at which something is mounted for this process. */
export async function mountPoints(): Promise<readonly string[]> {
  const table = (await readGivenText('/proc/self/mountinfo', UNREADABLE)) ?? '';
  return mountsIn(table).map(({ point }) => point);
}
