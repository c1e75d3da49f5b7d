/** Records in a bucket, `<folder>/<key>.json`, written once; and recorded calls, whose streams are logs in numbered objects. */
import { unversioned, versioned } from '../../shared/problems.js';
import { recordName } from '../directory/records.js';
import type { CallLog, RecordStore } from '../ports.js';
import { logSize, ObjectLog, readLog } from './log.js';
import type { Objects } from './objects.js';

const FLUSH_MS = 1_000; // bound: Events of a model call wait so long at most before they are put into an S3 store.

const parse = (bytes: Uint8Array, objects: Objects, key: string): object =>
  unversioned(JSON.parse(new TextDecoder().decode(bytes)), `${objects.place.url}/${key}`);

export const getObject = async (objects: Objects, key: string): Promise<object | null> => {
  const bytes = await objects.get(key);
  return bytes === null ? null : parse(bytes, objects, key);
};

/** What stands there went through JSON; a first caller must not see more than later ones do. */
export const putObject = async <T extends object>(objects: Objects, key: string, value: T) => {
  const bytes = new TextEncoder().encode(`${JSON.stringify(versioned(value))}\n`);
  const put = await objects.putIfAbsent(key, bytes);
  return { value: parse(put.bytes, objects, key) as T, created: put.created };
};

export const createS3Records = (objects: Objects, folder = 'records'): RecordStore => {
  const keyOf = (key: string): string => `${folder}/${recordName(key)}`;
  return {
    putIfAbsent: async (key, value) => putObject(objects, keyOf(key), value),
    get: async (key) => getObject(objects, keyOf(key)),
    names: (key) => objects.names(`${folder}/${key}/`),
  };
};

export const createS3Calls = (objects: Objects): CallLog => {
  const nameOf = (key: string): string => `calls/${key}`;
  const records = createS3Records(objects, 'calls');
  return {
    ...records,
    putIfAbsent: (key, value) => records.putIfAbsent(key, value),
    flush_ms: FLUSH_MS,
    begin: async (key, bytes) => {
      const log = new ObjectLog(objects, nameOf(key));
      await log.append(bytes);
      return log;
    },
    size: (key) => logSize(objects, nameOf(key)),
    read: (key, from) => readLog(objects, nameOf(key), from),
  };
};
