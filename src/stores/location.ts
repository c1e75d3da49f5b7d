/**
 * Finds the store of a home: the home itself, or a prefix of a bucket (`EMEND_STORE=s3://BUCKET/PREFIX`), which homes on several hosts share.
 * A directory that several hosts mount is no store (docs/decisions/0053).
 */
import { join } from 'node:path';
import { fail } from '../shared/problems.js';
import { shellWord } from '../shared/text.js';
import { freshId, homePaths, hostId, idIn, refuseNetworkHome } from './home.js';
import { orNull, onDisk, putJsonIfAbsent, readJson } from '../system/durable.js';
import { type Sys, realSys } from '../system/sys.js';
import { createArchive } from './directory/archive.js';
import { createBlobStore, diskFiles } from './directory/blobs.js';
import { createCallLog, createRecordStore } from './directory/records.js';
import type { Stores } from './ports.js';
import type { Objects } from './s3/index.js';
import type { Environment } from '../system/environment.js';

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

const unusable = (path: string, reason: string, next: string): never =>
  fail('store_unusable', `${path} cannot be Emend's store: ${reason}.`, next);

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

/** Opens the store of a home for activities and clients. */
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

/** Name of the object with the store's id. */
export const STORE_ID = 'store-id';
export const storeIdPath = (dir: string): string => `${dir}/${STORE_ID}`;

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

/** Refuses a directory as the store. `notePath` is the note that names it; null: `EMEND_STORE` names it. */
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
  // A bucket that is not the home's has no id, or another one. A damaged id is in the bucket that the home used before, and is known here.
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
