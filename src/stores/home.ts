/**
 * Finds and checks the home (`EMEND_HOME`), which keeps all durable data of one host that belongs to no workspace. The home has code, prompts and
 * answers, so it must be this user's own directory.
 */
import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import {
  fail,
  problem,
  ProblemError,
  unknownVersion,
  VERSION,
  type Problem,
} from '../shared/problems.js';
import { orNull, putFileIfAbsent, ensureDir, replaceFile } from '../system/durable.js';
import { ABSENT } from '../system/given-file.js';
import { errnoOf, realSys, type Sys } from '../system/sys.js';
import { shellWord } from '../shared/text.js';
import type { Environment } from '../system/environment.js';
import { sha256 } from '../system/hash.js';
import { readMounts } from '../system/mount-info.js';
import {
  kindOfFileSystem,
  mountOf,
  mountWords,
  type MountedFileSystem,
} from '../system/mount-table.js';
import { learnHome } from '../system/programs.js';

const ELSEWHERE = 'Set EMEND_HOME to a writable directory.';

/** Returns the directory's absolute real path, created with mode 0700 if it was missing. */
const ownDirectory = async (sys: Sys, path: string): Promise<string> => {
  try {
    if ((await orNull(sys.stat(path))) === null) await ensureDir(sys, path);
    const stat = await sys.stat(path);
    if (stat.kind !== 'directory') return unusable(path, 'it is not a directory', ELSEWHERE);
    if (process.getuid !== undefined && stat.uid !== process.getuid())
      return unusable(
        path,
        `it belongs to user ${stat.uid}, not to you (${process.getuid()})`,
        ELSEWHERE,
      );
    if ((stat.mode & 0o022) !== 0)
      return unusable(path, 'other users can write to it', `Run: chmod go-w ${shellWord(path)}`);
    await sys.accessWrite(path);
    return await sys.realpath(path);
  } catch (error) {
    const code = errnoOf(error);
    if (code === null) throw error;
    return unusable(path, `${FAULTS[code] ?? 'a system call failed'} (${code})`, ELSEWHERE);
  }
};

/** Clauses for the failures of system calls. */
const FAULTS: Record<string, string> = {
  EROFS: 'its filesystem is read-only',
  EACCES: 'you cannot write there',
  EPERM: 'you cannot write there',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'it is a file or a broken link',
  ENOSPC: 'the disk is full',
};

/** Returns the path of the home, which need not exist: `EMEND_HOME`, else `$XDG_STATE_HOME/emend`, else `~/.local/state/emend`. */
export const homeLocation = (env: Environment): string => {
  const set = env.EMEND_HOME ?? '';
  if (set !== '') return resolve(set);
  const state = env.XDG_STATE_HOME ?? '';
  // The XDG specification requires that relative paths are ignored.
  if (isAbsolute(state)) return join(state, 'emend');
  const home = env.HOME ?? homedir();
  const next = 'Set HOME, or EMEND_HOME to a writable directory.';
  return isAbsolute(home)
    ? join(home, '.local', 'state', 'emend')
    : unusable(JSON.stringify(home), 'HOME is not an absolute path', next);
};

const unusable = (home: string, reason: string, next: string): never =>
  fail('home_unusable', `${home} cannot be Emend's home: ${reason}.`, next);

/**
 * Returns the home's absolute real path. A missing home is created with mode 0700.
 * Throws ProblemError `home_unusable` if it is a file, another user's, open to other writers, on a network file system, or cannot be written,
 * `version_unknown` if another version of Emend made it.
 */
export const resolveHome = async (env: Environment, sys: Sys = realSys): Promise<string> => {
  const home = await ownDirectory(sys, homeLocation(env));
  await refuseNetworkHome(home, sys);
  await checkHomeVersion(home, sys);
  learnHome(homePaths(home).repositories, homePaths(home).locks);
  return home;
};

// A home belongs to one host: its locks and recorded calls name processes of this machine.

/** Returns the mounts that hold a part of the home: of the home itself and below it. Empty: the system has no table of mounts. */
export const mountsOfHome = async (
  home: string,
  sys: Sys = realSys,
): Promise<readonly MountedFileSystem[]> => {
  const mounts = await readMounts(sys);
  const holding = mountOf(mounts, home);
  const below = mounts.filter(({ point }) => point.startsWith(`${home}/`));
  return holding === null ? below : [holding, ...below];
};

/** Throws ProblemError `home_unusable` if the home, or a part of it, is on a network file system. */
export const refuseNetworkHome = async (home: string, sys: Sys = realSys): Promise<void> => {
  const mounts = await mountsOfHome(home, sys);
  const remote = mounts.find((mount) => kindOfFileSystem(mount) === 'network');
  if (remote === undefined) return;
  unusable(
    home,
    `${remote.point.startsWith(`${home}/`) ? 'a part of it' : 'it'} is on a network file system: ${mountWords(remote)}`,
    'Set EMEND_HOME to a directory on a local disk. Several hosts share runs through a bucket: EMEND_STORE=s3://BUCKET/PREFIX.',
  );
};

/** Throws ProblemError `version_unknown` if another version of Emend made the home. */
export const checkHomeVersion = async (home: string, sys: Sys = realSys): Promise<void> => {
  await readIds(home, sys);
};

// An id file of a home or store has the version of its content, the id and a checksum. A home of another version is refused before anything in it
// is read, so it is never read in part. Without the checksum a damaged id would name the queue of another host.

const ID = /^\d+ ([0-9a-f]{32}) ([0-9a-f]{8})$/;
/** The part of an id file that all versions have in common. */
const VERSION_OF_ID = /^(\d+) [0-9a-f]{32}\b/;
const SUM_CHARS = 8; // bound: Hexadecimal digits of the checksum of an id.
const sumOfId = (id: string): string => sha256(`${VERSION} ${id}`).slice(0, SUM_CHARS);

export const freshId = (id = randomBytes(16).toString('hex')): Uint8Array =>
  new TextEncoder().encode(`${VERSION} ${id} ${sumOfId(id)}\n`);

/**
 * Returns the id in the bytes of an id file; null: they have none, or it is damaged. `what` names the place in a message, and `variable` is the
 * setting that chooses it. Throws ProblemError `version_unknown`.
 */
export const idIn = (bytes: Uint8Array, what: string, variable: string): string | null => {
  const text = new TextDecoder().decode(bytes).trim();
  const [, id = '', sum] = ID.exec(text) ?? [];
  if (sum === sumOfId(id)) return id;
  const v = Number(VERSION_OF_ID.exec(text)?.[1] ?? VERSION);
  if (v === VERSION) return null;
  const { code, message, next = '' } = unknownVersion(what, { v });
  return fail(code, message, `${next} Or set ${variable} to another directory.`);
};

/**
 * Returns a problem if the home has no data, for commands that only show or answer: they do not make a home, as it may be one that is not mounted.
 * Null: it has data, or a new home may show runs of an `EMEND_STORE`. Throws ProblemError `home_unusable`.
 */
export const absentHome = async (env: Environment, sys: Sys = realSys): Promise<Problem | null> => {
  if ((env.EMEND_STORE ?? '') !== '') return null;
  const home = homeLocation(env);
  const { hostId: own, hostIdCopy } = homePaths(home);
  const state = await sys.stat(own).then(() => null, errnoOf);
  if (state === null || (await orNull(sys.stat(hostIdCopy), ABSENT)) !== null) return null;
  // Another fault of the home is reported first.
  if (state !== 'ENOENT' || (await orNull(sys.stat(home), ['ENOENT', 'ENOTDIR'])) !== null)
    await resolveHome(env, sys);
  return problem(
    'home_unusable',
    `No runs yet: ${home} does not exist or contains no Emend data.`,
    'Start one with: emend run -m "what to change". If you expect runs, set EMEND_HOME to where they are, mount it or restore it.',
  );
};

/** Throws ProblemError `home_unusable` if the home has no data. */
export const requireHome = async (env: Environment, sys: Sys = realSys): Promise<void> => {
  const absent = await absentHome(env, sys);
  if (absent !== null) throw new ProblemError(absent);
};

/** Returns the paths of a home's own data; `storePaths` has those that homes may share. All but `hostId` are made when they are first needed. */
export const homePaths = (home: string) => ({
  home,
  hostId: join(home, 'host-id'),
  /** Copy of the same bytes: either file is written again from the other one. */
  hostIdCopy: join(home, 'host-id.copy'),
  /** Note of the store that the home uses; absent: the home is its own store. */
  storeNote: join(home, 'store.json'),
  transactions: join(home, 'transactions'),
  locks: join(home, 'locks'),
  /** Next to the home: mirrors and checkouts of remote repositories. */
  repositories: `${home}-repositories`,
  server: join(home, 'server'),
  /** Files that commands wrote instead of into a workspace. No other process needs them. */
  layers: join(home, 'layers'),
  /** Index of all runs for lists and searches, derived from the archive. */
  index: join(home, 'index'),
  /** Hashes of configuration files whose content may be a model's. */
  trust: join(home, 'trust'),
});

/** Returns the id in the home's file and the one in its copy; null: it is missing or damaged. `isThere`: at least one of the files exists. */
const readIds = async (home: string, sys: Sys) => {
  const { hostId: own, hostIdCopy } = homePaths(home);
  const [bytes, copy] = await Promise.all(
    [own, hostIdCopy].map((path) => orNull(sys.readFile(path), ABSENT)),
  );
  const idOf = (content: Uint8Array | null | undefined): string | null =>
    content == null ? null : idIn(content, `The home at ${home}`, 'EMEND_HOME');
  return { id: idOf(bytes), copy: idOf(copy), isThere: bytes !== null || copy !== null };
};

/** Returns whether no worker and no command has worked in the home before. */
export const isNewHome = async (home: string, sys: Sys = realSys): Promise<boolean> =>
  !(await readIds(home, sys)).isThere;

/**
 * Returns the host's own id (32 hexadecimal digits), which names its task queue. It is made once: host names are not unique and change. Either
 * the file or its copy may be lost or damaged.
 */
export const hostId = async (home: string, sys: Sys = realSys): Promise<string> => {
  const { id, copy, isThere } = await readIds(home, sys);
  if (id !== null && id === copy) return id;
  const { hostId: path, hostIdCopy } = homePaths(home);
  const known = id ?? copy;
  if (known === null && isThere)
    return unusable(
      home,
      `neither ${path} nor its copy contains the id of this host`,
      `Restore ${path}, or remove both if no run waits for this host.`,
    );
  const keep = async (): Promise<string> => {
    if (known === null) {
      const { bytes } = await putFileIfAbsent(sys, path, freshId());
      await putFileIfAbsent(sys, hostIdCopy, bytes);
      return hostId(home, sys);
    }
    if (id === null) await replaceFile(sys, path, freshId(known));
    await replaceFile(sys, hostIdCopy, freshId(known));
    return known;
  };
  return keep().catch((error: unknown) => {
    const code = errnoOf(error);
    if (code === null) throw error;
    return unusable(
      home,
      `its host id could not be saved at ${path} (${code})`,
      'Free disk space or fix the permissions.',
    );
  });
};

/** Gives the home the id of another home, which it replaces. No process may work with either of them meanwhile. */
export const takeHostId = async (home: string, id: string, sys: Sys = realSys): Promise<void> => {
  const { hostId: path, hostIdCopy } = homePaths(home);
  await replaceFile(sys, path, freshId(id));
  await replaceFile(sys, hostIdCopy, freshId(id));
};
