/** The archive on disk: `<dir>/<stepKey>/log.jsonl`. */
import { join } from 'node:path';
import { fail } from '../shared/problems.js';
import { isStepKey } from '../shared/refs.js';
import type { StepKey } from '../shared/refs.js';
import { appendLines, readLines } from './archive-lines.js';
import type { DiskStoreOptions } from './blob-store.js';
import { onDisk, orNull } from './sys-put.js';
import { realSys } from './sys.js';
import type { Archive, ArchiveEntry } from './types.js';

const isEntry = (value: unknown): value is ArchiveEntry =>
  typeof value === 'object' &&
  value !== null &&
  'v' in value &&
  value.v === 1 &&
  'id' in value &&
  typeof value.id === 'string';

export const createArchive = ({ dir, sys = realSys }: DiskStoreOptions): Archive => {
  const logOf = (stepKey: StepKey): string =>
    isStepKey(stepKey)
      ? join(dir, stepKey, 'log.jsonl')
      : fail('internal', `${JSON.stringify(stepKey)} is no step key.`);

  const find = async (prefix: string): Promise<readonly StepKey[]> =>
    onDisk(`Listing the archive at ${dir}`, async () => {
      const names = (await orNull(sys.readdir(dir))) ?? [];
      const found: { stepKey: StepKey; changed_ns: bigint }[] = [];
      for (const stepKey of names.filter((name) => isStepKey(name) && name.startsWith(prefix))) {
        const stat = await orNull(sys.stat(logOf(stepKey)));
        if (stat !== null) found.push({ stepKey, changed_ns: stat.changed_ns });
      }
      found.sort((a, b) => (a.changed_ns === b.changed_ns ? 0 : a.changed_ns > b.changed_ns ? -1 : 1));
      return found.map((f) => f.stepKey);
    });

  return {
    append: (stepKey, entries) => {
      const path = logOf(stepKey);
      return onDisk(`Appending to the archive at ${path}`, () => appendLines(sys, path, entries));
    },
    read: async (stepKey) => {
      const path = logOf(stepKey);
      const lines = await onDisk(`Reading the archive at ${path}`, () => readLines(sys, path));
      const byId = new Map<string, ArchiveEntry>();
      for (const entry of lines.filter(isEntry)) if (!byId.has(entry.id)) byId.set(entry.id, entry);
      return [...byId.values()];
    },
    find,
    list: () => find(''),
  };
};
