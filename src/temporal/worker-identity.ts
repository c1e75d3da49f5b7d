/** What the server calls a worker (in the UI, in histories): process, host, and which store it works with. */
import { hostname } from 'node:os';

const SHOWN_DIGITS = 8;
const STORE = /, store ([0-9a-f]{8})$/;

export const workerIdentity = (storeId: string): string =>
  `${process.pid}@${hostname()}, store ${storeId.slice(0, SHOWN_DIGITS)}`;

/** The pollers that work with another store than this: what they would do is lost to it. */
export const ofOtherStores = (identities: readonly string[], storeId: string): readonly string[] =>
  identities.filter((identity) => {
    const store = STORE.exec(identity)?.[1];
    return store !== undefined && store !== storeId.slice(0, SHOWN_DIGITS);
  });
