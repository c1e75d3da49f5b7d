/**
 * Keeps Temporal's histories small: a payload over BOUNDS.inlinePayload_bytes goes into the blob store, and the history holds
 *
 *     metadata: { encoding: "binary/emend-blob" }
 *     data:     {"v":1,"ref":"sha256:…","bytes":N,"metadata":{<name>: <base64>, …}}      (JSON, UTF-8)
 *
 * The blob is the payload's own data, byte for byte; its metadata travels in the envelope, so equal values share one blob.
 * Payloads that are small or that somebody else encoded pass through untouched. Readers accept every `v` ever written.
 *
 * What answers a query is in no history and is never asked for again: it leaves nothing in the store. Over PLAIN_ANSWER_BYTES it is
 * compressed, `encoding: "binary/emend-gzip"`, with its own encoding beside it as `emend-encoding`.
 *
 * The server answers an oversized activity result with a *retryable* failure, which would run (and pay for) the activity again
 * without end. So what cannot be stored fails without retry. Read off @temporalio/worker 1.24 (lib/activity.js, `run`): a codec
 * that throws while a *result* is encoded fails the activity with that error, as intended; one that throws while a *failure* is
 * encoded ends the worker. Hence `boundFailures` (failures.ts), which keeps failures so small that the codec never touches them.
 */
import { promisify } from 'node:util';
import { gunzip, gzip, type ZlibOptions } from 'node:zlib';
import {
  ApplicationFailure,
  type DataConverter,
  type Payload,
  type PayloadCodec,
} from '@temporalio/common';
import { BOUNDS } from '../shared/limits.js';
import {
  ProblemError,
  problem,
  type Problem,
  unknownVersion,
  VERSION,
  type Version,
} from '../shared/problems.js';
import { QUERY_ANSWER } from '../shared/names.js';
import { isBlobRef, type BlobRef } from '../shared/ids.js';
import type { BlobStore } from '../stores/ports.js';
import { jsonOf } from '../system/json.js';

// bound: An answer to a query is sent as it is up to here, else compressed: the server takes 2 MiB.
const PLAIN_ANSWER_BYTES = 1 * 1024 * 1024;

const BLOB_ENCODING = 'binary/emend-blob';
const GZIP_ENCODING = 'binary/emend-gzip';
/** The encoding of what was compressed. */
const PACKED = 'emend-encoding';
const zip = promisify(gzip);
const unzip = promisify<Uint8Array, ZlibOptions, Uint8Array>(gunzip);

interface Envelope {
  readonly v: Version;
  readonly ref: BlobRef;
  readonly bytes: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** How a payload that cannot be moved fails: the client shows a problem, the worker fails the activity without retry. */
export type RaisePayloadProblem = (problem: Problem) => Error;

export const asProblem: RaisePayloadProblem = (what) => new ProblemError(what);
export const asFailure: RaisePayloadProblem = (what) =>
  ApplicationFailure.nonRetryable(what.message, what.code);

/** Codecs of others work on what is left in the payload: a stored blob is what it was before them. */
export const withBlobs = (
  blobs: BlobStore,
  raise: RaisePayloadProblem,
  own: DataConverter = {},
): DataConverter => ({
  ...own,
  payloadCodecs: [new BlobPayloadCodec(blobs, raise), ...(own.payloadCodecs ?? [])],
});

export class BlobPayloadCodec implements PayloadCodec {
  readonly #blobs: BlobStore;
  readonly #raise: RaisePayloadProblem;

  constructor(blobs: BlobStore, raise: RaisePayloadProblem) {
    this.#blobs = blobs;
    this.#raise = raise;
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.some(isLarge)
      ? Promise.all(payloads.map((payload) => this.#store(payload)))
      : payloads;
  }

  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.some(mayBeOurs)
      ? Promise.all(payloads.map((payload) => this.#fetch(payload)))
      : payloads;
  }

  async #store(payload: Payload): Promise<Payload> {
    const { data, metadata: own } = payload;
    if (!data || data.byteLength <= BOUNDS.inlinePayload_bytes) return payload;
    if (own?.[QUERY_ANSWER] !== undefined) {
      if (data.byteLength <= PLAIN_ANSWER_BYTES) return payload;
      const { encoding: packed = new Uint8Array() } = own;
      return {
        metadata: { ...own, encoding: utf8(GZIP_ENCODING), [PACKED]: packed },
        data: await zip(data),
      };
    }
    if (data.byteLength > BOUNDS.payload_bytes) {
      throw this.#raise(
        problem(
          'limit_reached',
          `A value of ${data.byteLength} bytes exceeds the ${BOUNDS.payload_bytes} bytes allowed in one payload.`,
          'Pass a reference to a stored file instead of its content.',
        ),
      );
    }
    let ref: BlobRef;
    try {
      ref = await this.#blobs.put(data);
    } catch (error) {
      throw this.#raise(
        problem(
          'disk',
          `A value of ${data.byteLength} bytes could not be stored: ${reason(error)}`,
        ),
      );
    }
    const metadata = Object.entries(payload.metadata ?? {}).map(([name, value]) => [
      name,
      base64(value),
    ]);
    const envelope: Envelope = {
      v: VERSION,
      ref,
      bytes: data.byteLength,
      metadata: Object.fromEntries(metadata) as Envelope['metadata'],
    };
    return { metadata: { encoding: utf8(BLOB_ENCODING) }, data: utf8(JSON.stringify(envelope)) };
  }

  async #fetch(payload: Payload): Promise<Payload> {
    const encoding = payload.metadata?.encoding;
    if (encoding && text(encoding) === GZIP_ENCODING) return this.#unzip(payload);
    if (!encoding || text(encoding) !== BLOB_ENCODING) return payload;
    const envelope = this.#readEnvelope(payload.data ?? new Uint8Array());
    const metadata = Object.entries(envelope.metadata).map(([name, value]) => [
      name,
      Buffer.from(value, 'base64'),
    ]);
    return {
      metadata: Object.fromEntries(metadata) as Record<string, Uint8Array>,
      data: await this.#load(envelope.ref),
    };
  }

  async #unzip({ data, metadata }: Payload): Promise<Payload> {
    const encoding = metadata?.[PACKED] ?? new Uint8Array();
    const bytes = await unzip(data ?? new Uint8Array(), { maxOutputLength: BOUNDS.payload_bytes });
    return { metadata: { ...metadata, encoding }, data: bytes };
  }

  async #load(ref: BlobRef): Promise<Uint8Array> {
    try {
      return await this.#blobs.get(ref);
    } catch (error) {
      // A missing blob stays missing; other trouble (a busy disk) may pass, and nothing has been paid for yet: retryable.
      if (error instanceof ProblemError && error.problem.code === 'blob_lost')
        throw this.#raise(error.problem);
      throw error;
    }
  }

  #readEnvelope(data: Uint8Array): Envelope {
    const value: Partial<Record<keyof Envelope, unknown>> = jsonOf(text(data)) ?? {};
    const { v, ref, bytes, metadata } = value;
    if (typeof v === 'number' && v !== VERSION)
      throw this.#raise(unknownVersion('A stored value', value));
    if (
      v !== VERSION ||
      !isBlobRef(ref) ||
      typeof bytes !== 'number' ||
      typeof metadata !== 'object' ||
      metadata === null
    ) {
      throw this.#raise(
        problem('blob_lost', `A payload marked ${BLOB_ENCODING} names no stored value.`),
      );
    }
    const texts = Object.entries(metadata).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    );
    return { v, ref, bytes, metadata: Object.fromEntries(texts) };
  }
}

const isLarge = ({ data }: Payload): boolean =>
  (data?.byteLength ?? 0) > BOUNDS.inlinePayload_bytes;
/** Both encodings are as long. */
const mayBeOurs = ({ metadata }: Payload): boolean =>
  metadata?.encoding?.byteLength === BLOB_ENCODING.length;
const utf8 = (value: string): Uint8Array => Buffer.from(value, 'utf8');
const text = (value: Uint8Array): string => Buffer.from(value).toString('utf8');
const base64 = (value: Uint8Array): string => Buffer.from(value).toString('base64');
const reason = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, BOUNDS.reason_chars);
