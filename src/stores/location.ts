/**
 * The store of a home: the home itself, or a prefix of a bucket (`EMEND_STORE=s3://BUCKET/PREFIX`), which homes on several hosts share.
 * A directory that several hosts mount is no store (docs/decisions/0053).
 */
import { join } from 'node:path';
import { fail } from '../shared/problems.js';
import { shellWord } from '../shared/text.js';
import { freshId, homePaths, hostId, idIn, refuseNetworkHome } from './home.js';
import { orNull, onDisk, putJsonIfAbsent, readJson } from '../system/durable.js';
import { errnoOf, type Sys, realSys } from '../system/sys.js';
import { createArchive } from './directory/archive.js';
import { createBlobStore, diskFiles } from './directory/blobs.js';
import { createCallLog, createRecordStore } from './directory/records.js';
import type { Stores } from './ports.js';
import type { Objects } from './s3/index.js';
import type { Environment } from '../system/environment.js';
import { randomBytes } from 'node:crypto';

export interface Store {
  /** Path of the home, or `s3://bucket/prefix`. */
  readonly dir: string;
  /** 32 hexadecimal digits: of the home its host id, of a bucket an id created with it. Workers with the same id use one store. */
  readonly id: string;
  /** Objects of the bucket; null: the home is the store. */
  readonly objects: Objects | null;
}

export const isBucket = (place: string): boolean => /^s3:/i.test(place);

/** A prefix of a bucket, with the id by which a home recognizes its store. */
interface Place {
  readonly dir: string;
  readonly idPath: string;
  readId(): Promise<Uint8Array | null>;
  putId(bytes: Uint8Array): Promise<Uint8Array>;
  /** Writes it again if it is damaged. */
  replaceId(bytes: Uint8Array): Promise<void>;
}

const bucketAt = (objects: Objects): Place => ({
  dir: objects.place.url,
  idPath: storeIdPath(objects.place.url),
  readId: () => objects.get(STORE_ID),
  putId: async (bytes) => (await objects.putIfAbsent(STORE_ID, bytes)).bytes,
  replaceId: async (bytes) => {
    await objects.put(STORE_ID, bytes);
  },
});

/** Content of `store.json`: the bucket that a home uses. */
type StoreNote = Readonly<Record<'id' | 'path', string>>;

/** Paths of the parts of a store. All but `planLog`, which is a file of the home, are directories or prefixes. */
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
 * Returns the store of a home: the bucket of `EMEND_STORE`, or the one that the home used before, or the home. Throws ProblemError
 * `home_unusable` if the home is on a network file system, `version_unknown` if another version of Emend created the store,
 * `store_unusable` if the store is a directory, cannot be written, differs from the one used before, or would hide runs that are in the home.
 */
export const resolveStore = async (
  env: Environment,
  home: string,
  sys: Sys = realSys,
): Promise<Store> => {
  // A program with a worker may name the home itself, so resolveHome has not seen it.
  await refuseNetworkHome(home, sys);
  const notePath = homePaths(home).storeNote;
  const note = await onDisk(`Reading ${notePath}`, () =>
    readJson<StoreNote>(sys, notePath, 'StoreNote'),
  );
  const setting = env.EMEND_STORE ?? '';
  if (setting === '' && note === null)
    return { dir: home, id: await hostId(home, sys), objects: null };
  const url = setting === '' ? (note?.path ?? '') : setting;
  if (!isBucket(url)) return refuseDirectory(url, setting === '' ? notePath : null);
  // The SDK is loaded only for a bucket.
  const objects = (await import('./s3/index.js')).objectsAt(url, env);
  const place = bucketAt(objects);
  if (note === null) await refuseOwnStore(home, place.dir, sys);
  else await refuseOther(home, note, place);
  const id = await storeId(place);
  const { value } = await onDisk(`Noting the store in ${home}`, () =>
    putJsonIfAbsent(sys, notePath, { id, path: place.dir } satisfies StoreNote),
  );
  if (value.id !== id) await refuseOther(home, value, place);
  return { dir: place.dir, id, objects };
};

/** Returns what activities and clients of a home work with. */
export const openStores = async (
  home: string,
  { objects }: Store,
  sys: Sys = realSys,
): Promise<Stores> => {
  if (objects !== null)
    return (await import('./s3/index.js')).s3Stores(objects, await hostId(home, sys));
  const paths = storePaths(home);
  return {
    blobs: createBlobStore({ dir: paths.blobs, sys }),
    records: createRecordStore({ dir: paths.records, sys }),
    archive: createArchive({ dir: paths.archive, sys }),
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

/** `notePath`: the note that names the directory; null: `EMEND_STORE` names it. */
const refuseDirectory = (directory: string, notePath: string | null): never => {
  const source = notePath ?? 'EMEND_STORE';
  return fail(
    'store_unusable',
    `${source} names ${JSON.stringify(directory)} as the store, expected s3://BUCKET or s3://BUCKET/PREFIX: hosts share a bucket, not a directory.`,
    notePath === null
      ? 'For one host type: unset EMEND_STORE (its home is then the store). For several hosts set it to s3://BUCKET/PREFIX.'
      : `Set EMEND_HOME to a new directory. Or, if no run of this home is open, type: rm ${shellWord(notePath)}`,
  );
};

/** Refuses a bucket without the home's store: taken for a new store, it would have every answer requested and paid again. */
const refuseOther = async (home: string, note: StoreNote, place: Place): Promise<void> => {
  const { dir } = place;
  const bytes = await onDisk(`Reading the store's id at ${dir}`, () => place.readId());
  const found = bytes === null ? null : asId(bytes, dir);
  if (found === note.id) return;
  // A bucket that is not the home's has no id, or another one. A damaged id is in the bucket of before: this home knows it.
  if (found === null && bytes !== null)
    return onDisk(`Writing the store's id at ${dir}`, () => place.replaceId(freshId(note.id)));
  const there = found === null ? 'there is no store' : `it contains store ${found.slice(0, 8)}`;
  unusable(
    dir,
    `${home} uses store ${note.id.slice(0, 8)} (last at ${note.path}), but ${there}`,
    `Set EMEND_STORE to its current place. To use another store, set another EMEND_HOME, or remove ${homePaths(home).storeNote} when no run of this home is open.`,
  );
};

/** Refuses a bucket for a home that contains runs: no command would show them. */
const refuseOwnStore = async (home: string, dir: string, sys: Sys): Promise<void> => {
  const names = ['blobs', 'records', 'calls', 'archive'];
  const own: string[] = [];
  for (const name of names)
    if ((await onDisk(`Looking into ${home}`, () => orNull(sys.stat(join(home, name))))) !== null)
      own.push(name);
  if (own.length === 0) return;
  unusable(
    dir,
    `${home} contains its own store (${own.join(', ')})`,
    'Finish its runs without EMEND_STORE, and set another EMEND_HOME for this store.',
  );
};

// A worker holds on to its home and its bucket. A home that was moved away, unmounted or emptied is not created again and gets no new host
// id: work waits until it is back.

const NEXT =
  'Restore the directory (or mount it) and answer `retry`; another home needs its own worker.';
const NEXT_OF_BUCKET = 'Restore the objects below this prefix and answer `retry`.';

/** A file or object whose content must stay the same while a worker runs. */
interface Mark {
  readonly path: string;
  readonly code: 'home_unusable' | 'store_unusable';
  readonly what: string;
  readonly next: string;
  read(): Promise<Uint8Array | null>;
}

const marksOf = (home: string, { dir, objects }: Store, sys: Sys): readonly Mark[] => {
  const hostIdPath = homePaths(home).hostId;
  const ofHome: Mark = {
    path: hostIdPath,
    code: 'home_unusable',
    what: `EMEND_HOME at ${home}`,
    next: NEXT,
    read: () => orNull(sys.readFile(hostIdPath), ['ENOENT', 'ENOTDIR']),
  };
  if (objects === null) return [ofHome];
  const ofBucket: Mark = {
    path: storeIdPath(dir),
    code: 'store_unusable',
    what: `EMEND_STORE at ${dir}`,
    next: NEXT_OF_BUCKET,
    read: () => objects.get(STORE_ID),
  };
  return [ofHome, ofBucket];
};

const contentOf = async (mark: Mark): Promise<string | null> => {
  const bytes = await mark.read();
  return bytes === null ? null : new TextDecoder().decode(bytes).trim();
};

const checkMark = async (mark: Mark, known: string | null | undefined): Promise<void> => {
  const { path, code, what, next } = mark;
  const content = await contentOf(mark).catch((error: unknown) => {
    const errno = errnoOf(error);
    if (errno === null) throw error;
    return fail(code, `${what} cannot be read (${errno} at ${path}).`, next);
  });
  if (content === null)
    fail(
      code,
      `${what} was removed or emptied while the worker ran: ${path} does not exist.`,
      next,
    );
  if (content !== known)
    fail(code, `${what} was replaced while the worker ran: ${path} has another id.`, next);
};

/** Requires that the home has its host id, and the store its own. */
export const guardHome = async (home: string, store: Store, sys: Sys) => {
  const marks = marksOf(home, store, sys);
  const known = await Promise.all(marks.map(contentOf));

  /** Used by all stores of the worker. It creates neither the home nor a directory above it. */
  const guarded: Sys = {
    ...sys,
    mkdir: async (path: string, mode: number) => {
      if (home !== path && !home.startsWith(`${path}/`)) return sys.mkdir(path, mode);
      // It existed when the worker started.
      throw Object.assign(new Error(`ENOENT: the home is gone, mkdir '${path}'`), {
        code: 'ENOENT',
        syscall: 'mkdir',
        path,
      });
    },
  };
  return {
    sys: guarded,
    /** Throws ProblemError `home_unusable` or `store_unusable` if one of them differs from what it was at the start. */
    check: async (): Promise<void> => {
      for (const [index, mark] of marks.entries()) await checkMark(mark, known[index]);
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
          'Use a service with conditional writes (If-None-Match).',
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
