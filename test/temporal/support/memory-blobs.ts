/** A blob store in memory that can be told to fail, and that counts. */
import { createHash } from 'node:crypto';
import { fail } from '../../../src/shared/problems.js';
import type { BlobRef } from '../../../src/shared/ids.js';
import type { BlobStore } from '../../../src/stores/ports.js';

export interface MemoryBlobs extends BlobStore {
  readonly kept: Map<BlobRef, Uint8Array>;
  /** While set, `put` throws this. */
  failing: Error | null;
}

export const memoryBlobs = (): MemoryBlobs => {
  const kept = new Map<BlobRef, Uint8Array>();
  const store: MemoryBlobs = {
    kept,
    failing: null,
    put: async (bytes) => {
      if (store.failing) throw store.failing;
      const ref: BlobRef = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      kept.set(ref, Uint8Array.from(bytes));
      return ref;
    },
    get: async (ref) => kept.get(ref) ?? fail('blob_lost', `${ref} is not there.`),
  };
  return store;
};
