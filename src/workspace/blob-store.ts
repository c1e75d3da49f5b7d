/** Blobs on disk: `<dir>/<first 2 digits>/<sha-256>`, written once, checked on every read. */
import { dirname, join } from 'node:path';
import { fail } from '../shared/problems.js';
import { isBlobRef } from '../shared/refs.js';
import type { BlobRef } from '../shared/refs.js';
import { refOf } from './hash.js';
import { onDisk, orNull, putFileIfAbsent, unlinkIfThere } from './sys-put.js';
import { realSys } from './sys.js';
import type { Sys } from './sys.js';
import type { BlobStore } from './types.js';

export interface DiskStoreOptions {
  /** Absolute; made when first needed. */
  readonly dir: string;
  readonly sys?: Sys;
}

export const createBlobStore = ({ dir, sys = realSys }: DiskStoreOptions): BlobStore => {
  const pathOf = (ref: BlobRef): string => {
    // A ref may come from a file or over the network: it must not become a path by itself.
    if (!isBlobRef(ref)) return fail('blob_lost', `${JSON.stringify(ref)} is no blob reference.`);
    const hex = ref.slice('sha256:'.length);
    return join(dir, hex.slice(0, 2), hex);
  };

  return {
    put: async (bytes) => {
      const ref = refOf(bytes);
      const path = pathOf(ref);
      return onDisk(`Storing a blob at ${path}`, async () => {
        const put = await putFileIfAbsent(sys, path, bytes, { mode: 0o400 });
        if (put.created || refOf(put.bytes) === ref) return ref;
        // A damaged blob is worth nothing: the right bytes take its place.
        await unlinkIfThere(sys, path);
        const again = await putFileIfAbsent(sys, path, bytes, { mode: 0o400 });
        return refOf(again.bytes) === ref ? ref : fail('disk', `The blob at ${path} does not keep its bytes.`);
      });
    },
    get: async (ref) => {
      const path = pathOf(ref);
      const bytes = await onDisk(`Reading the blob at ${path}`, () => orNull(sys.readFile(path)));
      if (bytes === null) return fail('blob_lost', `The blob ${ref} is not at ${path}.`);
      return refOf(bytes) === ref ? bytes : fail('blob_lost', `The file at ${path} no longer holds the blob ${ref}.`);
    },
    has: async (ref) => {
      const path = pathOf(ref);
      const stat = await onDisk(`Looking for the blob at ${path}`, () => orNull(sys.stat(path)));
      if (stat === null) return false;
      // Somebody else may just have linked it; a ref that we vouch for must survive a power cut.
      await onDisk(`Looking for the blob at ${path}`, () => sys.fsyncDir(dirname(path)));
      return true;
    },
  };
};
