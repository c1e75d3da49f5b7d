import { expect, test } from '@jest/globals';
import {
  kindOfFileSystem,
  mountOf,
  mountsIn,
  mountWords,
  type FileSystemKind,
} from '../../src/system/mount-table.js';

const MOUNTS = mountsIn(
  [
    '22 1 254:0 / / rw,relatime - ext4 /dev/root rw',
    '36 22 0:31 / /mnt/a\\040b rw shared:2 master:1 - nfs4 server:/x\\040y rw,vers=4.2',
    '37 36 0:32 / /mnt/a\\040b/local rw - tmpfs tmpfs rw',
    '38 22 0:33 / /home rw - ext4 /dev/sdb rw',
    '39 38 0:34 / /home rw - fuse.sshfs host: rw',
    '',
  ].join('\n'),
);

test('a path is on the mount at its deepest directory, and on the last one there', () => {
  const typeAt = (path: string): string | undefined => mountOf(MOUNTS, path)?.type;
  expect(['/mnt/a b', '/mnt/a b/c', '/home/x'].map(typeAt)).toEqual(['nfs4', 'nfs4', 'fuse.sshfs']);
  expect(['/', '/mnt', '/mnt/a bc', '/mnt/a b/local/x', '/homes/x'].map(typeAt)).toEqual([
    'ext4',
    'ext4',
    'ext4',
    'tmpfs',
    'ext4',
  ]);
  expect(mountOf([], '/home')).toBeNull();
});

test('a message names type, source and directory of a mount', () => {
  const words = (path: string): string => mountWords(mountOf(MOUNTS, path)!);
  expect(words('/mnt/a b')).toBe('nfs4 (server:/x y), mounted at /mnt/a b');
  expect(mountWords({ ...MOUNTS[0]!, type: 'virtiofs', source: 'none', point: '/w' })).toBe(
    'virtiofs, mounted at /w',
  );
});

const KINDS: readonly (readonly [FileSystemKind, readonly string[]])[] = [
  [
    'network',
    [
      ...[
        'nfs nas:/x',
        'nfs4 nas:/x',
        'cifs //nas/x',
        'smb3 //nas/x',
        'ceph 10.0.0.1:/',
        'afs #root',
      ],
      ...[
        'lustre mgs@tcp:/x',
        'gpfs gpfs0',
        'beegfs beegfs_nodev',
        'glusterfs nas:/x',
        'coda none',
      ],
      ...['ncpfs nas/x', 'fuse.sshfs nas:', 'fuse.s3fs s3fs', 'fuse.glusterfs nas:/x'],
      ...[
        'fuse.rclone remote:',
        'fuse.ceph-fuse ceph-fuse',
        'fuse mountpoint-s3',
        'fuse.JuiceFS x',
      ],
    ],
  ],
  [
    // The file systems of Docker Desktop, WSL, virtual machines and gVisor, whose root is of the type 9p.
    'program',
    [
      ...['9p none', '9p drvfs', 'virtiofs share', 'fuse.grpcfuse grpcfuse', 'fakeowner /run/host'],
      ...['fuse.osxfs osxfs', 'vboxsf share', 'fuse.vmhgfs-fuse vmhgfs', 'prl_fs share'],
      ...['fuse.bindfs /home/x', 'fuse /dev/fuse', 'fuseblk /dev/sdb1'],
    ],
  ],
  [
    'local',
    ['ext4 /dev/vda', 'xfs /dev/sda', 'btrfs /dev/sda', 'zfs pool/x', 'overlay overlay', 'tmpfs t'],
  ],
];

test.each(KINDS.flatMap(([kind, mounts]) => mounts.map((mount) => [mount, kind] as const)))(
  '%s is of the kind %s',
  (mount, kind) => {
    const [type = '', source = ''] = mount.split(' ');
    expect(kindOfFileSystem({ type, source })).toBe(kind);
  },
);
