/** Stores blobs on disk: `<dir>/<first 2 digits>/<sha-256>`, written once, checked on every read. */
import { join } from 'node:path';
import { orNull, onDisk, putFileIfAbsent, unlinkIfThere } from '../../system/durable.js';
import { fail } from '../../shared/problems.js';
import { isBlobRef, type BlobRef } from '../../shared/ids.js';
import { rename, stat, unlink } from '../../system/fs.js';
import { refOf } from '../../system/hash.js';
import { realSys, type Sys } from '../../system/sys.js';
import type { BlobStore, StoredFile, StoreFiles } from '../ports.js';
import { readdir, readFile, rm } from 'node:fs/promises';
import { ABSENT } from '../../system/given-file.js';
import { together } from '../../system/together.js';

const PUT_TRIES = 5; // bound: Puts of a blob that `emend gc` removes each time before it can be touched.

// A blob is removed while other processes put blobs. A process that relies on an existing blob touches it first (`put`), and names it only then.
// So the blob is first moved aside. A touch that came before is seen at the moved file, and the blob is moved back. A touch that comes after
// finds no file, and its process writes the blob again. Readers look at both names.

const ASIDE = '.GC';
/** Returns the path of a blob while Emend decides whether to remove it. */
export const asidePath = (path: string): string => `${path}${ASIDE}`;
export const isAside = (path: string): boolean => path.endsWith(ASIDE);
/** Looks at both names of a blob, and at the first again: another process may move it aside, and back, between two looks. */
export const besideGc = async <T>(
  path: string,
  look: (place: string) => Promise<T | null>,
): Promise<T | null> => (await look(path)) ?? (await look(asidePath(path))) ?? (await look(path));
/** Returns the path of a blob that was moved aside. */
export const unAside = (aside: string): string => aside.slice(0, -ASIDE.length);

/** Removes the blob unless it was written or touched since `written_ms` (its mtime). False: it stays, or was removed already. */
export const removeBlob = async (path: string, written_ms: number): Promise<boolean> => {
  const aside = asidePath(path);
  if ((await orNull(rename(path, aside).then(() => true))) === null) return false;
  // Null: another removal, which began after ours, has put it back.
  const moved = await orNull(stat(aside));
  if (moved?.mtimeMs === written_ms) return (await orNull(unlink(aside).then(() => true))) !== null;
  await orNull(restoreBlob(aside));
  return false;
};

/** Puts a blob back that was moved aside. A file that another process wrote there meanwhile has the same bytes. */
const restoreBlob = (aside: string): Promise<void> => rename(aside, unAside(aside));

export interface DiskStoreOptions {
  /** Absolute path. The directory is made when it is first needed. */
  readonly dir: string;
  readonly sys?: Sys;
}

/** Returns a blob's path below the folder of blobs. A reference may come from a file or the network, so it is checked before it becomes a path. */
export const blobName = (ref: BlobRef): string => {
  if (!isBlobRef(ref)) return fail('blob_lost', `${JSON.stringify(ref)} is not a blob reference.`);
  const hex = ref.slice('sha256:'.length);
  return `${hex.slice(0, 2)}/${hex}`;
};

export const createBlobStore = ({ dir, sys = realSys }: DiskStoreOptions): BlobStore => {
  const pathOf = (ref: BlobRef): string => join(dir, blobName(ref));

  /** Touches a blob. False: it was removed. */
  const touch = async (path: string): Promise<boolean> =>
    (await orNull(sys.touch(path).then(() => true))) !== null;

  return {
    put: async (bytes) => {
      const modes = { mode: 0o400 };
      const ref = refOf(bytes);
      const path = pathOf(ref);
      return onDisk(`Storing a blob at ${path}`, async () => {
        let put = await putFileIfAbsent(sys, path, bytes, modes);
        // An existing blob is touched, or `emend gc` may remove it before it is named. A blob that it removed is put again.
        for (let tries = 0; !put.created && !(await touch(path)) && tries < PUT_TRIES; tries++)
          put = await putFileIfAbsent(sys, path, bytes, modes);
        if (put.created || refOf(put.bytes) === ref) return ref;
        // The right bytes replace a damaged blob.
        await unlinkIfThere(sys, path);
        const again = await putFileIfAbsent(sys, path, bytes, modes);
        return refOf(again.bytes) === ref
          ? ref
          : fail('disk', `The blob at ${path} does not match its hash.`);
      });
    },
    get: async (ref) => {
      const path = pathOf(ref);
      const read = () => besideGc(path, (place) => orNull(sys.readFile(place)));
      const bytes = await onDisk(`Reading the blob at ${path}`, read);
      if (bytes === null) return fail('blob_lost', `The blob ${ref} is not at ${path}.`);
      return refOf(bytes) === ref
        ? bytes
        : fail('blob_lost', `The file at ${path} no longer contains the blob ${ref}.`);
    },
  };
};

// The files of a home are listed and removed while processes write. Only the failures `ABSENT` are ignored: a file that cannot be read may name
// a blob that must stay.

const fileAt = async (path: string): Promise<StoredFile | null> => {
  const found = await orNull(stat(path), ABSENT);
  if (found?.isFile() !== true) return null;
  const { size: bytes, mtimeMs: written_ms, ctimeMs } = found;
  return { path, bytes, changed_ms: Math.max(written_ms, ctimeMs), written_ms };
};

/** Failures that are ignored: a directory may be removed meanwhile, but the target of a link is a disk that must be there. */
const GONE = { directory: ABSENT, link: ['ENOTDIR'] } as const;

/** Lists files directory by directory. Links right in the place are followed: a part of a home may be on another disk. */
async function* walk(
  place: string,
  skipped: readonly string[] = [],
  kind: 'place' | keyof typeof GONE = 'place',
): AsyncGenerator<readonly StoredFile[]> {
  const gone = GONE[kind === 'link' ? 'link' : 'directory'];
  const all = (await orNull(readdir(place, { withFileTypes: true }), gone)) ?? [];
  const entries = all.filter(({ name }) => !skipped.includes(join(place, name)));
  const files = await together(
    entries.filter((entry) => entry.isFile()),
    ({ name }) => fileAt(join(place, name)),
  );
  yield files.filter((file) => file !== null);
  for (const entry of entries) {
    const path = join(place, entry.name);
    if (entry.isDirectory()) yield* walk(path, skipped, 'directory');
    if (kind === 'place' && entry.isSymbolicLink()) yield* walk(path, skipped, 'link');
  }
}

export const diskFiles: StoreFiles = {
  list: async (directory, skipped) => {
    const all = await readdir(directory, { withFileTypes: true });
    const top = all.filter(({ name }) => join(directory, name) !== skipped);
    // A part of a home may be on another disk.
    const links = top.filter((entry) => entry.isSymbolicLink());
    const linked = await together(links, ({ name }) =>
      orNull(diskFiles.list(join(directory, name)), ['ENOTDIR']),
    );
    const below = await together(
      top.filter((entry) => entry.isDirectory()),
      ({ name }) =>
        orNull(readdir(join(directory, name), { recursive: true, withFileTypes: true }), ABSENT),
    );
    const files = await together(
      [...top, ...below.flatMap((entries) => entries ?? [])].filter((entry) => entry.isFile()),
      (entry) => fileAt(join(entry.parentPath, entry.name)),
    );
    return [...files, ...linked.flat()].filter((file) => file !== null);
  },
  walk,
  fileAt,
  readText: async (path) => {
    const read = (place: string) =>
      onDisk(`Reading ${place}`, () => orNull(readFile(place, 'latin1'), ABSENT));
    return (await besideGc(path, read)) ?? '';
  },
  remove: (path) => rm(path, { recursive: true, force: true }),
  removeBlob: ({ path, written_ms }) => removeBlob(path, written_ms),
  restoreBlob: (aside) => restoreBlob(aside).catch(() => undefined),
};
