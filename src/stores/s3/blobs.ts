/** Blobs in a bucket: `blobs/<first 2 digits>/<sha-256>`. */
import { fail } from '../../shared/problems.js';
import type { BlobRef } from '../../shared/ids.js';
import { refOf } from '../../system/hash.js';
import { besideGc, blobName } from '../directory/blobs.js';
import type { BlobStore } from '../ports.js';
import type { Objects } from './objects.js';

export const createS3Blobs = (objects: Objects): BlobStore => {
  const keyOf = (ref: BlobRef): string => `blobs/${blobName(ref)}`;
  return {
    // The same bytes again do no harm, and they take the place of damaged ones.
    put: async (bytes) => {
      const ref = refOf(bytes);
      await objects.put(keyOf(ref), bytes);
      return ref;
    },
    get: async (ref) => {
      const key = keyOf(ref);
      const bytes = await besideGc(key, (each) => objects.get(each));
      if (bytes === null) return fail('blob_lost', `The blob ${ref} is not at ${objects.place.url}/${key}.`);
      if (refOf(bytes) === ref) return bytes;
      return fail('blob_lost', `The object at ${objects.place.url}/${key} no longer contains the blob ${ref}.`);
    },
  };
};
