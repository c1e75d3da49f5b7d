/**
 * The store: what all homes that work together share, one directory (`EMEND_STORE`, say on NFS) or a prefix of a bucket
 * (`s3://bucket/prefix`). Blobs, records, calls and archive are put-if-absent or have one writer a file, so that many hosts may write at
 * once. Unless set it is the home itself.
 */
import { join, resolve } from 'node:path';
import { fail } from '../shared/problems.js';
import { freshId, homePaths, hostId, idIn, ownDirectory } from './home.js';
import { orNull, onDisk, putFileIfAbsent, putJsonIfAbsent, readJson } from '../system/durable.js';
import { replayRedo } from '../system/redo.js';
import { errnoOf, type Sys, realSys } from '../system/sys.js';
import { createArchive } from './directory/archive.js';
import { createBlobStore, diskFiles } from './directory/blobs.js';
import { createCallLog, createRecordStore } from './directory/records.js';
import type { Stores } from './ports.js';
import type { Objects } from './s3/index.js';
import type { Environment } from '../system/environment.js';
import { randomBytes } from 'node:crypto';

export interface Store {
  /** Absolute real path, or `s3://bucket/prefix`. */
  readonly dir: string;
  /** 32 hex digits, made with the store: two paths are one store exactly if their ids are the same. */
  readonly id: string;
  /** It is not the home itself. */
  readonly apart: boolean;
  /** Only where it lies in a bucket. */
  readonly objects?: Objects;
}

export const isBucket = (place: string): boolean => /^s3:/i.test(place);

/** A directory or a prefix of a bucket, with the id by which a store is known again. */
interface Place {
  readonly dir: string;
  readonly objects?: Objects;
  /** Where the id lies. */
  readonly idPath: string;
  readId(): Promise<Uint8Array | null>;
  putId(bytes: Uint8Array): Promise<Uint8Array>;
}

const directoryAt = (dir: string, sys: Sys): Place => {
  const idPath = storeIdPath(dir);
  return {
    dir,
    idPath,
    readId: () => orNull(sys.readFile(idPath)),
    putId: async (bytes) => (await putFileIfAbsent(sys, idPath, bytes)).bytes,
  };
};

const bucketAt = async (url: string, env: Environment): Promise<Place> => {
  // The SDK is loaded for whoever works with a bucket.
  const objects = (await import('./s3/index.js')).objectsAt(url, env);
  return {
    dir: objects.place.url,
    objects,
    idPath: storeIdPath(objects.place.url),
    readId: () => objects.get(STORE_ID),
    putId: async (bytes) => (await objects.putIfAbsent(STORE_ID, bytes)).bytes,
  };
};

/** What a home keeps of the store apart from it, in `store.json`. */
type StoreNote = Readonly<Record<'id' | 'path', string>>;

/** Where what lies in a store, of either kind. All are directories but `planLog`, made when first needed. */
export const storePaths = (store: string) => ({
  blobs: `${store}/blobs`,
  records: `${store}/records`,
  calls: `${store}/calls`,
  archive: `${store}/archive`,
  planLog: join(store, 'logs', 'plan.log'),
});

const unusable = (path: string, why: string, next: string): never =>
  fail('store_unusable', `${path} cannot be Emend's store: ${why}.`, next);

/**
 * The store of a home: `EMEND_STORE`, else the one that the home worked with before, else the home. Throws ProblemError
 * `version_unknown` where another version of Emend made it, `store_unusable` where it cannot be written, is another one than before (a disk
 * that is not mounted) or another home, or where the home holds a store of its own that would be passed over. What a power cut took of the
 * home is brought back first.
 */
export const resolveStore = async (
  env: Environment,
  home: string,
  sys: Sys = realSys,
): Promise<Store> => {
  await replayRedo(sys, home);
  const path = homePaths(home).storeNote;
  const note = await onDisk(`Reading ${path}`, () => readJson<StoreNote>(sys, path, 'StoreNote'));
  const set = env.EMEND_STORE ?? '';
  const wanted = set === '' ? (note?.path ?? home) : isBucket(set) ? set : resolve(set);
  const place = isBucket(wanted)
    ? await bucketAt(wanted, env)
    : directoryAt(
        await ownDirectory(sys, wanted, 'Set EMEND_STORE to a writable directory.', unusable),
        sys,
      );
  const { dir, objects } = place;
  if (note === null && (wanted === home || dir === home))
    return { dir, id: await storeId(place), apart: false };
  // Its workers write what a power cut takes back until they start again, which other homes would not know of.
  if (objects === undefined && (await orNull(sys.stat(homePaths(dir).hostId))) !== null)
    return unusable(
      dir,
      'it is another home',
      'Set EMEND_STORE of both homes to a directory that is none.',
    );
  if (note === null) await refuseOwnStore(home, dir, sys);
  else await refuseOther(home, note, place);
  const id = await storeId(place);
  const { value } = await onDisk(`Noting the store in ${home}`, () =>
    putJsonIfAbsent(sys, path, { id, path: dir } satisfies StoreNote),
  );
  if (value.id !== id) await refuseOther(home, value, place);
  return { dir, id, apart: true, ...(objects && { objects }) };
};

/** What activities and clients of a home work with; each home appends to archives under its own name where others may write too. */
export const openStores = async (
  home: string,
  { dir, apart, objects }: Store,
  sys: Sys = realSys,
): Promise<Stores> => {
  if (objects !== undefined)
    return (await import('./s3/index.js')).s3Stores(objects, await hostId(home, sys));
  const paths = storePaths(dir);
  const writer = apart ? { writer: await hostId(home, sys) } : {};
  return {
    blobs: createBlobStore({ dir: paths.blobs, sys }),
    records: createRecordStore({ dir: paths.records, sys }),
    archive: createArchive({ dir: paths.archive, sys, ...writer }),
    calls: createCallLog({ dir: paths.calls, sys }),
    files: diskFiles,
  };
};

const STORE_ID = 'store-id';
const storeIdPath = (dir: string): string => `${dir}/${STORE_ID}`;

const storeId = async (place: Place): Promise<string> => {
  const { dir, idPath } = place;
  const kept = async () => (await readId(place)) ?? asId(await place.putId(freshId()), dir);
  const id = await onDisk(`Keeping the store's id at ${idPath}`, kept);
  return id ?? unusable(dir, `${idPath} contains no store id`, `Restore ${idPath} from a backup.`);
};

const readId = async (place: Place): Promise<string | null> => {
  const bytes = await place.readId();
  return bytes === null ? null : asId(bytes, place.dir);
};
const asId = (bytes: Uint8Array, dir: string): string | null =>
  idIn(bytes, `The store at ${dir}`, 'EMEND_STORE');

/** A store that is not mounted looks empty: taking it for a new one would ask and pay for everything again. */
const refuseOther = async (home: string, note: StoreNote, place: Place): Promise<void> => {
  const { dir } = place;
  const found = await onDisk(`Reading the store's id at ${dir}`, () => readId(place));
  if (found === note.id) return;
  const there = found === null ? 'there is no store' : `it contains store ${found.slice(0, 8)}`;
  unusable(
    dir,
    `${home} uses store ${note.id.slice(0, 8)} (last at ${note.path}), but ${there}`,
    `Mount it, or set EMEND_STORE to its current place; to use another store, set another EMEND_HOME or remove ${homePaths(home).storeNote} when no run of this home is open.`,
  );
};

/** Runs in the home's own store would be passed over without a word. */
const refuseOwnStore = async (home: string, dir: string, sys: Sys): Promise<void> => {
  const names = ['blobs', 'records', 'calls', 'archive'];
  const own: string[] = [];
  for (const name of names)
    if ((await onDisk(`Looking into ${home}`, () => orNull(sys.stat(join(home, name))))) !== null)
      own.push(name);
  if (own.length === 0) return;
  const list = own.length === 1 ? (own[0] ?? '') : `{${own.join(',')}}`;
  unusable(
    dir,
    `${home} contains its own store (${own.join(', ')})`,
    isBucket(dir)
      ? 'Finish its runs without EMEND_STORE, and set another EMEND_HOME for this store.'
      : `Stop its workers, then move it over: cp -an ${home}/${list} ${dir}/ && rm -r ${home}/${list}. Or set another EMEND_HOME.`,
  );
};

// A running worker's hold on its home and store: both must stay the directories that it started with. One that is moved away, not
// mounted any more or replaced by an empty one is neither made anew nor given a new host id: work waits until it is back.

const NEXT =
  'Restore the directory (or mount it) and answer `retry`; another home needs its own worker.';

/** To be made after the home has its host id and the store its own. */
export const guardHome = async (home: string, store: Store, sys: Sys) => {
  const marks = [
    { path: homePaths(home).hostId, code: 'home_unusable' as const, what: `EMEND_HOME at ${home}` },
    ...(store.apart
      ? [
          {
            path: storeIdPath(store.dir),
            code: 'store_unusable' as const,
            what: `EMEND_STORE at ${store.dir}`,
          },
        ]
      : []),
  ];
  const read = async (path: string): Promise<string | null> => {
    const bytes =
      store.objects !== undefined && path === storeIdPath(store.dir)
        ? await store.objects.get(STORE_ID)
        : await orNull(sys.readFile(path), ['ENOENT', 'ENOTDIR']);
    return bytes === null ? null : new TextDecoder().decode(bytes).trim();
  };
  const known = await Promise.all(marks.map(({ path }) => read(path)));
  const roots = [home, store.dir];

  /** For all stores of the worker: it makes no directory that holds the home or the store, nor these themselves. */
  const guarded: Sys = {
    ...sys,
    mkdir: async (path: string, mode: number) => {
      if (!roots.some((root) => root === path || root.startsWith(`${path}/`)))
        return sys.mkdir(path, mode);
      // It was there when the worker started.
      throw Object.assign(new Error(`ENOENT: the home or store is gone, mkdir '${path}'`), {
        code: 'ENOENT',
        syscall: 'mkdir',
        path,
      });
    },
  };
  return {
    sys: guarded,
    /** Throws ProblemError `home_unusable` or `store_unusable` where one of them is not what it was at the start. */
    check: async (): Promise<void> => {
      for (const [index, { path, code, what }] of marks.entries()) {
        const now = await read(path).catch((error: unknown) => {
          const errno = errnoOf(error);
          if (errno === null) throw error;
          return fail(code, `${what} cannot be read (${errno} at ${path}).`, NEXT);
        });
        if (now === null)
          fail(
            code,
            `${what} was removed or emptied while the worker ran: ${path} does not exist.`,
            NEXT,
          );
        if (now !== known[index])
          fail(code, `${what} was replaced while the worker ran: ${path} has another id.`, NEXT);
      }
    },
  };
};

// Whether a store does what everything relies on: of those who write one key at once, one wins, and all are told the same.

const WRITERS = 4; // bound: `emend doctor` has so many writers race in a store
const KEYS = 8; // bound: for each of so many keys.
const SLOW_MS = 250; // bound: A store in which one small write takes longer than this is reported as slow.

/** How long one write took, with nobody else; `slow`: it will be felt. Throws ProblemError `store_unusable`. */
export const tryStore = async (home: string, store: Store) => {
  const { records, files } = await openStores(home, store);
  const keys = Array.from({ length: KEYS + 1 }, () => `doctor/${randomBytes(8).toString('hex')}`);
  const [alone = '', ...raced] = keys;
  try {
    const before = performance.now();
    await records.putIfAbsent(alone, { writer: 0 });
    const ms = Math.round(performance.now() - before);
    await Promise.all(
      raced.map(async (key) => {
        const writers = Array.from({ length: WRITERS }, (_, writer) =>
          records.putIfAbsent(key, { writer }),
        );
        const told = await Promise.all(writers);
        const winners = told.flatMap(({ created }, writer) => (created ? [writer] : []));
        const stands: { readonly writer?: number } | null = await records.get(key);
        const same = told.every(({ value }) => value.writer === stands?.writer);
        if (winners.length === 1 && winners[0] === stands?.writer && same) return;
        fail(
          'store_unusable',
          `${store.dir}: of ${WRITERS} writers of one key at once, ${winners.length} won${same ? '' : ', and they received different values'}; exactly one must win.`,
          'Use a service with conditional writes (If-None-Match), or a file system with hard links.',
        );
      }),
    );
    return { ms, slow: ms > SLOW_MS };
  } finally {
    await Promise.allSettled(
      keys.map((key) => files.remove(`${storePaths(store.dir).records}/${key}.json`)),
    );
  }
};
