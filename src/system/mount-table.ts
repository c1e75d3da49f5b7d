/** Reads the kernel's table of mounts, and decides who answers for the files of a mount. Pure. */

export interface MountedFileSystem {
  /** Number of the device, as `8:1`: the same for all mounts of one file system. */
  readonly device: string;
  /** Directory of the file system that is mounted. */
  readonly root: string;
  /** Directory at which it is mounted. */
  readonly point: string;
  readonly type: string;
  /** Device, server or program that the mount names. */
  readonly source: string;
  /** Options of the file system, not of this mount. */
  readonly options: readonly string[];
}

/** Returns the file systems that a `/proc/<pid>/mountinfo` lists, in the order in which they were mounted. */
export const mountsIn = (table: string): readonly MountedFileSystem[] =>
  table.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , device = '', root, point] = before.split(' ');
    const [type = '', source = '', options = ''] = after.split(' ');
    if (root === undefined || point === undefined) return [];
    return [
      {
        device,
        root: decoded(root),
        point: decoded(point),
        type,
        source: decoded(source),
        options: options.split(','),
      },
    ];
  });

/** Decodes a path of the table: the kernel writes a blank, a tab, a line feed and a backslash as three octal digits each, byte by byte. */
const decoded = (escaped: string): string =>
  escaped.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));

/** Returns the mount that holds a path: the last one at the deepest directory. Null: the table is empty. */
export const mountOf = (
  mounts: readonly MountedFileSystem[],
  path: string,
): MountedFileSystem | null => {
  let deepest: MountedFileSystem | null = null;
  for (const mount of mounts) {
    const holds = `${path}/`.startsWith(mount.point === '/' ? '/' : `${mount.point}/`);
    if (holds && mount.point.length >= (deepest?.point.length ?? 0)) deepest = mount;
  }
  return deepest;
};

/**
 * `network`: another machine answers for the files. `program`: a program does, or the host of a virtual machine, with files from anywhere: a
 * disk of this machine as well as a network. `local`: a disk or the memory of this machine.
 */
export type FileSystemKind = 'local' | 'network' | 'program';

const NETWORK: ReadonlySet<string> = new Set(
  (
    'afs afpfs beegfs ceph cifs coda davfs fhgfs glusterfs gpfs lustre ncp ncpfs nfs nfs4 orangefs panfs pvfs2 ' +
    'smb smb2 smb3 smbfs wekafs'
  ).split(' '),
);
/** Programs that serve files of other machines through FUSE, by the names that they mount under. */
const NETWORK_PROGRAMS: ReadonlySet<string> = new Set(
  (
    'alluxio-fuse blobfuse blobfuse2 ceph ceph-fuse cephfs curlftpfs davfs gcsfuse geesefs glusterfs goofys ' +
    'google-drive-ocamlfuse hdfs httpfs juicefs lizardfs mfs moosefs mountpoint-s3 objectivefs rclone s3fs ' +
    'saunafs seaweedfs smbnetfs sshfs'
  ).split(' '),
);
/** `fuse*` also holds `fuseblk`, by which a program reads a disk. */
const PROGRAM = /^(9p|fakeowner|fuse|grpcfuse|osxfs|prl_fs|vboxsf|virtiofs|vmhgfs)/;

export const kindOfFileSystem = ({
  type,
  source,
}: Pick<MountedFileSystem, 'type' | 'source'>): FileSystemKind => {
  const [, program] = /^fuse(?:\.(.*))?$/.exec(type) ?? [null, null];
  if (NETWORK.has(type)) return 'network';
  if (type.startsWith('fuse') && NETWORK_PROGRAMS.has((program ?? source).toLowerCase()))
    return 'network';
  return PROGRAM.test(type) ? 'program' : 'local';
};

/** Returns the words by which a message names a mount, as "nfs4 (nas:/export), mounted at /mnt/home". */
export const mountWords = ({ type, source, point }: MountedFileSystem): string =>
  `${type}${source === '' || source === 'none' ? '' : ` (${source})`}, mounted at ${point}`;
