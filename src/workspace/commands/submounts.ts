/** Shows what is mounted on the machine below a directory that a sandbox shows: an overlay has only the files of one file system. */
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import type { Mounts } from './mounts.js';

/** File systems of the kernel's own, which hold no files of tools. */
const KERNEL_TYPES = new Set(
  (
    'proc sysfs devtmpfs devpts cgroup cgroup2 autofs mqueue debugfs tracefs securityfs pstore bpf fusectl configfs ' +
    'binfmt_misc nsfs rpc_pipefs efivarfs hugetlbfs'
  ).split(' '),
);

export async function showSubmounts(mounts: Mounts): Promise<void> {
  for (const point of await mountPoints()) mounts.showMountPoint(point);
}

/** Returns where file systems with files are mounted. */
async function mountPoints(): Promise<readonly string[]> {
  const table = (await readGivenText('/proc/self/mountinfo', UNREADABLE)) ?? '';
  return table.split('\n').flatMap((line) => {
    const fields = line.split(' ');
    const point = fields[4];
    const type = fields[fields.indexOf('-') + 1] ?? '';
    return point === undefined || KERNEL_TYPES.has(type) ? [] : [decoded(point)];
  });
}

/** The kernel writes a blank, a tab, a line feed and a backslash as three octal digits each, byte by byte. */
const decoded = (escaped: string): string =>
  escaped.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));
