/** Keeps the archive on disk: `<dir>/<stepKey>/log.jsonl`. Appending is atomic among the processes of one host. */
import { join } from 'node:path';
import type { ArchiveEntry, Archive, NewerEntries } from '../ports.js';
import { fail, isKnown, nullOn, versionOf, versioned } from '../../shared/problems.js';
import {
  makingDir,
  orNull,
  onDisk,
  putJsonIfAbsent,
  readJson,
  syncName,
  syncNewName,
} from '../../system/durable.js';
import { ABSENT } from '../../system/given-file.js';
import { sealed, unsealed } from '../../system/sealed.js';
import { type AppendSync, type Sys, realSys } from '../../system/sys.js';
import { isStepKey, type StepKey } from '../../shared/ids.js';
import type { DiskStoreOptions } from './blobs.js';
import { isRecord } from '../../shared/text.js';
import { together } from '../../system/together.js';
import { changesDir, createChanges } from './changes.js';

const SHORT_WRITES = 3; // bound: Tries of a write that the disk cuts short because it fills up.

// Append-only files of JSON lines that survive torn writes: a line counts once its line end is on disk.

const LF = 0x0a;

export const linesOf = (values: readonly object[]): string =>
  values.map((value) => `${sealed(versioned(value))}\n`).join('');

/**
 * Appends the values as lines with one write, and syncs them unless `sync` is given. A torn line that a dead writer left is closed first. After
 * a retry or a short write a value may occur twice: readers drop the second one by its id.
 */
const appendLines = async (
  sys: Sys,
  path: string,
  values: readonly object[],
  sync?: AppendSync,
): Promise<void> => {
  if (values.length === 0) return;
  const text = linesOf(values);
  const last = await orNull(sys.lastByte(path));
  let torn = last !== null && last !== LF;
  for (let write = 0; write < SHORT_WRITES; write++) {
    const bytes = new TextEncoder().encode(torn ? `\n${text}` : text);
    const written = await makingDir(sys, path, () => sys.append(path, bytes, sync));
    if (written === bytes.length) {
      if (sync === undefined) await (last === null ? syncNewName : syncName)(sys, path);
      return;
    }
    torn = true;
  }
  return fail(
    'disk',
    `Appending to ${path} failed: the disk accepted only part of ${text.length} characters (ENOSPC).`,
  );
};

/** The beginning of a torn line: that of every line, after zeros that a power cut may have left. */
const TORN = /^\0*(?:\{?$|\{")/;

/** Returns the values of the whole lines, in order, without torn ones. Null: the line was changed, or is not one that Emend wrote. */
export const linesIn = (bytes: Uint8Array): readonly unknown[] =>
  new TextDecoder()
    .decode(bytes)
    .split('\n')
    .slice(0, -1)
    .flatMap((text) => {
      const value = unsealed(text);
      // A torn line that a later append closed was never acknowledged.
      if (value === 'torn' && TORN.test(text)) return [];
      return [typeof value === 'string' ? null : value];
    });

/**
 * Merges the logs that several hosts kept of one run in a bucket. Each log keeps its own order, whatever its clock shows. Among logs, the one
 * whose next entry has the earliest time continues. So the work of one host (all work on files is one host's) is in its order even if clocks
 * differ.
 */
const mergeLogs = (logs: readonly (readonly ArchiveEntry[])[]): readonly ArchiveEntry[] => {
  if (logs.length <= 1) return logs[0] ?? [];
  const next = logs.map(() => 0);
  const merged: ArchiveEntry[] = [];
  for (;;) {
    let first: { readonly log: number; readonly entry: ArchiveEntry } | null = null;
    for (const [log, entries] of logs.entries()) {
      const entry = entries[next[log] ?? 0];
      if (entry !== undefined && (first === null || entry.at < first.entry.at))
        first = { log, entry };
    }
    if (first === null) return merged;
    merged.push(first.entry);
    next[first.log] = (next[first.log] ?? 0) + 1;
  }
};

const isEntry = (value: unknown): value is ArchiveEntry =>
  isRecord(value) &&
  isKnown(value) &&
  [value.id, value.at, value.kind].every((field) => typeof field === 'string');

/** Handles the error of a file of another version: it counts as absent. */
export const nullOfOther = nullOn('version_unknown');

/** Returns how many lines are entries of another version, and how many are damaged. Readers leave both out and report them. */
const newerOf = (lines: readonly unknown[]): readonly ArchiveEntry[] => {
  const others = lines.filter((line) => !isEntry(line));
  const entries = others.filter(
    (line) => typeof versionOf(line) === 'number' && !isKnown(line),
  ).length;
  const data: NewerEntries = { entries, damaged: others.length - entries };
  return others.length === 0 ? [] : [{ id: 'newer', at: '', kind: 'newer', data }];
};

/** Returns the entries of all logs of a run, each once. */
export const entriesOf = (logs: readonly (readonly unknown[])[]): readonly ArchiveEntry[] => {
  const byId = new Map<string, ArchiveEntry>();
  for (const entry of mergeLogs(logs.map((lines) => lines.filter(isEntry))))
    if (!byId.has(entry.id)) byId.set(entry.id, entry);
  // A log is created with its first line: a log without lines has lost it.
  return [
    ...byId.values(),
    ...newerOf(logs.flatMap((lines) => (lines.length === 0 ? [null] : lines))),
  ];
};

interface ArchiveOptions extends DiskStoreOptions {
  /** False: the archive is a copy that no index follows. */
  readonly isFollowed?: boolean;
}
const NAME = /^[a-z0-9-]{1,80}$/;

/** Returns the name of a run's folder. */
export const placeName = (stepKey: StepKey): string =>
  isStepKey(stepKey) ? stepKey : fail('internal', `${JSON.stringify(stepKey)} is not a step key.`);

/** Returns the name of a kept file with its extension. */
export const fileName = (name: string): string =>
  NAME.test(name)
    ? `${name}.json`
    : fail('internal', `${JSON.stringify(name)} is not the name of an archive file.`);

/** Returns whether the folder of a run has files but no log: their writer had written to the log before. */
const hasLostLog = async (sys: Sys, place: string): Promise<boolean> =>
  ((await orNull(sys.readdir(place), ABSENT)) ?? []).some((name) => name.endsWith('.json'));

const logIn = (place: string): string => join(place, 'log.jsonl');

const readEntries = async (sys: Sys, place: string): Promise<readonly ArchiveEntry[]> => {
  const bytes = await orNull(sys.readFile(logIn(place)), ABSENT);
  if (bytes !== null) return entriesOf([linesIn(bytes)]);
  return entriesOf((await hasLostLog(sys, place)) ? [[]] : []);
};

export const createArchive = ({
  dir,
  sys = realSys,
  isFollowed = true,
}: ArchiveOptions): Archive => {
  const changes = createChanges({ dir: changesDir(dir), sys, writer: 'home' });
  const announce = (stepKey: StepKey): Promise<void> =>
    isFollowed ? changes.announce(placeName(stepKey)) : Promise.resolve();
  const placeOf = (stepKey: StepKey): string => join(dir, placeName(stepKey));
  const logOf = (stepKey: StepKey): string => logIn(placeOf(stepKey));

  return {
    append: (stepKey, entries, sync) => {
      const path = logOf(stepKey);
      return onDisk(`Appending to the archive at ${path}`, async () => {
        if (entries.length > 0) await announce(stepKey);
        await appendLines(sys, path, entries, sync);
      });
    },
    putFile: (stepKey, name, value) => {
      const path = join(placeOf(stepKey), fileName(name));
      return onDisk(`Keeping ${path}`, async () => ({
        path,
        ...(await putJsonIfAbsent(sys, path, value)),
      }));
    },
    lastFile: (stepKey, prefix) =>
      onDisk(`Reading the archive at ${placeOf(stepKey)}`, async () => {
        const place = placeOf(stepKey);
        const names = (await orNull(sys.readdir(place), ABSENT)) ?? [];
        const isKept = (name: string): boolean => name.startsWith(prefix) && name.endsWith('.json');
        const last = names.filter(isKept).sort().at(-1);
        return last === undefined
          ? null
          : await readJson(sys, join(place, last)).catch(nullOfOther);
      }),
    read: async (stepKey) =>
      onDisk(`Reading ${logOf(stepKey)}`, () => readEntries(sys, placeOf(stepKey))),
    find: (prefix) => findRuns(sys, dir, prefix),
    ...followedBy(sys, dir),
    changesSince: (position) => changes.since(position),
    announce: (stepKey) =>
      onDisk(`Announcing a change of ${placeOf(stepKey)}`, () => announce(stepKey)),
  };
};

/**
 * Returns the state of a run's log, or null if the run is not in the archive. A run that has lost its log is in the archive: its reader
 * learns that the log is missing.
 */
const logState = async (
  sys: Sys,
  place: string,
): Promise<{ readonly size: number; readonly changed_ns: bigint } | null> => {
  const stat = await orNull(sys.stat(logIn(place)), ABSENT);
  if (stat !== null) return stat;
  return (await hasLostLog(sys, place)) ? { size: 0, changed_ns: 0n } : null;
};

/** Returns the runs whose keys begin with the prefix and that are in the archive, newest first. */
const findRuns = (sys: Sys, dir: string, prefix: string): Promise<readonly StepKey[]> =>
  onDisk(`Listing the archive at ${dir}`, async () => {
    const names = (await orNull(sys.readdir(dir))) ?? [];
    const keys = names.filter((name) => isStepKey(name) && name.startsWith(prefix));
    const found = await together(keys, async (stepKey) => {
      // If a log cannot be looked at, its reader learns why.
      const state = await logState(sys, join(dir, stepKey)).catch(() => ({ changed_ns: 0n }));
      return state === null ? [] : [{ stepKey, changed_ns: state.changed_ns }];
    });
    return found
      .flat()
      .sort((a, b) => Number(b.changed_ns - a.changed_ns))
      .map(({ stepKey }) => stepKey);
  });

/** Returns the methods that an index compares with its rows. */
const followedBy = (sys: Sys, dir: string): Pick<Archive, 'names' | 'namesStamp' | 'stamp'> => ({
  names: () =>
    onDisk(`Listing the archive at ${dir}`, async () =>
      ((await orNull(sys.readdir(dir))) ?? []).filter(isStepKey),
    ),
  namesStamp: async () => {
    const stat = await orNull(sys.stat(dir), ABSENT);
    return stat === null ? 'none' : String(stat.changed_ns);
  },
  stamp: async (stepKey) => {
    const state = await logState(sys, join(dir, placeName(stepKey)));
    return state === null ? null : `${state.size}-${state.changed_ns.toString(36)}`;
  },
});
