/**
 * Reads and writes objects under one prefix of a bucket, of any service that speaks S3. The SDK takes the address and the credentials from its
 * own environment and configuration. Every object has its hash, which is checked at every read, and the id of its put, by which a put whose reply
 * was lost is recognized when it is sent again.
 */
import { randomUUID } from 'node:crypto';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { fail, ProblemError } from '../../shared/problems.js';
import { sha256 } from '../../system/hash.js';
import {
  Damaged,
  explain,
  isAbsent,
  isRefused,
  isTransient,
  named,
  OTHER,
  TooLate,
  type Place,
} from './failures.js';

const CONNECT_MS = 3_000; // bound: Time in which an S3 service accepts a connection.
const ANSWER_MS = 20_000; // bound: Time in which it begins its reply. Conditional puts of one key wait for each other.
const TRY_MS = 60_000; // bound: Time in which it ends its reply. After it the request is sent again.
const TRIES = 5; // bound: Tries of one request in all.
const PAUSE_MS = 100; // bound: Pause before the second try. It is four times as long before each further one, plus a random part of up to a half.

/** Time limits and tries. Tests have shorter ones. */
export const TIMES = {
  connect_ms: CONNECT_MS,
  answer_ms: ANSWER_MS,
  try_ms: TRY_MS,
  tries: TRIES,
  pause_ms: PAUSE_MS,
};
export type Times = typeof TIMES;

export interface Found {
  readonly key: string;
  readonly bytes: number;
  /** Milliseconds since 1970, by the service's clock. */
  readonly changed_ms: number;
}

/** Objects of a store. Keys are relative to the prefix. Every failure is a ProblemError `store_unusable` with advice. */
export interface Objects {
  readonly place: Place;
  get(key: string): Promise<Uint8Array | null>;
  /** Puts an object unless the key exists. Returns the stored bytes, which are those of the first writer. */
  putIfAbsent(
    key: string,
    bytes: Uint8Array,
  ): Promise<{ readonly bytes: Uint8Array; readonly created: boolean }>;
  /** Puts an object in any case. Returns the number of tries: after more than one, an earlier one may still arrive. */
  put(key: string, bytes: Uint8Array): Promise<number>;
  /** Returns an object's size and the time of its last put; null: there is none. */
  head(key: string): Promise<Found | null>;
  /** Lists objects in the order of their keys. `after`: only those with a later key. */
  list(prefix: string, after?: string): Promise<readonly Found[]>;
  /** Returns the parts of keys between the prefix and the next `/`. */
  names(prefix: string): Promise<readonly string[]>;
  remove(key: string): Promise<void>;
}

const nullOfAbsent = (error: unknown): null => {
  if (isAbsent(error)) return null;
  throw error;
};

/** A prefix of a bucket, with the client that reaches it. */
interface Connection {
  readonly client: S3Client;
  readonly place: Place;
  readonly times: Times;
}

const createClient = (place: Place, times: Times): S3Client => {
  // Without it the SDK warns at every start that its releases of 2027 need a later Node. The version is pinned.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  return new S3Client({
    forcePathStyle: place.pathStyle,
    // Tries are counted here: the SDK's own tries end when the reply begins, and a body can be cut off.
    maxAttempts: 1,
    // All bytes are checked here, also if the service has no checksums.
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: times.connect_ms,
      requestTimeout: times.answer_ms,
      throwOnRequestTimeout: true,
    },
  });
};

const addressOf = (
  { bucket, prefix }: Place,
  key: string,
): { readonly Bucket: string; readonly Key: string } => ({
  Bucket: bucket,
  Key: `${prefix}${key}`,
});

/** Runs a request until it succeeds or fails for good. Adds the number of tries to its result. */
const withTries = async <T>(
  { place, times }: Connection,
  what: string,
  act: (abortSignal: AbortSignal) => Promise<T>,
): Promise<T & { tries: number }> => {
  for (let tries = 1, pause_ms = times.pause_ms; ; tries++, pause_ms *= 4) {
    const signal = AbortSignal.timeout(times.try_ms);
    try {
      return { ...(await act(signal)), tries };
    } catch (thrown) {
      if (thrown instanceof ProblemError) throw thrown;
      const error = signal.aborted ? new TooLate() : thrown;
      if (tries >= times.tries || !isTransient(error)) throw explain(error, what, tries, place);
      await new Promise((resolve) => setTimeout(resolve, pause_ms * (1 + Math.random() / 2)));
    }
  }
};

/** Reads an object, and checks its hash. */
const readObject = (connection: Connection, key: string) =>
  withTries(connection, `Reading ${connection.place.url}/${key}`, async (abortSignal) => {
    const reply = await connection.client
      .send(new GetObjectCommand(addressOf(connection.place, key)), { abortSignal })
      .catch(nullOfAbsent);
    if (reply === null) return { found: null };
    const { Body, Metadata = {} } = reply;
    const bytes = (await Body?.transformToByteArray()) ?? new Uint8Array();
    // It is read again: the transfer may be damaged, not the object.
    if (sha256(bytes) !== Metadata.sha256) throw new Damaged(Metadata.sha256 === undefined);
    return { found: { bytes, put: Metadata.put } };
  });

/** Writes an object with its hash and the id of this put. `refused`: the condition was not met. */
const writeObject = (
  connection: Connection,
  key: string,
  bytes: Uint8Array,
  condition: { readonly IfNoneMatch?: '*' },
) => {
  const { client, place } = connection;
  const put = randomUUID();
  const Metadata = { sha256: sha256(bytes), put };
  return withTries(connection, `Writing ${place.url}/${key}`, async (abortSignal) => {
    try {
      await client.send(
        new PutObjectCommand({ ...addressOf(place, key), Body: bytes, Metadata, ...condition }),
        { abortSignal },
      );
      return { put, refused: false };
    } catch (error) {
      if (isRefused(error)) return { put, refused: true };
      throw error;
    }
  });
};

/** Lists all objects with a prefix; with a delimiter also the parts of their keys up to it. */
const listPages = async (
  connection: Connection,
  prefix: string,
  { delimiter, after }: { readonly delimiter?: string; readonly after?: string | undefined } = {},
) => {
  const { client, place } = connection;
  const all: { found: Found[]; names: string[] } = { found: [], names: [] };
  const { Bucket, Key: Prefix } = addressOf(place, prefix);
  for (let ContinuationToken: string | undefined, more = true; more;) {
    const page = new ListObjectsV2Command({
      Bucket,
      Prefix,
      Delimiter: delimiter,
      StartAfter: after === undefined ? undefined : addressOf(place, after).Key,
      ContinuationToken,
    });
    const reply = await withTries(connection, `Listing ${place.url}/${prefix}`, (abortSignal) =>
      client.send(page, { abortSignal }),
    );
    for (const { Key = '', Size = 0, LastModified } of reply.Contents ?? [])
      all.found.push({
        key: named(place, Key),
        bytes: Size,
        changed_ms: LastModified?.getTime() ?? 0,
      });
    for (const { Prefix: name = '' } of reply.CommonPrefixes ?? [])
      all.names.push(name.slice(Prefix.length, -1));
    ContinuationToken = reply.NextContinuationToken;
    more = ContinuationToken !== undefined;
  }
  return all;
};

export const openObjects = (place: Place, times: Times = TIMES): Objects => {
  const client = createClient(place, times);
  const connection = { client, place, times };
  const { url } = place;
  return {
    place,
    get: async (key) => (await readObject(connection, key)).found?.bytes ?? null,
    putIfAbsent: async (key, bytes) => {
      for (let tries = 1; tries <= times.tries; tries++) {
        const { put, refused } = await writeObject(connection, key, bytes, { IfNoneMatch: '*' });
        if (!refused) return { bytes, created: true };
        const { found } = await readObject(connection, key);
        // It was removed in between, so it is put again.
        if (found !== null) return { bytes: found.bytes, created: found.put === put };
      }
      return fail(
        'store_unusable',
        `${url}/${key} was refused as already there, but is not there.`,
        OTHER,
      );
    },
    put: async (key, bytes) => (await writeObject(connection, key, bytes, {})).tries,
    head: async (key) => {
      const { found } = await withTries(
        connection,
        `Looking at ${url}/${key}`,
        async (abortSignal) => ({
          found: await client
            .send(new HeadObjectCommand(addressOf(place, key)), { abortSignal })
            .catch(nullOfAbsent),
        }),
      );
      return (
        found && {
          key,
          bytes: found.ContentLength ?? 0,
          changed_ms: found.LastModified?.getTime() ?? 0,
        }
      );
    },
    list: async (prefix, after) => (await listPages(connection, prefix, { after })).found,
    names: async (prefix) => {
      const { found, names } = await listPages(connection, prefix, { delimiter: '/' });
      return [...names, ...found.map(({ key }) => key.slice(prefix.length))];
    },
    remove: async (key) => {
      await withTries(connection, `Removing ${url}/${key}`, (abortSignal) =>
        client.send(new DeleteObjectCommand(addressOf(place, key)), { abortSignal }),
      );
    },
  };
};
