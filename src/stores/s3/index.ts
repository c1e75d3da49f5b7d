/**
 * Entry point of src/stores/s3: a store in a bucket, which several hosts share. It loads the SDK, so it is imported only for a bucket. Keys are
 * the paths below a home, except those of logs (object-log.ts), each of one process, whose objects are numbered.
 */
import { randomBytes } from 'node:crypto';
import { isStepKey, type BlobRef, type StepKey } from '../../shared/ids.js';
import { fail } from '../../shared/problems.js';
import { groupBy } from '../../shared/text.js';
import { parseJson, putAsJson } from '../../system/durable.js';
import type { Environment } from '../../system/environment.js';
import { refOf, sha256 } from '../../system/hash.js';
import { together } from '../../system/together.js';
import {
  entriesOf,
  fileName,
  linesIn,
  linesOf,
  nullOfOther,
  placeName,
} from '../directory/archive.js';
import { asidePath, besideGc, blobName, isAside, unAside } from '../directory/blobs.js';
import { recordName } from '../directory/records.js';
import type {
  Archive,
  BlobStore,
  CallLog,
  RecordStore,
  StoredFile,
  StoreFiles,
  Stores,
} from '../ports.js';
import { createS3Changes } from './changes.js';
import type { Place } from './failures.js';
import { logSize, ObjectLog, readLog } from './object-log.js';
import { openObjects, type Found, type Objects, type Times } from './objects.js';

export type { Objects } from './objects.js';

const OPEN_LOGS = 1_000; // bound: Runs whose last log object a process remembers in an S3 store. For others it begins a new log.
const FLUSH_MS = 1_000; // bound: Longest time for which events of a model call wait before they are put into an S3 store.

/** Stores blobs at `blobs/<first 2 digits>/<sha-256>`. */
const createS3Blobs = (objects: Objects): BlobStore => {
  const keyOf = (ref: BlobRef): string => `blobs/${blobName(ref)}`;
  return {
    // The same bytes are put again without harm, and replace damaged ones.
    put: async (bytes) => {
      const ref = refOf(bytes);
      await objects.put(keyOf(ref), bytes);
      return ref;
    },
    get: async (ref) => {
      const key = keyOf(ref);
      const bytes = await besideGc(key, (place) => objects.get(place));
      if (bytes === null)
        return fail('blob_lost', `The blob ${ref} is not at ${objects.place.url}/${key}.`);
      if (refOf(bytes) === ref) return bytes;
      return fail(
        'blob_lost',
        `The object at ${objects.place.url}/${key} no longer contains the blob ${ref}.`,
      );
    },
  };
};

const getObject = async <T extends object>(
  objects: Objects,
  key: string,
  kind?: string,
): Promise<T | null> => {
  const bytes = await objects.get(key);
  return bytes === null ? null : (parseJson(bytes, `${objects.place.url}/${key}`, kind) as T);
};

const putObject = <T extends object>(objects: Objects, key: string, value: T) =>
  putAsJson(`${objects.place.url}/${key}`, value, (bytes) => objects.putIfAbsent(key, bytes));

/** Stores records at `<folder>/<key>.json`, each written once. */
const createS3Records = (objects: Objects, folder = 'records'): RecordStore => {
  const keyOf = (key: string): string => `${folder}/${recordName(key)}`;
  return {
    putIfAbsent: async (key, value) => putObject(objects, keyOf(key), value),
    get: async (key, kind) => getObject(objects, keyOf(key), kind),
    names: (key) => objects.names(`${folder}/${key}/`),
  };
};

/** Stores recorded calls: records, and streams, which are logs. */
const createS3Calls = (objects: Objects): CallLog => {
  const nameOf = (key: string): string => `calls/${key}`;
  return {
    ...createS3Records(objects, 'calls'),
    flush_ms: FLUSH_MS,
    begin: async (key, bytes) => {
      const log = new ObjectLog(objects, nameOf(key));
      await log.append(bytes);
      return log;
    },
    streamPath: (key) => `${objects.place.url}/${nameOf(key)}`,
    size: (key) => logSize(objects, nameOf(key)),
    read: (key, from) => readLog(objects, nameOf(key), from),
  };
};

const PARTS = /^archive\/([^/]+)\/(log-[^/]+)\/\d+$/;

/**
 * Keeps archives at `archive/<stepKey>/log-<writer><6 bytes>/<number>`, each log with one process as its writer, and the kept files next to them.
 * Readers merge the logs.
 */
export const createS3Archive = (objects: Objects, writer: string): Archive => {
  const logs = new Map<StepKey, ObjectLog>();
  const placeOf = (stepKey: StepKey): string => `archive/${placeName(stepKey)}`;
  const find = async (prefix: string): Promise<readonly StepKey[]> => {
    const changed = new Map<StepKey, number>();
    for (const { key, changed_ms } of await objects.list(`archive/${prefix}`)) {
      const stepKey = /^archive\/([^/]+)\//.exec(key)?.[1];
      if (stepKey !== undefined && isStepKey(stepKey))
        changed.set(stepKey, Math.max(changed.get(stepKey) ?? 0, changed_ms));
    }
    return [...changed].sort(([, a], [, b]) => b - a).map(([stepKey]) => stepKey);
  };

  const changes = createS3Changes(objects);
  return {
    append: async (stepKey, entries) => {
      if (entries.length === 0) return;
      await changes.announce(placeName(stepKey));
      let log = logs.get(stepKey);
      if (log === undefined) {
        if (logs.size >= OPEN_LOGS) logs.clear();
        // The log is this archive's own, also within its host: two writers never write one object.
        log = new ObjectLog(
          objects,
          `${placeOf(stepKey)}/log-${writer}${randomBytes(6).toString('hex')}`,
        );
        logs.set(stepKey, log);
      }
      await log.append(new TextEncoder().encode(linesOf(entries)));
    },
    read: async (stepKey) => {
      const pieces = await objects.list(`${placeOf(stepKey)}/`);
      const byLog = groupBy(pieces, ({ key }) => PARTS.exec(key)?.[2]);
      byLog.delete(undefined);
      // The writer of a file had written to the log before: the log is lost.
      if (byLog.size === 0) return entriesOf(pieces.length > 0 ? [[]] : []);
      const read = [...byLog.values()].map(async (found) => {
        const bytes = await Promise.all(
          found.map(async ({ key }) => (await objects.get(key)) ?? new Uint8Array()),
        );
        return linesIn(Buffer.concat(bytes));
      });
      return entriesOf(await Promise.all(read));
    },
    find,
    ...followed(objects, changes),
    putFile: async (stepKey, name, value) => {
      const key = `${placeOf(stepKey)}/${fileName(name)}`;
      return { path: `${objects.place.url}/${key}`, ...(await putObject(objects, key, value)) };
    },
    lastFile: async (stepKey, prefix) => {
      const last = (await objects.list(`${placeOf(stepKey)}/${prefix}`)).findLast(({ key }) =>
        key.endsWith('.json'),
      );
      return last === undefined ? null : getObject(objects, last.key).catch(nullOfOther);
    },
  };
};

/** Returns the methods of an archive that an index uses. */
const followed = (
  objects: Objects,
  changes: ReturnType<typeof createS3Changes>,
): Pick<Archive, 'names' | 'namesStamp' | 'stamp' | 'changesSince' | 'announce'> => ({
  names: async () => (await objects.names('archive/')).filter(isStepKey),
  // A list of all names takes a request for each 1,000 of them. Every writer announces what it makes.
  namesStamp: () => Promise.resolve(null),
  stamp: async (stepKey) => {
    const pieces = await objects.list(`archive/${placeName(stepKey)}/log-`);
    const stamps = pieces.map(({ key, bytes, changed_ms }) => `${key} ${bytes} ${changed_ms}`);
    return pieces.length === 0 ? null : sha256(stamps.join(' ')).slice(0, 32);
  },
  changesSince: (position) => changes.since(position),
  announce: (stepKey) => changes.announce(placeName(stepKey)),
});

/** Lists and removes objects as files while other processes write. Paths are `s3://bucket/prefix/key`. */
export const createS3Files = (objects: Objects): StoreFiles => {
  const { url } = objects.place;
  const keyOf = (path: string): string => path.slice(url.length + 1);
  const fileOf = ({ key, bytes, changed_ms }: Found): StoredFile => ({
    path: `${url}/${key}`,
    bytes,
    changed_ms,
    written_ms: changed_ms,
  });
  const list = async (place: string): Promise<readonly StoredFile[]> =>
    (await objects.list(place === url ? '' : `${keyOf(place)}/`)).map(fileOf);
  const fileAt = async (path: string): Promise<StoredFile | null> => {
    const found = await objects.head(keyOf(path));
    return found && fileOf(found);
  };
  return {
    list,
    // One list of all objects: a list for each folder would be a request for each run.
    walk: async function* (place, skipped = []) {
      const found = await list(place);
      yield found.filter(({ path }) => !skipped.some((folder) => path.startsWith(`${folder}/`)));
    },
    fileAt,
    readText: async (path) => {
      const bytes = await besideGc(path, (place) => objects.get(keyOf(place)));
      return Buffer.from(bytes ?? []).toString('latin1');
    },
    remove: async (path) => {
      await together([{ path }, ...(await list(path))], (file) => objects.remove(keyOf(file.path)));
    },
    // A blob that is put between the check and the removal is kept aside. The next `emend gc` puts it back if it is named by then, else removes it.
    removeBlob: async ({ path, written_ms }) => {
      const key = keyOf(path);
      if ((await objects.head(key))?.changed_ms !== written_ms) return false;
      if (!isAside(path)) {
        const bytes = await objects.get(key);
        if (bytes === null) return false;
        await objects.put(asidePath(key), bytes);
      }
      await objects.remove(key);
      return true;
    },
    restoreBlob: async (aside) => {
      const bytes = await objects.get(keyOf(aside));
      if (bytes === null) return;
      await objects.put(keyOf(unAside(aside)), bytes);
      await objects.remove(keyOf(aside));
    },
  };
};

/** Returns the place that EMEND_STORE (`url`) names. Throws ProblemError `store_unusable`. */
const placeOf = (url: string, env: Environment): Place => {
  const [, bucket = '', path = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9._-]+)*)\/?$/.exec(url) ?? [];
  if (bucket === '')
    return fail(
      'store_unusable',
      `EMEND_STORE is ${JSON.stringify(url)}, which names no bucket.`,
      'Write it as s3://BUCKET or s3://BUCKET/PREFIX (the prefix: letters, digits, ".", "_", "-", "/").',
    );
  const pathStyle = ['1', 'true'].includes(env.EMEND_STORE_PATH_STYLE ?? '');
  return {
    bucket,
    prefix: path === '' ? '' : `${path.slice(1)}/`,
    url: `s3://${bucket}${path}`,
    pathStyle,
  };
};

/** One client for each place of this process: each has its own connections. */
const opened = new Map<string, Objects>();

export const objectsAt = (url: string, env: Environment, times?: Times): Objects => {
  const place = placeOf(url, env);
  const known = times === undefined ? opened.get(place.url) : undefined;
  const objects = known ?? openObjects(place, times);
  if (times === undefined) opened.set(place.url, objects);
  return objects;
};

/** `writer`: the name of this host's logs in archives. */
export const s3Stores = (objects: Objects, writer: string): Stores => ({
  blobs: createS3Blobs(objects),
  records: createS3Records(objects),
  archive: createS3Archive(objects, writer),
  calls: createS3Calls(objects),
  files: createS3Files(objects),
});
