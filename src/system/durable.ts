/**
 * Writes small files of the stores durably: directories, files that are written once, and failures as problems. docs/durability.md has the
 * order of writes.
 */
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import {
  fail,
  ProblemError,
  problem,
  unversioned,
  versioned,
  versionOf,
} from '../shared/problems.js';
import { shellWord } from '../shared/text.js';
import { sealed, unsealed } from './sealed.js';
import { errnoOf, linksFail, type AppendSync, type Sys } from './sys.js';
import { isOfKind, storedKinds } from './version.js';

/** Returns a failed system call as the problem `disk`, with call, path and errno. Other errors (bugs, problems) are returned unchanged. */
export const asDiskProblem = (error: unknown, what: string): unknown => {
  const errno = errnoOf(error);
  if (errno === null || typeof error !== 'object' || error === null) return error;
  const call = 'syscall' in error && typeof error.syscall === 'string' ? ` (${error.syscall})` : '';
  const path = 'path' in error && typeof error.path === 'string' ? ` at ${error.path}` : '';
  return new ProblemError(
    problem('disk', `${what} failed${path}: ${errno}${call}.`, nextAfter(errno)),
  );
};

const NEXT_AFTER: ReadonlyMap<string, string> = new Map([
  [
    'ENAMETOOLONG',
    'The name or the path is too long for this file system. Choose a shorter one, then retry.',
  ],
  [
    'ENOENT',
    'The file, or a directory above it, does not exist. Correct the path or make the directory, then retry.',
  ],
  ['ENOTDIR', 'A file is in the path where a directory should be. Correct the path, then retry.'],
  ['EISDIR', 'The path is a directory. Name a file, then retry.'],
]);

/** Returns what to do after a failed system call if the problem `disk` has other advice. */
export const nextAfter = (errno: string): string | undefined => NEXT_AFTER.get(errno);

/** Runs `work`; a failed system call becomes the problem `disk`. `what` names the action and its path. */
export const onDisk = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw asDiskProblem(error, what);
  }
};

/** Returns the result of `work`; null if it fails with one of the codes, by default ENOENT. */
export const orNull = async <T>(
  work: Promise<T>,
  codes: readonly string[] = ['ENOENT'],
): Promise<T | null> => {
  try {
    return await work;
  } catch (error) {
    if (codes.includes(errnoOf(error) ?? '')) return null;
    throw error;
  }
};

/** Removes a name that may have been removed already. */
export const unlinkIfThere = async (sys: Sys, path: string): Promise<void> => {
  await orNull(sys.unlink(path));
};

/** Makes the directory and its missing parents durably. */
export const ensureDir = async (sys: Sys, path: string, mode = 0o700): Promise<void> => {
  try {
    await sys.mkdir(path, mode);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' && dirname(path) !== path) {
      await ensureDir(sys, dirname(path), mode);
      await orNull(sys.mkdir(path, mode), ['EEXIST']);
    } else if (code !== 'EEXIST' || (await sys.stat(path)).kind !== 'directory') throw error;
  }
  // This is needed also if another process made the directory, or one above it: it may have died before that was durable.
  await syncNewName(sys, path);
};

// bound: Names that this process has seen durable, remembered so that their directory is not synced again.
const REMEMBERED_NAMES = 10_000;
const NAME_LEVELS = 6; // bound: Directories above a file that are synced for it: no file of a home or store is deeper.
const durable = new Set<string>();

const remember = (path: string): void => {
  if (durable.size >= REMEMBERED_NAMES) durable.clear();
  durable.add(path);
};

/**
 * Makes the name durable, and those of the directories above it, up to one that this process has seen durable. None is remembered before all
 * are: after a failed sync the next call makes all of them again.
 */
export const syncName = async (sys: Sys, path: string): Promise<void> => {
  const names: string[] = [];
  for (let name = path; names.length < NAME_LEVELS && !durable.has(name); name = dirname(name)) {
    const sync = sys.fsyncDir(dirname(name)).then(() => true);
    if ((await orNull(sync, ['ENOENT', 'EACCES'])) === null) break;
    names.push(name);
  }
  for (const name of names) remember(name);
};

/** Makes the name durable that a file or directory just got, also if this process has seen another one durable under that name. */
export const syncNewName = (sys: Sys, path: string): Promise<void> => {
  durable.delete(path);
  return syncName(sys, path);
};

/** Makes the bytes and the name of an existing file durable, once for each process: its writer may have died before that. */
const syncFound = async (sys: Sys, path: string): Promise<void> => {
  if (durable.has(path)) return;
  await orNull(sys.fsyncFile(path));
  await syncName(sys, path);
};

/** Appends all bytes. Throws ENOSPC if the disk accepted only a part of them. */
export const appendAll = async (
  sys: Sys,
  path: string,
  bytes: Uint8Array,
  sync?: AppendSync,
): Promise<void> => {
  if ((await sys.append(path, bytes, sync)) < bytes.length)
    throw Object.assign(new Error('the disk accepted only a part'), {
      code: 'ENOSPC',
      syscall: 'write',
      path,
    });
};

/**
 * Returns a name for a temporary file that no other writer of the directory uses. It has upper case, so that it cannot be taken for a key,
 * which has lower case.
 */
export const tempName = (path: string): string =>
  `${path}.TMP-${process.pid}-${randomBytes(6).toString('hex')}`;

interface PutModes {
  readonly mode?: number | undefined;
  readonly dirMode?: number;
}

/** Runs `write`. If the directory of its file is missing, makes it and runs `write` again. */
export const makingDir = async <T>(
  sys: Sys,
  path: string,
  write: () => Promise<T>,
  dirMode?: number,
): Promise<T> => {
  const written = await orNull(write().then((value) => ({ value })));
  if (written !== null) return written.value;
  await ensureDir(sys, dirname(path), dirMode);
  return write();
};

export const writeTemp = async (
  sys: Sys,
  path: string,
  bytes: Uint8Array,
  { mode = 0o600, dirMode }: PutModes,
) => {
  const temp = tempName(path);
  const write = () => sys.writeExclusive(temp, bytes, { mode });
  await orDrop(sys, temp, makingDir(sys, path, write, dirMode));
  return temp;
};

/** Puts a whole file in the place of another one, durably. */
export const replaceFile = async (sys: Sys, path: string, bytes: Uint8Array): Promise<void> => {
  await sys.rename(await writeTemp(sys, path, bytes, {}), path);
  await sys.fsyncDir(dirname(path));
};

/** Removes the temporary file if `work` fails. A failed removal does not hide the first failure. */
const orDrop = <T>(sys: Sys, temp: string, work: Promise<T>): Promise<T> =>
  work.catch(async (error: unknown) => {
    await sys.unlink(temp).catch(() => undefined);
    throw error;
  });

/**
 * Writes a file that did not exist, whole or not at all, also if the process dies in between: temporary file, fsync, link, fsync of the
 * directory. Returns the bytes that are durable at the path: ours, or those of an earlier writer.
 */
export const putFileIfAbsent = async (
  sys: Sys,
  path: string,
  bytes: Uint8Array,
  modes: PutModes = {},
): Promise<{ readonly bytes: Uint8Array; readonly created: boolean }> => {
  const earlier = await orNull(sys.readFile(path));
  if (earlier !== null) {
    await syncFound(sys, path);
    return { bytes: earlier, created: false };
  }
  const temp = await writeTemp(sys, path, bytes, modes);
  const outcome = await orDrop(sys, temp, linkOrRead(sys, temp, path, { bytes, ...modes }));
  await unlinkIfThere(sys, temp);
  await (outcome.created ? syncNewName : syncFound)(sys, path);
  return outcome;
};

interface NewContent extends PutModes {
  readonly bytes: Uint8Array;
}

const linkOrRead = async (sys: Sys, temp: string, path: string, content: NewContent) => {
  const { bytes } = content;
  try {
    await sys.link(temp, path);
    return { bytes, created: true };
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return { bytes: await sys.readFile(path), created: false };
    if (!linksFail(error)) throw error;
    return claim(sys, temp, path, content);
  }
};

const claimOf = (path: string): string => `${path}.CLAIM`;
/** Removes the directory that claims the name on a file system without hard links. */
export const removeClaim = async (sys: Sys, path: string): Promise<void> => {
  await unlinkIfThere(sys, join(claimOf(path), 'value'));
  await orNull(sys.rmdir(claimOf(path)), ['ENOENT', 'ENOTEMPTY', 'EEXIST']);
};
/** Removes a file that was put and its claim, so that it can be put again. */
export const removePut = async (sys: Sys, path: string): Promise<void> => {
  await removeClaim(sys, path);
  await unlinkIfThere(sys, path);
};

/**
 * Puts a file on a file system without hard links. Renaming a directory onto one that is not empty fails everywhere, so the first directory
 * that holds a value wins. A copy of its value, the same for all writers, is then renamed to the path. A plain exclusive copy would show
 * readers half a value.
 */
const claim = async (sys: Sys, temp: string, path: string, { bytes, ...modes }: NewContent) => {
  const claimed = claimOf(path);
  const candidate = `${temp}.D`;
  await sys.mkdir(candidate, modes.dirMode ?? 0o700);
  await sys.writeExclusive(join(candidate, 'value'), bytes, { mode: modes.mode ?? 0o600 });
  await sys.fsyncDir(candidate);
  let created = true;
  try {
    await sys.rename(candidate, claimed);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(errnoOf(error) ?? '')) throw error;
    created = false;
    await unlinkIfThere(sys, join(candidate, 'value'));
    await sys.rmdir(candidate);
  }
  const value = await sys.readFile(join(claimed, 'value'));
  const copy = await writeTemp(sys, path, value, modes);
  await sys.rename(copy, path);
  return { bytes: value, created };
};

/** Throws ProblemError `disk` for a damaged file. `fault` is a clause that completes "it is damaged: …". */
export const damaged = (path: string, fault: string): never =>
  fail(
    'disk',
    `${path} is damaged: ${fault}.`,
    `Restore it from a backup, or look at what it is about and put it aside: mv ${shellWord(path)} ${shellWord(`${path}.damaged`)}`,
  );
/**
 * Returns the object of a stored JSON file, which carries the version of its format. `kind` is the name of its type in
 * docs/reference/archive.json. Throws ProblemError `version_unknown` if the version is another one, `disk` if the file is damaged.
 */
export const parseJson = (bytes: Uint8Array, path: string, kind?: string): object => {
  const parsed = unsealed(new TextDecoder().decode(bytes).replace(/\n$/, ''));
  if (parsed === 'torn') return damaged(path, 'it is no JSON');
  if (parsed === 'damaged') return damaged(path, 'its checksum does not match its content');
  const value =
    typeof versionOf(parsed) === 'number'
      ? unversioned(parsed, path)
      : damaged(path, 'it has no version');
  if (
    kind === undefined ||
    isOfKind((storedKinds().record as Record<string, unknown>)[kind] ?? 'none', value)
  )
    return value;
  return damaged(path, 'a field is missing or has the wrong type');
};

/**
 * Stores a value as JSON with `put`, which keeps the bytes of the first writer. Returns the stored value, which may be another writer's. Every
 * writer gets it as it is after JSON.
 */
export const putAsJson = async <T extends object>(path: string, value: T, put: PutIfAbsent) => {
  const { bytes, created } = await put(new TextEncoder().encode(`${sealed(versioned(value))}\n`));
  return { value: parseJson(bytes, path) as T, created };
};
type PutIfAbsent = (bytes: Uint8Array) => ReturnType<typeof putFileIfAbsent>;

export const putJsonIfAbsent = <T extends object>(
  sys: Sys,
  path: string,
  value: T,
  modes?: PutModes,
) => putAsJson(path, value, (bytes) => putFileIfAbsent(sys, path, bytes, modes));

/** Returns the JSON object of a file; null: there is none. See parseJson for `kind`. `oddIn` returns another fault of the value as a clause. */
export const readJson = async <T extends object>(
  sys: Sys,
  path: string,
  kind?: string,
  oddIn: (value: T) => string | null = () => null,
): Promise<T | null> => {
  const bytes = await orNull(sys.readFile(path));
  if (bytes === null) return null;
  const value = parseJson(bytes, path, kind) as T;
  const odd = oddIn(value);
  return odd === null ? value : damaged(path, odd);
};
