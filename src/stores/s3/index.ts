/**
 * The door of src/stores/s3: a store in a bucket, which several hosts share. Loads the SDK, so only a bucket imports it. Keys are the paths
 * below a home, except those of logs (`ObjectLog` below), each of one process, whose objects are numbered.
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
import { openObjects, type Found, type Objects, type Times } from './objects.js';

export type { Objects } from './objects.js';

const OPEN_LOGS = 1_000; // bound: Runs whose last log object a process knows in an S3 store; for others it begins a new log.
const FLUSH_MS = 1_000; // bound: Events of a model call wait so long at most before they are put into an S3 store.

/** `blobs/<first 2 digits>/<sha-256>`. */
const createS3Blobs = (objects: Objects): BlobStore => {
  const keyOf = (ref: BlobRef): string => `blobs/${blobName(ref)}`;
  return {
    // The same bytes again do no harm, and they take the place of damaged ones.
    put: async (bytes) => {
      const ref = refOf(bytes);
      await objects.put(keyOf(ref), bytes);
      return ref;
    },
    get: async (ref) => {
      const key = keyOf(ref);
      const bytes = await besideGc(key, (each) => objects.get(each));
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

// Records, `<folder>/<key>.json`, written once; and recorded calls, whose streams are logs.

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

const createS3Records = (objects: Objects, folder = 'records'): RecordStore => {
  const keyOf = (key: string): string => `${folder}/${recordName(key)}`;
  return {
    putIfAbsent: async (key, value) => putObject(objects, keyOf(key), value),
    get: async (key, kind) => getObject(objects, keyOf(key), kind),
    names: (key) => objects.names(`${folder}/${key}/`),
  };
};

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

/** `archive/<stepKey>/log-<writer><8 bytes>/<number>`, each log with one process as its writer, and the kept files beside them. Readers merge the logs. */
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
        // Its own, whoever else of this host or process writes: two never write one object.
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
      // The writer of a file had written to the log before: that is lost.
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

/** What an index asks of an archive. */
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

/** The objects as files, and how they are removed beside processes that write. Paths are `s3://bucket/prefix/key`. */
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
  const at = async (path: string): Promise<StoredFile | null> => {
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
    at,
    readText: async (path) => {
      const bytes = await besideGc(path, (each) => objects.get(keyOf(each)));
      return Buffer.from(bytes ?? []).toString('latin1');
    },
    remove: async (path) => {
      await together([{ path }, ...(await list(path))], (each) => objects.remove(keyOf(each.path)));
    },
    // A put that comes between the look and the removal is kept aside: the next `emend gc` puts back what is named by then, and removes
    // the rest.
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

/** Throws ProblemError `store_unusable`. `url`: what EMEND_STORE says. */
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

/** One client a process and place: each has its own connections. */
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

// A log of one writer in numbered objects, `<name>/<number>`: the last is put anew with what is added, until it is large. After a put that
// took more than one try a new one begins, since an earlier try may still arrive: then it finds what it brings.

const SEGMENT_BYTES = 262_144; // bound: An object of a log in an S3 store is not put anew once it has so many bytes.

export class ObjectLog {
  readonly #objects: Objects;
  readonly #name: string;
  #number = 1;
  #bytes = new Uint8Array();
  #last: Promise<unknown> = Promise.resolve();

  constructor(objects: Objects, name: string) {
    this.#objects = objects;
    this.#name = name;
  }

  /** Others see it when it resolves. What could not be put may still arrive. */
  append(bytes: Uint8Array): Promise<void> {
    const put = this.#last.then(() => this.#append(bytes));
    this.#last = put.catch(() => undefined);
    return put;
  }

  async #append(bytes: Uint8Array): Promise<void> {
    const all = Buffer.concat([this.#bytes, bytes]);
    let tries = 0;
    try {
      tries = await this.#objects.put(
        `${this.#name}/${String(this.#number).padStart(6, '0')}`,
        all,
      );
      this.#bytes = all;
    } finally {
      if (tries !== 1 || all.length >= SEGMENT_BYTES) {
        this.#number += 1;
        this.#bytes = new Uint8Array();
      }
    }
  }
}

/** -1: there is none. */
export const logSize = async (objects: Objects, name: string): Promise<number> => {
  const found = await objects.list(`${name}/`);
  return found.length === 0 ? -1 : found.reduce((sum, { bytes }) => sum + bytes, 0);
};

/** From the byte on; `null` bytes of an object that is gone are none. */
export const readLog = async (objects: Objects, name: string, from = 0): Promise<Uint8Array> => {
  const pieces: Promise<Uint8Array>[] = [];
  let at = 0;
  for (const { key, bytes } of await objects.list(`${name}/`)) {
    const skip = Math.max(0, from - at);
    at += bytes;
    if (skip < bytes)
      pieces.push(objects.get(key).then((found) => (found ?? new Uint8Array()).subarray(skip)));
  }
  return Buffer.concat(await Promise.all(pieces));
};
