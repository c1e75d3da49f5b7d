/** Recorded calls on disk: records as files of `<key>.json`, streams as files of `<key>.jsonl` that are appended to. */
import { constants } from 'node:fs';
import { join } from 'node:path';
import { appendAll, onDisk, orNull, putJsonIfAbsent, syncName } from '../../system/durable.js';
import { fstat, read, withFile } from '../../system/fs.js';
import { realSys } from '../../system/sys.js';
import type { CallLog } from '../ports.js';
import type { DiskStoreOptions } from './blobs.js';
import { createRecordStore, recordName } from './records.js';

const FLUSH_MS = 100; // bound: Events of a model call wait so long at most before they are written to a directory.

export const createCallLog = ({ dir, sys = realSys }: DiskStoreOptions): CallLog => {
  const records = createRecordStore({ dir, sys });
  const pathOf = (key: string): string => join(dir, `${recordName(key)}l`);
  const onLog = <T>(what: string, key: string, act: (path: string) => Promise<T>): Promise<T> => {
    const path = pathOf(key);
    return onDisk(`${what} the call journal at ${path}`, () => act(path));
  };
  return {
    ...records,
    putIfAbsent: (key, value, modes) => {
      const path = join(dir, recordName(key));
      return onDisk(`Writing the call journal at ${path}`, () => putJsonIfAbsent(sys, path, value, modes));
    },
    flush_ms: FLUSH_MS,
    begin: (key, bytes) =>
      onLog('Writing', key, async (path) => {
        await appendAll(sys, path, bytes);
        await syncName(sys, path, true);
        return { append: (more, later) => onLog('Writing', key, () => appendAll(sys, path, more, later)) };
      }),
    size: (key) => onLog('Reading', key, async (path) => (await orNull(sys.sizeNow(path))) ?? -1),
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
