/**
 * Has the system calls that every durable write uses. They are few and thin, so that a test can count them, kill the process before or after any
 * of them, and make any of them fail. All of them throw Node's errno errors.
 */
import { constants, type BigIntStats } from 'node:fs';
import { STORE_BOUNDS } from '../shared/bounds.js';
import * as fs from './fs.js';

export interface FileStat {
  readonly kind: 'file' | 'directory' | 'symlink' | 'other';
  /** Permission and special bits (0o7777). */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Device and inode: the same for two names of one file. */
  readonly id: string;
  /** Nanoseconds since 1970 at which the inode last changed (renames count on Linux). */
  readonly changed_ns: bigint;
}

/** `bytes` is null if the path is no regular file, or is too large to be a target. Symbolic links are never followed. */
interface FileRead {
  readonly stat: FileStat;
  readonly bytes: Uint8Array | null;
}

/** Leaves the sync of the appended bytes to the next append to the same file. A power cut before that may lose them. */
export type AppendSync = 'with_next_append';

interface NewFile {
  /** Exact permission and special bits, whatever the umask. */
  readonly mode: number;
  /** Owner, set if this user may do so: only root can give files away. */
  readonly owner?: { readonly uid: number; readonly gid: number };
}

export interface Sys {
  /** Creates the file (EEXIST if the path is taken), writes all bytes, sets its mode last, fsyncs it. */
  writeExclusive(path: string, bytes: Uint8Array, file: NewFile): Promise<void>;
  /** Does the same as writeExclusive with the bytes of another file. The copy has the mode 0600 until it is complete. */
  copyExclusive(from: string, to: string, file: NewFile): Promise<void>;
  /**
   * Makes one write with O_APPEND, to a new file of mode 0600 if there is none, then fsyncs it unless `sync` is given. Returns the number of
   * bytes written, which may be less on a full disk.
   */
  append(path: string, bytes: Uint8Array, sync?: AppendSync): Promise<number>;
  rename(from: string, to: string): Promise<void>;
  /** Gives a file a second name; EEXIST if the path is taken. Never follows symbolic links. */
  link(existing: string, path: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** Unlinks the name, then returns the bytes of the file, with those that a writer with an open handle added until then. */
  unlinkReading(path: string): Promise<Uint8Array>;
  mkdir(path: string, mode: number): Promise<void>;
  rmdir(path: string): Promise<void>;
  lstat(path: string): Promise<FileStat>;
  stat(path: string): Promise<FileStat>;
  /** Returns the whole file, following links. For our own files. */
  readFile(path: string): Promise<Uint8Array>;
  /** Returns the file's last byte; null: the file is empty. */
  lastByte(path: string): Promise<number | null>;
  /** Returns the whole file without following a link at the end of its path. For files of a workspace. */
  readEntry(path: string): Promise<FileRead>;
  readdir(path: string): Promise<readonly string[]>;
  readlink(path: string): Promise<string>;
  realpath(path: string): Promise<string>;
  /** Sets the time of the last write to now. */
  touch(path: string): Promise<void>;
  /** Opens the file for writing and leaves it as it is; never follows symbolic links. */
  openToWrite(path: string): Promise<void>;
  /** Succeeds if we may write to the path (EACCES, EROFS otherwise). */
  accessWrite(path: string): Promise<void>;
  /** Makes the bytes of a file of ours durable. */
  fsyncFile(path: string): Promise<void>;
  /** Makes creations, renames and removals in the directory durable. */
  fsyncDir(path: string): Promise<void>;
}

/** Returns the errno code of a failed system call; null for any other error. It looks at the shape: an error may come from another realm. */
export const errnoOf = (error: unknown): string | null => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : null;
};

/** Codes by which file systems report that they have no hard links (or none for this file). */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK'];
export const linksFail = (error: unknown): boolean => NO_LINKS.includes(errnoOf(error) ?? '');

const kindOf = (stat: BigIntStats): FileStat['kind'] => {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  return stat.isSymbolicLink() ? 'symlink' : 'other';
};

const toStat = (stat: BigIntStats): FileStat => ({
  kind: kindOf(stat),
  mode: Number(stat.mode & 0o7777n),
  uid: Number(stat.uid),
  gid: Number(stat.gid),
  size: Number(stat.size),
  id: `${String(stat.dev)}:${String(stat.ino)}`,
  changed_ns: stat.ctimeNs,
});

/** Sets owner and mode of a new file, and makes its bytes durable. */
const finishNew = async (fd: number, file: NewFile): Promise<void> => {
  let { mode } = file;
  if (file.owner !== undefined) {
    const { uid, gid } = file.owner;
    // Without the right to give files away the file is ours; its bytes and permissions matter more than its owner.
    await fs.fchown(fd, uid, gid).catch((error: unknown) => {
      if (!['EPERM', 'EINVAL', 'ENOTSUP', 'ENOSYS'].includes(errnoOf(error) ?? '')) throw error;
      // Set-user-id would give the rights of another owner.
      mode &= 0o777;
    });
  }
  // The mode comes after the owner: a change of the owner clears the special bits.
  await fs.fchmod(fd, mode);
  await fs.fsync(fd);
};

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export const realSys: Sys = {
  writeExclusive: (path, bytes, file) =>
    fs.withFile(path, CREATE, 0o600, async (fd) => {
      await fs.writeAll(fd, bytes);
      await finishNew(fd, file);
    }),
  copyExclusive: async (from, to, file) => {
    await realSys.writeExclusive(to, await fs.withFile(from, READ, 0, fs.readAll), file);
  },
  append: (path, bytes, sync) =>
    fs.withFile(
      path,
      constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND,
      0o600,
      async (file) => {
        const written = await fs.write(file, bytes);
        if (sync === undefined) await fs.fsync(file);
        return written;
      },
    ),
  rename: (from, to) => fs.rename(from, to),
  link: (existing, path) => fs.link(existing, path),
  unlink: (path) => fs.unlink(path),
  unlinkReading: (path) =>
    fs.withFile(path, READ, 0, async (file) => {
      await fs.unlink(path);
      return fs.readAll(file);
    }),
  mkdir: async (path, mode) => {
    await fs.mkdir(path, { mode });
  },
  rmdir: (path) => fs.rmdir(path),
  lstat: async (path) => toStat(await fs.lstat(path, { bigint: true })),
  stat: async (path) => toStat(await fs.stat(path, { bigint: true })),
  readFile: (path) => fs.readFile(path),
  lastByte: (path) =>
    fs.withFile(path, constants.O_RDONLY, 0, async (file) => {
      const { size } = await fs.fstat(file);
      if (size === 0) return null;
      const byte = new Uint8Array(1);
      await fs.read(file, byte, size - 1);
      return byte[0] ?? null;
    }),
  readEntry: async (path) => {
    try {
      return await fs.withFile(path, READ, 0, async (file) => {
        const stat = toStat(await fs.fstat(file, { bigint: true }));
        const small = stat.kind === 'file' && stat.size <= STORE_BOUNDS.target_bytes;
        return { stat, bytes: small ? await fs.readAll(file) : null };
      });
    } catch (error) {
      // A link at the end (ELOOP, EMLINK on BSD) or a socket (ENXIO) cannot be opened. The caller sees its kind.
      if (!['ELOOP', 'EMLINK', 'ENXIO', 'EOPNOTSUPP'].includes(errnoOf(error) ?? '')) throw error;
      return { stat: await realSys.lstat(path), bytes: null };
    }
  },
  readdir: (path) => fs.readdir(path),
  readlink: (path) => fs.readlink(path),
  realpath: (path) => fs.realpath(path),
  touch: (path) => {
    const time_s = Date.now() / 1000;
    return fs.utimes(path, time_s, time_s);
  },
  openToWrite: (path) =>
    fs.withFile(path, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0, () =>
      Promise.resolve(),
    ),
  accessWrite: (path) => fs.access(path, constants.W_OK | constants.X_OK),
  fsyncFile: (path) => fs.withFile(path, READ, 0, fs.fsync),
  fsyncDir: (path) => fs.withFile(path, constants.O_RDONLY | constants.O_DIRECTORY, 0, fs.fsync),
};
