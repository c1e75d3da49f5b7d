/** Stores records and recorded calls on disk. A record is one JSON file for each key, written once. */
import { join } from 'node:path';
import { fail } from '../../shared/problems.js';
import type { DiskStoreOptions } from './blobs.js';
import {
  onDisk,
  orNull,
  putJsonIfAbsent,
  readJson,
  appendAll,
  syncNewName,
} from '../../system/durable.js';
import { realSys } from '../../system/sys.js';
import type { RecordStore, CallLog } from '../ports.js';
import { constants } from 'node:fs';
import { fstat, read, withFile } from '../../system/fs.js';

const SEGMENT = /^[a-z0-9_.-]{1,200}$/;

/** Returns a record's path below the folder of records. */
export const recordName = (key: string): string => {
  const segments = key.split('/');
  const bad = segments.find((s) => !SEGMENT.test(s) || s === '.' || s === '..');
  return bad === undefined
    ? `${key}.json`
    : fail(
        'internal',
        `Record key ${JSON.stringify(key)}: ${JSON.stringify(bad)} is not a segment of [a-z0-9-_.].`,
      );
};

export const createRecordStore = ({ dir, sys = realSys }: DiskStoreOptions): RecordStore => {
  const pathOf = (key: string): string => join(dir, recordName(key));

  return {
    putIfAbsent: async (key, value) => {
      const path = pathOf(key);
      // The stored value went through JSON. The first caller must not see more than later ones.
      return onDisk(`Storing the record at ${path}`, () => putJsonIfAbsent(sys, path, value));
    },
    get: async <T extends object>(key: string, kind?: string) => {
      const path = pathOf(key);
      return onDisk(`Reading the record at ${path}`, () => readJson<T>(sys, path, kind));
    },
    names: (key) => {
      const path = join(dir, key);
      return onDisk(
        `Reading the records at ${path}`,
        async () => (await orNull(sys.readdir(path))) ?? [],
      );
    },
  };
};

const FLUSH_MS = 100; // bound: Longest time for which events of a model call wait before they are written to a directory.

/** Stores recorded calls: records, and streams as files `<key>.jsonl` that grow. */
export const createCallLog = ({ dir, sys = realSys }: DiskStoreOptions): CallLog => {
  const pathOf = (key: string): string => join(dir, `${recordName(key)}l`);
  const onLog = <T>(what: string, key: string, act: (path: string) => Promise<T>): Promise<T> => {
    const path = pathOf(key);
    return onDisk(`${what} the call journal at ${path}`, () => act(path));
  };
  return {
    ...createRecordStore({ dir, sys }),
    flush_ms: FLUSH_MS,
    begin: (key, bytes) =>
      onLog('Writing', key, async (path) => {
        await appendAll(sys, path, bytes);
        await syncNewName(sys, path);
        return {
          append: (more, sync) => onLog('Writing', key, () => appendAll(sys, path, more, sync)),
        };
      }),
    streamPath: pathOf,
    size: (key) =>
      onLog('Reading', key, async (path) => (await orNull(sys.stat(path)))?.size ?? -1),
    read: (key, from = 0) =>
      onLog('Reading', key, async (path) => {
        const found = from === 0 ? sys.readFile(path) : readFrom(path, from);
        return (await orNull(found)) ?? new Uint8Array();
      }),
  };
};

const readFrom = (path: string, from: number): Promise<Uint8Array> =>
  withFile(path, constants.O_RDONLY, 0, async (file) => {
    const bytes = Buffer.alloc(Math.max(0, (await fstat(file)).size - from));
    return bytes.subarray(0, await read(file, bytes, from));
  });
