/** Tells apart the file systems over which there may be no overlay. */
import { statfs } from 'node:fs/promises';

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
