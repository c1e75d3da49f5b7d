import type { BlobRef } from '../../src/shared/ids.js';
import type { BlobStore } from '../../src/stores/ports.js';

/** Does the store have it, whole? */
export const holds = (blobs: Pick<BlobStore, 'get'>, ref: BlobRef): Promise<boolean> =>
  blobs.get(ref).then(
    () => true,
    () => false,
  );
