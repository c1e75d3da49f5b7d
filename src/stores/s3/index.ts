/** The door of src/stores/s3: a store in a bucket. Loads the SDK, so only where a store is one. */
import { createS3Archive } from './archive.js';
import { createS3Blobs } from './blobs.js';
import { createS3Files } from './files.js';
import { openObjects, type Objects, type Times } from './objects.js';
import { createS3Calls, createS3Records } from './records.js';
import type { Place } from './failures.js';
import { fail } from '../../shared/problems.js';
import type { Environment } from '../../system/environment.js';
import type { Stores } from '../ports.js';

export type { Objects } from './objects.js';

/** Throws ProblemError `store_unusable`. `url`: what EMEND_STORE says. */
const placeOf = (url: string, env: Environment): Place => {
  const [, bucket = '', path = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9._-]+)*)\/?$/.exec(url) ?? [];
  if (bucket === '')
    return fail(
      'store_unusable',
      `EMEND_STORE is ${JSON.stringify(url)}, which names no bucket.`,
      'Write it as s3://BUCKET or s3://BUCKET/PREFIX (the prefix: letters, digits, ".", "_", "-", "/").',
    );
  const pathStyle = ['1', 'true'].includes(env.EMEND_STORE_PATH_STYLE ?? '');
  return { bucket, prefix: path === '' ? '' : `${path.slice(1)}/`, url: `s3://${bucket}${path}`, pathStyle };
};

/** One client a process and place: each has its own connections. */
const opened = new Map<string, Objects>();

export const objectsAt = (url: string, env: Environment, times?: Times): Objects => {
  const place = placeOf(url, env);
  const known = times === undefined ? opened.get(place.url) : undefined;
  const objects = known ?? openObjects(place, times);
  if (times === undefined) opened.set(place.url, objects);
  return objects;
};

/** `writer`: the name of this host's logs in archives. */
export const s3Stores = (objects: Objects, writer: string): Stores => ({
  blobs: createS3Blobs(objects),
  records: createS3Records(objects),
  archive: createS3Archive(objects, writer),
  calls: createS3Calls(objects),
  files: createS3Files(objects),
});
