/** Reads where file systems are mounted on the machine: the kernel refuses an overlay of a directory below which something is mounted. */
import { readGivenText, UNREADABLE } from '../../system/given-file.js';

export async function mountPoints(): Promise<readonly string[]> {
  const table = (await readGivenText('/proc/self/mountinfo', UNREADABLE)) ?? '';
  return table.split('\n').flatMap((line) => {
    const point = line.split(' ')[4];
    return point === undefined ? [] : [decoded(point)];
  });
}

/** The kernel writes a blank, a tab, a line feed and a backslash as three octal digits each, byte by byte. */
const decoded = (escaped: string): string =>
  escaped.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));
