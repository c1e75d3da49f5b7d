/** Records on disk: one JSON file a key, written once. */
import { join } from 'node:path';
import { fail } from '../../shared/problems.js';
import type { DiskStoreOptions } from './blobs.js';
import { onDisk, orNull, putJsonIfAbsent, readJson } from '../../system/durable.js';
import { realSys } from '../../system/sys.js';
import type { RecordStore } from '../ports.js';

const SEGMENT = /^[a-z0-9_.-]{1,200}$/;

/** Below the folder of records. */
export const recordName = (key: string): string => {
  const segments = key.split('/');
  const bad = segments.find((s) => !SEGMENT.test(s) || s === '.' || s === '..');
  return bad === undefined
    ? `${key}.json`
    : fail('internal', `Record key ${JSON.stringify(key)}: ${JSON.stringify(bad)} is not a segment of [a-z0-9-_.].`);
};

export const createRecordStore = ({ dir, sys = realSys }: DiskStoreOptions): RecordStore => {
  const pathOf = (key: string): string => join(dir, recordName(key));

  return {
    putIfAbsent: async (key, value, later) => {
      const path = pathOf(key);
      // What is stored went through JSON; a first caller must not see more than later ones do.
      return onDisk(`Storing the record at ${path}`, () => putJsonIfAbsent(sys, path, value, { later }));
    },
    get: async (key) => {
      const path = pathOf(key);
      return (await onDisk(`Reading the record at ${path}`, () => readJson(sys, path))) ?? null;
    },
    names: (key) => {
      const path = join(dir, key);
      return onDisk(`Reading the records at ${path}`, async () => (await orNull(sys.readdir(path))) ?? []);
    },
  };
};
