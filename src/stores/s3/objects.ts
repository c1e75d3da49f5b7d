/**
 * Objects under one prefix of a bucket, of any service that speaks S3. Where it is, and as whom, is the SDK's own environment and
 * configuration. Every object carries its hash, which is checked at every read; whoever put it is told by an id of the put, so that a put
 * whose reply was lost is known again when it is sent once more.
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

const CONNECT_MS = 3_000; // bound: A service that speaks S3 takes a connection within this time,
const ANSWER_MS = 20_000; // bound: begins its answer within this (conditional puts on one key wait for each other),
const TRY_MS = 60_000; // bound: and has ended it within this; else the request is made again,
const TRIES = 5; // bound: so many times in all,
const PAUSE_MS = 100; // bound: after this pause, four times as long before each further try, and up to half of it more, by chance.

/** Tests have shorter ones. */
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

/** Keys are relative to the prefix. Every failure is a ProblemError `store_unusable` that says what to do. */
export interface Objects {
  readonly place: Place;
  get(key: string): Promise<Uint8Array | null>;
  /** The first writer's bytes stand, whoever comes later. `bytes`: what stands there. */
  putIfAbsent(
    key: string,
    bytes: Uint8Array,
  ): Promise<{ readonly bytes: Uint8Array; readonly created: boolean }>;
  /** Whatever stands there. Returns how many tries it took: after more than one, an earlier one may still arrive. */
  put(key: string, bytes: Uint8Array): Promise<number>;
  /** When it was last put; null: it is not there. */
  head(key: string): Promise<Found | null>;
  /** In the order of their keys; `after`: only those that come after this key. */
  list(prefix: string, after?: string): Promise<readonly Found[]>;
  /** What stands between the prefix and the next `/`. */
  names(prefix: string): Promise<readonly string[]>;
  remove(key: string): Promise<void>;
}

const nullOfAbsent = (error: unknown): null => {
  if (isAbsent(error)) return null;
  throw error;
};

export const openObjects = (place: Place, times: Times = TIMES): Objects => {
  // Else it says on every start that its releases of 2027 need a later Node: the version is pinned.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  const client = new S3Client({
    forcePathStyle: place.pathStyle,
    // Tries are counted here: the SDK's own end where the answer begins, and a body can be cut off.
    maxAttempts: 1,
    // All bytes are checked here, whatever the service knows of checksums.
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: times.connect_ms,
      requestTimeout: times.answer_ms,
      throwOnRequestTimeout: true,
    },
  });
  const { bucket: Bucket, url } = place;
  const at = (key: string): { readonly Bucket: string; readonly Key: string } => ({
    Bucket,
    Key: `${place.prefix}${key}`,
  });

  const tried = async <T>(
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

  const read = (key: string) =>
    tried(`Reading ${url}/${key}`, async (abortSignal) => {
      const said = await client
        .send(new GetObjectCommand(at(key)), { abortSignal })
        .catch(nullOfAbsent);
      if (said === null) return { found: null };
      const { Body, Metadata = {} } = said;
      const bytes = (await Body?.transformToByteArray()) ?? new Uint8Array();
      // Once more: what is damaged may be the way, not the object.
      if (sha256(bytes) !== Metadata.sha256) throw new Damaged(Metadata.sha256 === undefined);
      return { found: { bytes, put: Metadata.put } };
    });

  const written = (key: string, bytes: Uint8Array, condition: { readonly IfNoneMatch?: '*' }) => {
    const put = randomUUID();
    const Metadata = { sha256: sha256(bytes), put };
    return tried(`Writing ${url}/${key}`, async (abortSignal) => {
      try {
        await client.send(
          new PutObjectCommand({ ...at(key), Body: bytes, Metadata, ...condition }),
          { abortSignal },
        );
        return { put, refused: false };
      } catch (error) {
        if (isRefused(error)) return { put, refused: true };
        throw error;
      }
    });
  };

  const pages = async (
    prefix: string,
    { delimiter, after }: { readonly delimiter?: string; readonly after?: string | undefined } = {},
  ) => {
    const all: { found: Found[]; names: string[] } = { found: [], names: [] };
    const { Bucket, Key: Prefix } = at(prefix);
    for (let ContinuationToken: string | undefined, more = true; more;) {
      const page = new ListObjectsV2Command({
        Bucket,
        Prefix,
        Delimiter: delimiter,
        StartAfter: after === undefined ? undefined : at(after).Key,
        ContinuationToken,
      });
      const said = await tried(`Listing ${url}/${prefix}`, (abortSignal) =>
        client.send(page, { abortSignal }),
      );
      for (const { Key = '', Size = 0, LastModified } of said.Contents ?? [])
        all.found.push({
          key: named(place, Key),
          bytes: Size,
          changed_ms: LastModified?.getTime() ?? 0,
        });
      for (const each of said.CommonPrefixes ?? [])
        all.names.push((each.Prefix ?? '').slice(Prefix.length, -1));
      ContinuationToken = said.NextContinuationToken;
      more = ContinuationToken !== undefined;
    }
    return all;
  };

  return {
    place,
    get: async (key) => (await read(key)).found?.bytes ?? null,
    putIfAbsent: async (key, bytes) => {
      for (let tries = 1; tries <= times.tries; tries++) {
        const { put, refused } = await written(key, bytes, { IfNoneMatch: '*' });
        if (!refused) return { bytes, created: true };
        const { found } = await read(key);
        // Removed in between: then it is absent.
        if (found !== null) return { bytes: found.bytes, created: found.put === put };
      }
      return fail(
        'store_unusable',
        `${url}/${key} was refused as already there, but is not there.`,
        OTHER,
      );
    },
    put: async (key, bytes) => (await written(key, bytes, {})).tries,
    head: async (key) => {
      const { found } = await tried(`Looking at ${url}/${key}`, async (abortSignal) => ({
        found: await client
          .send(new HeadObjectCommand(at(key)), { abortSignal })
          .catch(nullOfAbsent),
      }));
      return (
        found && {
          key,
          bytes: found.ContentLength ?? 0,
          changed_ms: found.LastModified?.getTime() ?? 0,
        }
      );
    },
    list: async (prefix, after) => (await pages(prefix, { after })).found,
    names: async (prefix) => {
      const { found, names } = await pages(prefix, { delimiter: '/' });
      return [...names, ...found.map(({ key }) => key.slice(prefix.length))];
    },
    remove: async (key) => {
      await tried(`Removing ${url}/${key}`, (abortSignal) =>
        client.send(new DeleteObjectCommand(at(key)), { abortSignal }),
      );
    },
  };
};
