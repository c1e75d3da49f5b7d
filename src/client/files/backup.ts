/**
 * Copies a home into one file while workers run. ◆ Files that name others are copied before those that they name (docs/home.md), so the copy
 * has every content that a record, log or history in it names.
 */
import { open, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { blobRefsIn, isBlobRef, type BlobRef } from '../../shared/ids.js';
import { fail } from '../../shared/problems.js';
import { blobName, isAside, unAside } from '../../stores/index.js';
import { hostId } from '../../stores/home.js';
import { onDisk, orNull, unlinkIfThere } from '../../system/durable.js';
import { ABSENT } from '../../system/given-file.js';
import { link, rename } from '../../system/fs.js';
import { linksFail, realSys } from '../../system/sys.js';
import { BackupWriter } from './backup-format.js';

const DATABASE_TRIES = 40; // bound: Times that the database of the dev server is copied until it was quiet meanwhile,
const DATABASE_QUIET_MS = 100; // bound: and for so long before.
const WAL_HEAD_BYTES = 32; // bound: SQLite's header of a write-ahead log; it changes when the log begins again.
const REF_CHARS = 71; // bound: Characters of a reference to a content, `sha256:` and 64 digits.

/** In the order in which they are copied: the last step of a run first, contents last. */
const PLACES = [
  'archive',
  'locks',
  'transactions',
  'worktrees',
  'records',
  'calls',
  'trust',
  'logs',
];
/** Right in the home. */
const FILES = ['host-id', 'host-id.copy', 'store.json', 'restored.json'];
/** Files that are being written, and what only their process needs. */
const SKIPPED = /\.TMP-\d+-|\.CLAIM\/|\.damaged$/;

export interface Backup {
  readonly path: string;
  readonly files: number;
  readonly bytes: number;
  /** Contents that do not match their hash, by path in the home. */
  readonly damaged: readonly string[];
  /** It has the database of the dev server, and so the open runs of that server. */
  readonly database: boolean;
}

interface Copy {
  readonly home: string;
  readonly writer: BackupWriter;
  readonly named: Set<BlobRef>;
  readonly contents: Set<BlobRef>;
  readonly damaged: string[];
}

/** Throws ProblemError `usage` if the file exists, `busy` if the database is written all the time, `disk`. */
export const backUp = async (home: string, path: string): Promise<Backup> => {
  if ((await orNull(stat(path), ABSENT)) !== null)
    fail('usage', `${path} exists.`, 'Name a new file: a backup is never overwritten.');
  return onDisk(`Writing the backup ${path}`, () => writeBackup(home, path));
};

const writeBackup = async (home: string, path: string): Promise<Backup> => {
  const temp = `${path}.TMP-${process.pid}`;
  const createdAt = new Date().toISOString();
  const head = { kind: 'emend-backup', createdAt, home, host: await hostId(home) } as const;
  await unlinkIfThere(realSys, temp);
  const writer = await BackupWriter.create(temp, head);
  try {
    const copy = {
      home,
      writer,
      named: new Set<BlobRef>(),
      contents: new Set<BlobRef>(),
      damaged: [],
    };
    const database = await copyDatabase(copy);
    for (const place of PLACES) await copyPlace(copy, place);
    for (const name of FILES) await copyFile(copy, name);
    await copyPlace(copy, 'blobs');
    await copyMissed(copy);
    await writer.finish();
    // A disk without hard links, as many for backups are, has this way only.
    await link(temp, path).catch((error: unknown) => {
      if (!linksFail(error)) throw error;
      return rename(temp, path);
    });
    await realSys.fsyncDir(dirname(path));
    const { files, bytes } = writer;
    return { path, files, bytes, damaged: copy.damaged, database };
  } finally {
    await writer.close();
    await unlinkIfThere(realSys, temp);
  }
};

/** Each directory is listed when its turn comes: what was written since then is named by nothing that was copied. */
const copyPlace = async (copy: Copy, place: string): Promise<void> => {
  const directory = join(copy.home, place);
  const listed = await orNull(readdir(directory, { recursive: true, withFileTypes: true }), ABSENT);
  for (const entry of listed ?? [])
    if (entry.isFile())
      await copyFile(
        copy,
        join(place, join(entry.parentPath, entry.name).slice(directory.length + 1)),
      );
};

/** A content that `emend gc` has moved aside goes back to its place. */
const copyFile = async (copy: Copy, name: string): Promise<void> => {
  if (SKIPPED.test(name)) return;
  const path = isAside(name) ? unAside(name) : name;
  const hash = /^blobs\/..\/([0-9a-f]{64})$/.exec(path)?.[1];
  if (hash === undefined) {
    await add(copy, name, path, 0o600);
    return;
  }
  const ref = `sha256:${hash}`;
  if (!isBlobRef(ref) || copy.contents.has(ref)) return;
  const sha256 =
    (await add(copy, name, path, 0o400)) ?? (await add(copy, `${path}.GC`, path, 0o400));
  if (sha256 === null) return;
  copy.contents.add(ref);
  if (sha256 !== hash) copy.damaged.push(path);
};

const add = ({ home, writer, named }: Copy, name: string, path: string, mode: number) => {
  let rest = '';
  return writer.add(join(home, name), { path, mode }, (chunk) => {
    const text = rest + chunk.toString('latin1');
    for (const ref of blobRefsIn(text)) named.add(ref);
    rest = text.slice(1 - REF_CHARS);
  });
};

/** Copies contents that were moved while their directory was listed, and what they name. */
const copyMissed = async (copy: Copy): Promise<void> => {
  // A set grows while it is walked.
  for (const ref of copy.named)
    if (!copy.contents.has(ref)) await copyFile(copy, join('blobs', blobName(ref)));
};

/**
 * Copies the database of the dev server. In its mode SQLite appends to the write-ahead log, and changes the database itself only to take over
 * that log. So a database that did not change, and then its log, are what a kill would have left. False: there is none.
 */
const copyDatabase = async ({ home, writer }: Copy): Promise<boolean> => {
  const name = 'server/db/temporal.sqlite';
  const path = join(home, name);
  const before = writer.mark();
  for (let tries = 0; tries < DATABASE_TRIES; tries++) {
    const state = await stateOf(path);
    if (state === null) return false;
    if (Date.now() - state.changed_ms > DATABASE_QUIET_MS) {
      for (const suffix of ['', '-wal', '.cli-version'])
        await writer.add(`${path}${suffix}`, { path: `${name}${suffix}`, mode: 0o600 });
      const after = await stateOf(path);
      if (
        after?.changed_ms === state.changed_ms &&
        after.size === state.size &&
        after.head === state.head
      )
        return true;
      await writer.rewind(before);
    }
    await sleep(DATABASE_QUIET_MS);
  }
  return fail(
    'busy',
    `The database of the dev server, ${path}, was written all the time.`,
    'Try again when fewer runs are at work, or stop `emend dev` first.',
  );
};

const stateOf = async (path: string) => {
  const found = await orNull(stat(path), ABSENT);
  if (found === null) return null;
  return { changed_ms: found.mtimeMs, size: found.size, head: await walHead(`${path}-wal`) };
};

const walHead = async (path: string): Promise<string | null> => {
  const file = await orNull(open(path, 'r'), ABSENT);
  if (file === null) return null;
  try {
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(WAL_HEAD_BYTES),
      0,
      WAL_HEAD_BYTES,
      0,
    );
    return buffer.toString('hex', 0, bytesRead);
  } finally {
    await file.close();
  }
};
