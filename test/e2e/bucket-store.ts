/** The store that homes of a scene share: each a prefix of a bucket in one SeaweedFS, which a test file starts when it first needs one. */
import { randomUUID } from 'node:crypto';
import { afterAll } from '@jest/globals';
import { findSeaweed, startSeaweed, type Seaweed } from '../support/seaweed.js';
import { longOnly, testIf } from '../support/skipped.js';

const found = await findSeaweed();
/** Null: a store can be shared here. */
export const whyNoBucket = 'why' in found ? found.why : null;

/** `test` if a store can be shared; if not the tests are skipped, and the reason is printed. Called once by a file, for all of its tests. */
export const testInBucket = (): ReturnType<typeof testIf> =>
  testIf(whyNoBucket === null, whyNoBucket ?? '');
/** The same for a test that only `npm run test:long` runs. */
export const longInBucket = (reason: string): ReturnType<typeof testIf> =>
  whyNoBucket === null ? longOnly(reason) : testIf(false, whyNoBucket);

let server: Promise<Seaweed> | null = null;
const users = new Set<symbol>();
let isOver = false;
const closeUnused = async (): Promise<void> => {
  if (isOver && users.size === 0) await (await server)?.close();
};
// A file may close its scene in an `afterAll` that runs after this one.
afterAll(async () => {
  isOver = true;
  await closeUnused();
});

/** Keeps the server until the returned function is called. */
export const keepServer = (): (() => Promise<void>) => {
  const user = Symbol();
  users.add(user);
  return async () => {
    users.delete(user);
    await closeUnused();
  };
};

const start = async (): Promise<Seaweed> => {
  if ('why' in found) throw new Error(found.why);
  const seaweed = await startSeaweed(found.path);
  // The SDK reads its settings from the process that it runs in, which is also this one. Those of your account do not count.
  for (const name of Object.keys(process.env).filter((key) => key.startsWith('AWS_')))
    Reflect.deleteProperty(process.env, name);
  Object.assign(process.env, seaweed.env, { EMEND_STORE_PATH_STYLE: '1' });
  return seaweed;
};

/** Returns the variables of a store that is still empty. */
export const freshStore = async (): Promise<Readonly<Record<string, string>>> => {
  const { bucket, env } = await (server ??= start());
  return {
    ...env,
    EMEND_STORE: `s3://${bucket}/${randomUUID()}`,
    EMEND_STORE_PATH_STYLE: '1',
  };
};
