/** The objects of a store as files, and how they are removed beside processes that write. Paths are `s3://bucket/prefix/key`. */
import { together } from '../../system/turns.js';
import { asidePath, besideGc, isAside, unAside } from '../directory/blobs.js';
import type { StoredFile, StoreFiles } from '../ports.js';
import type { Found, Objects } from './objects.js';

export const createS3Files = (objects: Objects): StoreFiles => {
  const { url } = objects.place;
  const keyOf = (path: string): string => path.slice(url.length + 1);
  const fileOf = ({ key, bytes, changed_ms }: Found): StoredFile => ({
    ...{ path: `${url}/${key}`, bytes, changed_ms, written_ms: changed_ms },
  });
  const list = async (place: string): Promise<readonly StoredFile[]> =>
    (await objects.list(place === url ? '' : `${keyOf(place)}/`)).map(fileOf);
  const at = async (path: string): Promise<StoredFile | null> => {
    const found = await objects.head(keyOf(path));
    return found && fileOf(found);
  };
  return {
    list,
    at,
    readText: async (path) => {
      const bytes = await besideGc(path, (each) => objects.get(keyOf(each)));
      return Buffer.from(bytes ?? []).toString('latin1');
    },
    remove: async (path) => {
      await together([{ path }, ...(await list(path))], (each) => objects.remove(keyOf(each.path)));
    },
    // A put that comes between the look and the removal is kept aside: the next `emend gc` puts back what is named by then, and removes
    // the rest.
    removeBlob: async ({ path, written_ms }) => {
      const key = keyOf(path);
      if ((await objects.head(key))?.changed_ms !== written_ms) return false;
      if (!isAside(path)) {
        const bytes = await objects.get(key);
        if (bytes === null) return false;
        await objects.put(asidePath(key), bytes);
      }
      await objects.remove(key);
      return true;
    },
    restoreBlob: async (aside) => {
      const bytes = await objects.get(keyOf(aside));
      if (bytes === null) return;
      await objects.put(keyOf(unAside(aside)), bytes);
      await objects.remove(keyOf(aside));
    },
  };
};
