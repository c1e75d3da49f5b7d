/** The ports of what runs leave: bytes, records, archives. `directory` has the adapters for a home, `s3` those for a bucket. */
import type { StepEvent } from '../shared/events.js';
import type { BlobRef, StepKey } from '../shared/ids.js';
import { unversioned, versioned } from '../shared/problems.js';
import type { AppendSync } from '../system/sys.js';

/** Content-addressed bytes. A ref is returned only when the bytes are durable under their hash. */
export interface BlobStore {
  put(bytes: Uint8Array): Promise<BlobRef>;
  /** Throws ProblemError `blob_lost` when absent or when the bytes no longer have their hash. */
  get(ref: BlobRef): Promise<Uint8Array>;
}

/** JSON that is kept as a blob carries the version of what is stored. */
export const putJson = (blobs: BlobStore, value: object): Promise<BlobRef> =>
  blobs.put(new TextEncoder().encode(JSON.stringify(versioned(value))));
/** Throws ProblemError `blob_lost`, `version_unknown`; `what` names it there. */
export const getJson = async <T extends object>(
  blobs: Pick<BlobStore, 'get'>,
  ref: BlobRef,
  what: string,
): Promise<T> =>
  unversioned(
    JSON.parse(new TextDecoder().decode(await blobs.get(ref))),
    `The ${what} ${ref}`,
  ) as T;

/** Small JSON objects under a key, written once: the first writer's value is what every later caller gets. */
export interface RecordStore {
  /** `key` is a relative path of [a-z0-9-_.] segments. Returns the stored value (ours, or the earlier one), which is durable. */
  putIfAbsent<T extends object>(key: string, value: T): Promise<{ value: T; created: boolean }>;
  /** Null: there is none. `kind`: see readJson (src/system/durable.ts). Throws ProblemError `disk` where it is damaged, `version_unknown`. */
  get<T extends object = object>(key: string, kind?: string): Promise<T | null>;
  /** Of what lies directly below the key: records end in `.json`. */
  names(key: string): Promise<readonly string[]>;
}

export interface CallStream {
  append(bytes: Uint8Array, sync?: AppendSync): Promise<void>;
}

/** What recorded calls leave (src/model/journal): records, and streams that grow, each with one process as its writer. Keys: see RecordStore. */
export interface CallLog extends RecordStore {
  /** A new stream, durably; whoever begins it has claimed the key. */
  begin(key: string, bytes: Uint8Array): Promise<CallStream>;
  /** What is appended may wait so long, to be appended together. */
  readonly flush_ms: number;
  /** Where a stream is, for messages. */
  streamPath(key: string): string;
  /** Bytes of a stream so far; -1 where there is none. */
  size(key: string): Promise<number>;
  /** From the byte on; empty where there is none. */
  read(key: string, from?: number): Promise<Uint8Array>;
}

/** What a run leaves behind: an append-only log by stepKey, readable with no server. A torn last line is ignored when read. */
export interface Archive {
  /** Appends durably, or with `sync` where others see it at once and the next append to this log makes it durable. */
  append(stepKey: StepKey, entries: readonly ArchiveEntry[], sync?: AppendSync): Promise<void>;
  read(stepKey: StepKey): Promise<readonly ArchiveEntry[]>;
  /** stepKeys that start with the prefix and have a log, newest first. For a few: each is looked at. */
  find(prefix: string): Promise<readonly StepKey[]>;
  /** Names of all places for runs, in no order, also of those without a log. */
  names(): Promise<readonly StepKey[]>;
  /** Changes whenever a name comes or goes, so that equal stamps mean equal names; null: the store does not tell. */
  namesStamp(): Promise<string | null>;
  /** Changes with every change of the run's logs; null: it has none. */
  stamp(stepKey: StepKey): Promise<string | null>;
  /** Returns the runs that may have changed since a position that an earlier call returned; null: no earlier call. */
  changesSince(position: string | null): Promise<ArchiveChanges>;
  /** Announces a change to the readers of `changesSince`; `append` does so by itself. To be called before the change. */
  announce(stepKey: StepKey): Promise<void>;
  /** Keeps a JSON file beside the run's log, written once; `value` is what stands there, the first writer's. */
  putFile(
    stepKey: StepKey,
    name: string,
    value: object,
  ): Promise<{ readonly path: string; readonly value: object; readonly created: boolean }>;
  /** The last by name of the kept files whose names start with the prefix; null: there is none, or it is of another version. */
  lastFile(stepKey: StepKey, prefix: string): Promise<object | null>;
}
/** Runs whose archives may have changed. */
export interface ArchiveChanges {
  /** False: changes before `position` may be missing, so every run must be compared by its stamp. */
  readonly isComplete: boolean;
  readonly changed: ReadonlySet<StepKey>;
  /** The next call begins here. Changes of the last minutes are after it, as their writers may not be done. */
  readonly position: string;
}
export interface StoredFile {
  readonly path: string;
  readonly bytes: number;
  /** Milliseconds since 1970: the later of its last write and its last change of any kind. */
  readonly changed_ms: number;
  readonly written_ms: number;
}
/** What lies in a store, or in a home, for `emend gc`; by paths as they are shown. */
export interface StoreFiles {
  /** Every file below the place; what goes away meanwhile is left out, and so is `skipped`, the path of a directory right in it. */
  list(place: string, skipped?: string): Promise<readonly StoredFile[]>;
  /** The same, a directory after the other, so that no more of them are in memory than one has. */
  walk(place: string, skipped?: readonly string[]): AsyncIterable<readonly StoredFile[]>;
  at(path: string): Promise<StoredFile | null>;
  /** Bytes as text; references are ASCII in every encoding that we write. Of a blob also where it was moved aside; empty: it is gone. */
  readText(path: string): Promise<string>;
  /** The file, and all below it. */
  remove(path: string): Promise<void>;
  /** Removes the blob unless it was written or touched since it was found, then or when `gc` comes again. False: it stays, or was gone. */
  removeBlob(blob: StoredFile): Promise<boolean>;
  /** Puts a blob back that a removal moved aside. */
  restoreBlob(aside: string): Promise<void>;
}

/** All that homes that work together share. */
export interface Stores {
  readonly files: StoreFiles;
  readonly blobs: BlobStore;
  readonly records: RecordStore;
  readonly archive: Archive;
  readonly calls: CallLog;
}

/** What a reader says instead of what it left out: entries of a later `v`, and what is no entry. Never written. */
export type NewerEntries = Readonly<Record<'entries' | 'damaged', number>>;
/** `id` makes appending idempotent: an entry whose id is there already is dropped by readers. */
export interface ArchiveEntry {
  readonly id: string;
  /** ISO time. */
  readonly at: string;
  readonly kind: 'started' | 'event' | 'activity' | 'decision' | 'closed' | 'recovery' | 'newer';
  readonly data: unknown;
}

/** A run's events; ids make a retry, or another witness of the same events, add nothing new. */
export const eventEntries = (events: readonly StepEvent[], runId: string): ArchiveEntry[] =>
  events.map((event) => ({
    id: `event-${runId}-${event.seq}`,
    at: new Date(event.at).toISOString(),
    kind: 'event',
    data: event,
  }));

/** Events with words of people who sent a signal by other means than Emend's commands, which replace secrets before they send anything. */
const FROM_SIGNALS: ReadonlySet<StepEvent['type']> = new Set([
  'decision_ignored',
  'scope_drift',
  'revision_wanted',
]);

/** Returns the same without recognized secrets: whatever a signal had, the archive does not keep it. */
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
