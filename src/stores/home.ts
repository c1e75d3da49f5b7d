/** `EMEND_HOME`: everything durable that belongs to one host and to no workspace. */
import { randomBytes } from 'node:crypto';
import { homedir, hostname } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import {
  fail,
  nullOn,
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
import { ownProcess } from '../system/process.js';
import { learnHome } from '../system/programs.js';
import type { RecordStore } from './ports.js';

// A directory of ours that holds code, prompts and answers: it must be this user's own.

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
    return unusable(path, `${WHY[code] ?? 'a system call failed'} (${code})`, ELSEWHERE);
  }
};

const WHY: Record<string, string> = {
  EROFS: 'its filesystem is read-only',
  EACCES: 'you cannot write there',
  EPERM: 'you cannot write there',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'it is a file or a broken link',
  ENOSPC: 'the disk is full',
};

/** Where the home is, whether or not it exists: `EMEND_HOME`, else `$XDG_STATE_HOME/emend`, else `~/.local/state/emend`. */
export const homeLocation = (env: Environment): string => {
  const set = env.EMEND_HOME ?? '';
  if (set !== '') return resolve(set);
  const state = env.XDG_STATE_HOME ?? '';
  // The XDG specification has relative paths ignored.
  if (isAbsolute(state)) return join(state, 'emend');
  const home = env.HOME ?? homedir();
  const next = 'Set HOME, or EMEND_HOME to a writable directory.';
  return isAbsolute(home)
    ? join(home, '.local', 'state', 'emend')
    : unusable(JSON.stringify(home), 'HOME is not an absolute path', next);
};

const unusable = (home: string, why: string, next: string): never =>
  fail('home_unusable', `${home} cannot be Emend's home: ${why}.`, next);

/**
 * The home's absolute real path, created with mode 0700 where it was missing.
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

/** Throws ProblemError `version_unknown` where another version of Emend made the home. */
export const checkHomeVersion = async (home: string, sys: Sys = realSys): Promise<void> => {
  await readIds(home, sys);
};

// ◆ The id of a home or store follows the version of its content: one of another version is refused before anything in it is read, so it
// is never read in part. A checksum follows the id, since a damaged one would name the queue of another host.

const ID = /^\d+ ([0-9a-f]{32}) ([0-9a-f]{8})$/;
/** What all versions have in common. */
const VERSION_OF_ID = /^(\d+) [0-9a-f]{32}\b/;
const SUM_CHARS = 8; // bound: Hexadecimal digits of the checksum of an id.
const sumOfId = (id: string): string => sha256(`${VERSION} ${id}`).slice(0, SUM_CHARS);

export const freshId = (id = randomBytes(16).toString('hex')): Uint8Array =>
  new TextEncoder().encode(`${VERSION} ${id} ${sumOfId(id)}\n`);

/** Null: it is no id, or damaged. Throws ProblemError `version_unknown`; `what` names the place and `variable` chooses it. */
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
 * For whoever only looks or answers: a home that holds nothing is not made, as it may also be one that is not mounted. Null: it holds
 * something, or there may be runs to see from a home that is new, as there is an `EMEND_STORE`. Throws ProblemError `home_unusable`.
 */
export const absentHome = async (env: Environment, sys: Sys = realSys): Promise<Problem | null> => {
  if ((env.EMEND_STORE ?? '') !== '') return null;
  const home = homeLocation(env);
  const { hostId: own, hostIdCopy } = homePaths(home);
  const state = await sys.stat(own).then(() => null, errnoOf);
  if (state === null || (await orNull(sys.stat(hostIdCopy), ABSENT)) !== null) return null;
  // What else may be wrong with it is said better than that it holds nothing.
  if (state !== 'ENOENT' || (await orNull(sys.stat(home), ['ENOENT', 'ENOTDIR'])) !== null)
    await resolveHome(env, sys);
  return problem(
    'home_unusable',
    `No runs yet: ${home} does not exist or contains no Emend data.`,
    'Start one with: emend run -m "what to change". If you expect runs, set EMEND_HOME to where they are, mount it or restore it.',
  );
};

/** Throws ProblemError `home_unusable` where it is absent. */
export const requireHome = async (env: Environment, sys: Sys = realSys): Promise<void> => {
  const absent = await absentHome(env, sys);
  if (absent !== null) throw new ProblemError(absent);
};

/** Where what lies in a home, apart from what homes may share (`storePaths`). All but `hostId` are made when first needed. */
export const homePaths = (home: string) => ({
  home,
  hostId: join(home, 'host-id'),
  /** The same bytes: either file is written again from the other one. */
  hostIdCopy: join(home, 'host-id.copy'),
  /** Which store apart from the home it works with; absent where it is its own. */
  storeNote: join(home, 'store.json'),
  transactions: join(home, 'transactions'),
  locks: join(home, 'locks'),
  /** Next to the home: mirrors and checkouts of remote repositories. */
  repositories: `${home}-repositories`,
  server: join(home, 'server'),
  /** What commands wrote instead of a workspace; nothing in it is needed by another process. */
  layers: join(home, 'layers'),
  /** What lists and searches read of all runs, derived from the archive. */
  index: join(home, 'index'),
  /** Which contents of configuration files may be a model's. */
  trust: join(home, 'trust'),
});

/** The id in the home's file and in its copy. Null: that one is missing or damaged; `isThere`: one of the files is. */
const readIds = async (home: string, sys: Sys) => {
  const { hostId: own, hostIdCopy } = homePaths(home);
  const [bytes, copy] = await Promise.all(
    [own, hostIdCopy].map((path) => orNull(sys.readFile(path), ABSENT)),
  );
  const idOf = (content: Uint8Array | null | undefined): string | null =>
    content == null ? null : idIn(content, `The home at ${home}`, 'EMEND_HOME');
  return { id: idOf(bytes), copy: idOf(copy), isThere: bytes !== null || copy !== null };
};

/** True: no worker and no command has worked in the home. */
export const isNewHome = async (home: string, sys: Sys = realSys): Promise<boolean> =>
  !(await readIds(home, sys)).isThere;

/**
 * ◆ The host's own id (32 hex digits), which names its task queue. Made once; host names are not unique and change. Of the file and its
 * copy either may be lost or damaged.
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

/** Gives the home another id: it takes the place of the home that had it. To be called where neither is worked with. */
export const takeHostId = async (home: string, id: string, sys: Sys = realSys): Promise<void> => {
  const { hostId: path, hostIdCopy } = homePaths(home);
  await replaceFile(sys, path, freshId(id));
  await replaceFile(sys, hostIdCopy, freshId(id));
};

// The hosts of a store, by the records of their workers' starts: the home's id, which names its task queue, and the machine that it is on.

/** A machine as it runs: its name for people, an id that stays, and one for each boot (`-`: it has none), which its containers share. */
export type Machine = Readonly<Record<'name' | 'id' | 'boot', string>>;
/** A start of a worker. `machine` and `boot`: 8 hex digits for the machine, or this boot of it, and this very home there (a copy has others). */
export interface HostStart {
  readonly name: string;
  readonly machine: string;
  readonly boot: string;
  /** Which code it ran. */
  readonly build: string;
  /** ISO time: the first start of those that are alike. */
  readonly at: string;
}
/** `starts`: how many are recorded. */
type KnownHost = HostStart & { readonly starts: number };

const NAME = /^([0-9a-f]{32})\.(\d{6,})\.json$/;
const keyOf = (id: string, start: number): string =>
  `hosts/${id}.${String(start).padStart(6, '0')}`;

const machineOf = async (sys: Sys): Promise<Machine> => {
  const id = await orNull(sys.readFile('/etc/machine-id'), ['ENOENT', 'EACCES']);
  const { boot } = await ownProcess(sys);
  return {
    name: hostname(),
    boot,
    id: id === null ? hostname() : new TextDecoder().decode(id).trim(),
  };
};

/** To be made after the home has its id. `build`: which code starts. */
export const startOn = async (
  sys: Sys,
  home: string,
  build: string,
  given?: Machine,
): Promise<HostStart> => {
  const { name, boot, id } = given ?? (await machineOf(sys));
  // The number of the file, without that of its device, which a boot may change.
  const own = (await sys.stat(homePaths(home).hostId)).id.replace(/^.*:/, '');
  const mark = (of: string): string => sha256(`${of} ${own}`).slice(0, 8);
  return {
    name,
    machine: mark(id),
    boot: mark(boot === '-' ? id : boot),
    build,
    at: new Date().toISOString(),
  };
};

/** Records are written once: each is read once by a process. */
const read = new WeakMap<RecordStore, Map<string, object>>();

/** The last start of each host that ever was one of this store's, by the host's id; of one whose record is damaged the number alone. */
export const knownHosts = async (records: RecordStore): Promise<ReadonlyMap<string, KnownHost>> => {
  const starts = new Map<string, number>();
  for (const name of await records.names('hosts')) {
    const [, id = '', start = ''] = NAME.exec(name) ?? [];
    if (id !== '') starts.set(id, Math.max(starts.get(id) ?? 0, Number(start)));
  }
  const cache = read.get(records) ?? new Map<string, object>();
  read.set(records, cache);
  const known = [...starts].map(async ([id, last]) => {
    const key = keyOf(id, last);
    const found = () =>
      records.get<HostStart>(key, 'HostStart').catch(nullOn('version_unknown', 'disk'));
    const start = cache.get(key) ?? (await found()) ?? {};
    cache.set(key, start);
    return [id, { ...(start as HostStart), starts: last }] as const;
  });
  return new Map(await Promise.all(known));
};

/** Keeps the start unless it is like the one before. False: another start came between `before` and this one. */
export const recordStart = async (
  records: RecordStore,
  id: string,
  start: HostStart,
  before?: KnownHost,
) => {
  const facts = ({ name, machine, boot, build }: HostStart): string =>
    JSON.stringify([name, machine, boot, build]);
  if (before !== undefined && facts(before) === facts(start)) return true;
  return (await records.putIfAbsent(keyOf(id, (before?.starts ?? 0) + 1), start)).created;
};
