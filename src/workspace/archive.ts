/**
 * The archive on disk: `<dir>/<stepKey>/log.jsonl`, or `log-<writer>.jsonl` where several hosts write: appending is atomic among the
 * processes of one host only (on NFS the client works out where the file ends). Readers merge the logs.
 */
import { join } from 'node:path';
import { fail } from '../shared/problems.js';
import { isStepKey, type StepKey } from '../shared/refs.js';
import { isKnown, versionOf } from '../shared/versions.js';
import { appendLines, readLines } from './archive-lines.js';
import { mergeLogs } from './archive-merge.js';
import type { DiskStoreOptions } from './blob-store.js';
import { onDisk, orNull, putJsonIfAbsent, readJson } from './sys-put.js';
import { realSys } from './sys.js';
import { together } from './together.js';
import type { Archive, ArchiveEntry, NewerEntries } from './types.js';

const isEntry = (value: unknown): value is ArchiveEntry =>
  typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string' && isKnown(value);

/** Entries of a later version are left out, and that is said. */
const newerOf = (lines: readonly unknown[]): readonly ArchiveEntry[] => {
  const entries = lines.filter((line) => typeof versionOf(line) === 'number' && !isKnown(line)).length;
  const data: NewerEntries = { entries };
  return entries === 0 ? [] : [{ v: 1, id: 'newer', at: '', kind: 'newer', data }];
};

interface ArchiveOptions extends DiskStoreOptions {
  /** The name of this host's logs, [a-z0-9]; without one this host is the only writer. */
  readonly writer?: string;
}
const ABSENT = ['ENOENT', 'ENOTDIR'];
const NAME = /^[a-z0-9-]{1,80}$/;
const LOG = /^log(-[a-z0-9]+)?\.jsonl$/;

export const createArchive = ({ dir, sys = realSys, writer }: ArchiveOptions): Archive => {
  const ownLog = writer === undefined ? 'log.jsonl' : `log-${writer}.jsonl`;
  const placeOf = (stepKey: StepKey): string =>
    isStepKey(stepKey) ? join(dir, stepKey) : fail('internal', `${JSON.stringify(stepKey)} is no step key.`);
  const logsOf = async (stepKey: StepKey): Promise<readonly string[]> => {
    const place = placeOf(stepKey);
    const names = (await orNull(sys.readdir(place), ABSENT)) ?? [];
    return names
      .filter((name) => LOG.test(name))
      .sort()
      .map((name) => join(place, name));
  };

  /** Null: there is no log. Where this host is the only writer its own is looked at first, without reading the directory. */
  const changedOf = async (stepKey: StepKey): Promise<bigint | null> => {
    const alone = writer === undefined ? await orNull(sys.stat(join(placeOf(stepKey), ownLog)), ABSENT) : null;
    if (alone !== null) return alone.changed_ns;
    const stats = await Promise.all((await logsOf(stepKey)).map((log) => orNull(sys.stat(log))));
    return stats.reduce<bigint | null>(
      (last, stat) => (stat === null || (last !== null && last > stat.changed_ns) ? last : stat.changed_ns),
      null,
    );
  };

  const keptFiles = async (stepKey: StepKey, prefix: string): Promise<readonly string[]> => {
    const place = placeOf(stepKey);
    const names = (await orNull(sys.readdir(place), ABSENT)) ?? [];
    const wanted = names.filter((name) => name.startsWith(prefix) && name.endsWith('.json'));
    return wanted.sort().map((name) => join(place, name));
  };

  const find = async (prefix: string): Promise<readonly StepKey[]> =>
    onDisk(`Listing the archive at ${dir}`, async () => {
      const names = (await orNull(sys.readdir(dir))) ?? [];
      const keys = names.filter((name) => isStepKey(name) && name.startsWith(prefix));
      const found = await together(keys, async (stepKey) => ({ stepKey, changed_ns: await changedOf(stepKey) }));
      return found
        .flatMap(({ stepKey, changed_ns }) => (changed_ns === null ? [] : [{ stepKey, changed_ns }]))
        .sort((a, b) => (a.changed_ns === b.changed_ns ? 0 : a.changed_ns > b.changed_ns ? -1 : 1))
        .map(({ stepKey }) => stepKey);
    });

  return {
    append: (stepKey, entries) => {
      const path = join(placeOf(stepKey), ownLog);
      return onDisk(`Appending to the archive at ${path}`, () => appendLines(sys, path, entries));
    },
    keep: (stepKey, name, value) => {
      const path = join(placeOf(stepKey), `${name}.json`);
      if (!NAME.test(name)) return fail('internal', `${JSON.stringify(name)} is no name of a file in the archive.`);
      return onDisk(`Keeping ${path}`, async () => ({ path, ...(await putJsonIfAbsent(sys, path, value)) }));
    },
    kept: (stepKey, prefix) =>
      onDisk(`Reading the archive at ${placeOf(stepKey)}`, async () =>
        Promise.all((await keptFiles(stepKey, prefix)).map((path) => readJson(sys, path))),
      ),
    lastKept: (stepKey, prefix) =>
      onDisk(`Reading the archive at ${placeOf(stepKey)}`, async () => {
        const last = (await keptFiles(stepKey, prefix)).at(-1);
        return last === undefined ? null : readJson(sys, last);
      }),
    read: async (stepKey) => {
      const logs = await onDisk(`Reading the archive at ${placeOf(stepKey)}`, async () =>
        Promise.all((await logsOf(stepKey)).map((log) => readLines(sys, log))),
      );
      const byId = new Map<string, ArchiveEntry>();
      for (const entry of mergeLogs(logs.map((lines) => lines.filter(isEntry))))
        if (!byId.has(entry.id)) byId.set(entry.id, entry);
      return [...byId.values(), ...newerOf(logs.flat())];
    },
    find,
    list: () => find(''),
  };
};
