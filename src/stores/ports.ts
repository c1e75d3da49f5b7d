/** The ports of stored data: blobs, records, recorded calls and archives. `directory` has the adapters for a home, `s3` those for a bucket. */
import type { StepEvent } from '../shared/events.js';
import type { BlobRef, StepKey } from '../shared/ids.js';
import { unversioned, versioned } from '../shared/problems.js';
import type { AppendSync } from '../system/sys.js';

/** Stores bytes by their hash. `put` returns a reference only once the bytes are durable. */
export interface BlobStore {
  put(bytes: Uint8Array): Promise<BlobRef>;
  /** Throws ProblemError `blob_lost` when absent or when the bytes no longer have their hash. */
  get(ref: BlobRef): Promise<Uint8Array>;
}

/** Stores a value as a blob of JSON, which carries the version of its format. */
export const putJson = (blobs: BlobStore, value: object): Promise<BlobRef> =>
  blobs.put(new TextEncoder().encode(JSON.stringify(versioned(value))));
/** Returns the value of a blob of JSON. `what` names it in a message. Throws ProblemError `blob_lost`, `version_unknown`. */
export const getJson = async <T extends object>(
  blobs: Pick<BlobStore, 'get'>,
  ref: BlobRef,
  what: string,
): Promise<T> =>
  unversioned(
    JSON.parse(new TextDecoder().decode(await blobs.get(ref))),
    `The ${what} ${ref}`,
  ) as T;

/** Stores small JSON objects by a key. Each is written once: every later caller gets the first writer's value. */
export interface RecordStore {
  /** `key` is a relative path of [a-z0-9-_.] segments. Returns the stored value (ours, or the earlier one), which is durable. */
  putIfAbsent<T extends object>(key: string, value: T): Promise<{ value: T; created: boolean }>;
  /** Returns a record; null: there is none. See readJson (src/system/durable.ts) for `kind`. Throws ProblemError `disk` if it is damaged, `version_unknown`. */
  get<T extends object = object>(key: string, kind?: string): Promise<T | null>;
  /** Returns the names directly below the key. Those of records end in `.json`. */
  names(key: string): Promise<readonly string[]>;
}

export interface CallStream {
  append(bytes: Uint8Array, sync?: AppendSync): Promise<void>;
}

/** Stores recorded calls (src/model/journal): records, and streams that grow, each with one process as its writer. Keys are as in RecordStore. */
export interface CallLog extends RecordStore {
  /** Begins a stream durably. The caller has claimed the key before. */
  begin(key: string, bytes: Uint8Array): Promise<CallStream>;
  /** Longest time for which a writer may hold back bytes, to append them together. */
  readonly flush_ms: number;
  /** Returns the place of a stream, for messages. */
  streamPath(key: string): string;
  /** Returns the number of bytes of a stream so far; -1: there is none. */
  size(key: string): Promise<number>;
  /** Returns the bytes of a stream from `from` on; empty: there is none. */
  read(key: string, from?: number): Promise<Uint8Array>;
}

/** Keeps a log of each run, by its stepKey. The log only grows, and can be read without a server. A torn last line is ignored. */
export interface Archive {
  /** Appends durably. With `sync`, others see the entries at once, and the next append to this log makes them durable. */
  append(stepKey: StepKey, entries: readonly ArchiveEntry[], sync?: AppendSync): Promise<void>;
  read(stepKey: StepKey): Promise<readonly ArchiveEntry[]>;
  /** Returns the stepKeys that start with the prefix and have a log, newest first. It reads the state of each, so it is for a few runs. */
  find(prefix: string): Promise<readonly StepKey[]>;
  /** Returns the stepKeys of all folders for runs, in no order, also of those without a log. */
  names(): Promise<readonly StepKey[]>;
  /** Returns a stamp of the names: equal stamps mean equal names. Null: the store has no such stamp. */
  namesStamp(): Promise<string | null>;
  /** Returns a stamp that changes with every change of the run's logs; null: it has none. */
  stamp(stepKey: StepKey): Promise<string | null>;
  /** Returns the runs that may have changed since a position that an earlier call returned; null: no earlier call. */
  changesSince(position: string | null): Promise<ArchiveChanges>;
  /** Announces a change to the readers of `changesSince`. Call it before the change. `append` does so by itself. */
  announce(stepKey: StepKey): Promise<void>;
  /** Keeps a JSON file next to the run's log. It is written once: `value` in the result is that of the first writer. */
  putFile(
    stepKey: StepKey,
    name: string,
    value: object,
  ): Promise<{ readonly path: string; readonly value: object; readonly created: boolean }>;
  /** Returns the last kept file by name whose name starts with the prefix; null: there is none, or it has another version. */
  lastFile(stepKey: StepKey, prefix: string): Promise<object | null>;
}
/** Runs whose archives may have changed. */
export interface ArchiveChanges {
  /** False: changes before `position` may be missing, so every run must be compared by its stamp. */
  readonly isComplete: boolean;
  readonly changed: ReadonlySet<StepKey>;
  /** Position from which the next call continues. Changes of the last minutes are after it, as their writers may not have finished. */
  readonly position: string;
}
export interface StoredFile {
  readonly path: string;
  readonly bytes: number;
  /** Milliseconds since 1970: the later of its last write and its last change of any kind. */
  readonly changed_ms: number;
  readonly written_ms: number;
}
/** The files of a store or of a home, for `emend gc`. Paths are as messages show them. */
export interface StoreFiles {
  /** Lists every file below a place. It omits files that are removed meanwhile, and `skipped`, the path of a directory right in it. */
  list(place: string, skipped?: string): Promise<readonly StoredFile[]>;
  /** Lists the same, one directory after the other, so that the files of only one are in memory. */
  walk(place: string, skipped?: readonly string[]): AsyncIterable<readonly StoredFile[]>;
  /** Returns the file at a path; null: there is none. */
  fileAt(path: string): Promise<StoredFile | null>;
  /**
   * Returns the bytes as text: references are ASCII in every encoding that Emend writes. A blob is also found where it was moved aside. Empty: the
   * file was removed.
   */
  readText(path: string): Promise<string>;
  /** Removes a file, or a directory with all files below it. */
  remove(path: string): Promise<void>;
  /**
   * Removes a blob unless it was written or touched since it was found. False: it stays, or was removed already. A store that cannot move a blob
   * keeps a copy, which the next `emend gc` removes or puts back.
   */
  removeBlob(blob: StoredFile): Promise<boolean>;
  /** Puts a blob back that a removal moved aside. */
  restoreBlob(aside: string): Promise<void>;
}

/** The parts of a store, which all homes that use it share. */
export interface Stores {
  readonly files: StoreFiles;
  readonly blobs: BlobStore;
  readonly records: RecordStore;
  readonly archive: Archive;
  readonly calls: CallLog;
}

/** Number of entries with a later `v`, and of lines that are no entries. A reader reports them instead of the entries; it is never written. */
export type NewerEntries = Readonly<Record<'entries' | 'damaged', number>>;
/** An entry of a run's log. `id` makes appending idempotent: readers drop an entry whose id occurred before. */
export interface ArchiveEntry {
  readonly id: string;
  /** ISO time. */
  readonly at: string;
  readonly kind: 'started' | 'event' | 'activity' | 'decision' | 'closed' | 'recovery' | 'newer';
  readonly data: unknown;
}

/** Returns the entries of a run's events. By their ids, a retry or another writer of the same events adds nothing new. */
export const eventEntries = (events: readonly StepEvent[], runId: string): ArchiveEntry[] =>
  events.map((event) => ({
    id: `event-${runId}-${event.seq}`,
    at: new Date(event.at).toISOString(),
    kind: 'event',
    data: event,
  }));

/** Events that may have text of a signal which no command of Emend sent. Emend's commands replace secrets before they send a signal. */
const FROM_SIGNALS: ReadonlySet<StepEvent['type']> = new Set([
  'decision_ignored',
  'scope_drift',
  'revision_wanted',
]);

/** Returns the entries of a run's events without recognized secrets, so that the archive keeps none that a signal had. */
export const maskedEntries = async (
  events: readonly StepEvent[],
  runId: string,
): Promise<ArchiveEntry[]> => {
  if (!events.some(({ type }) => FROM_SIGNALS.has(type))) return eventEntries(events, runId);
  const { hideSecrets } = await import('../system/secrets.js');
  const masked = events.map((event) =>
    FROM_SIGNALS.has(event.type) ? hideSecrets(event) : Promise.resolve(event),
  );
  return eventEntries(await Promise.all(masked), runId);
};
