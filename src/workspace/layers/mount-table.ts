/** Reads which file systems are mounted where, for the reasons why there can be no overlay. */
import { readFile, statfs } from 'node:fs/promises';
import { ABSENT } from '../../system/given-file.js';
import { orNull } from '../../system/durable.js';
import { isWithin } from '../commands/mounts.js';

/** Magic numbers of statfs(2). */
const OVERLAY = 0x79_4c_76_30;
const REMOTE: Readonly<Record<number, string>> = {
  0x69_69: 'NFS',
  0x51_7b: 'SMB',
  0xfe_53_4d_42: 'SMB',
  0xff_53_4d_42: 'CIFS',
  0x01_02_19_97: '9p',
  0x65_73_55_46: 'FUSE',
  0x00_c3_64_00: 'Ceph',
  0x53_46_41_4f: 'AFS',
  0x78_6f_42_56: 'a VirtualBox share',
};

export interface FileSystem {
  readonly isOverlay: boolean;
  /** Name of a network file system, or of one that a program serves; null: it is neither. */
  readonly remote: string | null;
}

export async function fileSystemOf(path: string): Promise<FileSystem> {
  const { type } = await statfs(path);
  return { isOverlay: type === OVERLAY, remote: REMOTE[type] ?? null };
}

/** Returns the mount points of this process, in the order in which they were mounted. */
export async function mountPoints(): Promise<readonly string[]> {
  const table = (await orNull(readFile('/proc/self/mountinfo', 'utf8'), ABSENT)) ?? '';
  return table.split('\n').flatMap((line) => {
    const escaped = line.split(' ')[4];
    return escaped === undefined ? [] : [decoded(escaped)];
  });
}

/** The kernel writes a blank, a tab, a line feed and a backslash as three octal digits each, byte by byte. */
const decoded = (escaped: string): string =>
  escaped.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));

/** Returns the mount points at, above and below a path: a change among them may change whether there can be an overlay over it. */
export const around = (path: string, points: readonly string[]): readonly string[] =>
  points.filter((point) => isWithin(point, path) || isWithin(path, point));
