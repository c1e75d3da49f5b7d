import { describe, expect, test } from '@jest/globals';
import { ApplicationFailure, type Payload } from '@temporalio/common';
import { BOUNDS } from '../../src/shared/limits.js';
import { ProblemError } from '../../src/shared/problems.js';
import { BlobPayloadCodec, asFailure, asProblem } from '../../src/temporal/payloads.js';
import { memoryBlobs } from './support/memory-blobs.js';

const payload = (bytes: number, fill = 'x'): Payload => ({
  metadata: { encoding: Buffer.from('json/plain'), messageType: Buffer.from('some.Type') },
  data: Buffer.alloc(bytes, fill),
});
const plain = ({ metadata, data }: Payload): unknown => ({
  metadata: Object.fromEntries(
    Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString()]),
  ),
  data: Buffer.from(data ?? []).toString('base64'),
});
const envelope = (value: unknown): Payload => ({
  metadata: { encoding: Buffer.from('binary/emend-blob') },
  data: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
});

describe('BlobPayloadCodec', () => {
  test('what fits inline passes through untouched, the same object', async () => {
    const blobs = memoryBlobs();
    const small = payload(BOUNDS.inlinePayload_bytes);
    const [encoded] = await new BlobPayloadCodec(blobs, asProblem).encode([small]);
    expect(encoded).toBe(small);
    expect(blobs.kept.size).toBe(0);
  });

  test('one byte more goes to the store, and comes back with data and metadata', async () => {
    const blobs = memoryBlobs();
    const codec = new BlobPayloadCodec(blobs, asProblem);
    const large = payload(BOUNDS.inlinePayload_bytes + 1);
    const [encoded] = await codec.encode([large]);
    expect(Buffer.from(encoded?.metadata?.encoding ?? []).toString()).toBe('binary/emend-blob');
    expect(encoded?.data?.byteLength).toBeLessThan(400);
    expect(JSON.parse(Buffer.from(encoded?.data ?? []).toString())).toMatchObject({
      v: 2,
      ref: [...blobs.kept.keys()][0],
    });
    const [decoded] = await codec.decode([encoded!]);
    expect(plain(decoded!)).toEqual(plain(large));
  });

  test('order is kept, equal values share one blob, empty lists and empty payloads pass', async () => {
    const blobs = memoryBlobs();
    const codec = new BlobPayloadCodec(blobs, asProblem);
    const payloads = [
      payload(20_000, 'a'),
      payload(3),
      payload(20_000, 'b'),
      payload(20_000, 'a'),
      {},
    ];
    const decoded = await codec.decode(await codec.encode(payloads));
    expect(decoded.map(plain)).toEqual(payloads.map(plain));
    expect(blobs.kept.size).toBe(2);
    expect(await codec.encode([])).toEqual([]);
  });

  test('payloads that others encoded are decoded by nobody here', async () => {
    const codec = new BlobPayloadCodec(memoryBlobs(), asProblem);
    const foreign: Payload = {
      metadata: { encoding: Buffer.from('binary/encrypted') },
      data: Buffer.from([1, 2, 3]),
    };
    const bare: Payload = { data: Buffer.from([4]) };
    expect(await codec.decode([foreign, bare])).toEqual([foreign, bare]);
  });

  test('over the maximum: refused before anything is stored', async () => {
    const blobs = memoryBlobs();
    const huge = payload(BOUNDS.payload_bytes + 1);
    await expect(new BlobPayloadCodec(blobs, asProblem).encode([huge])).rejects.toMatchObject({
      problem: { code: 'limit_reached' },
    });
    expect(blobs.kept.size).toBe(0);
  });

  test('a failing store: a problem for clients, a failure without retry for workers', async () => {
    const blobs = memoryBlobs();
    blobs.failing = new Error(`ENOSPC: no space left on device ${'-'.repeat(5_000)}`);
    await expect(
      new BlobPayloadCodec(blobs, asProblem).encode([payload(20_000)]),
    ).rejects.toBeInstanceOf(ProblemError);
    const failure: unknown = await new BlobPayloadCodec(blobs, asFailure)
      .encode([payload(20_000)])
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect(failure).toMatchObject({ type: 'disk', nonRetryable: true });
    expect((failure as Error).message.length).toBeLessThan(BOUNDS.reason_chars + 200);
    expect((failure as Error).message).toContain('ENOSPC');
  });

  test.each([
    ['a lost blob', { v: 2, ref: `sha256:${'0'.repeat(64)}`, bytes: 1, metadata: {} }, 'blob_lost'],
    ['a later version', { v: 3, anything: true }, 'version_unknown'],
    ['no JSON', 'not json', 'blob_lost'],
    ['JSON null', null, 'blob_lost'],
    [
      'a path for a reference',
      { v: 2, ref: '../../etc/passwd', bytes: 1, metadata: {} },
      'blob_lost',
    ],
    ['no metadata', { v: 2, ref: `sha256:${'0'.repeat(64)}`, bytes: 1 }, 'blob_lost'],
  ])('%s ends without retry: %j', async (_title, value, code) => {
    const decoding = new BlobPayloadCodec(memoryBlobs(), asFailure).decode([envelope(value)]);
    await expect(decoding).rejects.toMatchObject({ type: code, nonRetryable: true });
  });

  test('trouble that may pass while reading stays what it is: retryable', async () => {
    const blobs = memoryBlobs();
    const codec = new BlobPayloadCodec(blobs, asFailure);
    const encoded = await codec.encode([payload(20_000)]);
    blobs.get = () => Promise.reject(new Error('EMFILE'));
    await expect(codec.decode(encoded)).rejects.not.toBeInstanceOf(ApplicationFailure);
  });
});
