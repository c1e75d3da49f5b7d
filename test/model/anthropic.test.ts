import { describe, expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAnthropicModel } from '../../src/model/anthropic.js';
import { ModelError } from '../../src/model/errors.js';
import type { RehearsalScript } from '../../src/model/rehearsal/schema.js';
import type { ModelPort, StreamEvent } from '../../src/model/types.js';
import { modelAt, NONCE, request, rule, withRehearsal } from './support.js';

type Fault = NonNullable<RehearsalScript['rules'][number]['fault']>;

const collect = async (model: ModelPort, signal = new AbortController().signal) => {
  const events: StreamEvent[] = [];
  const error: unknown = await model
    .stream(request, {
      signal,
      onEvent: async (event) => {
        events.push(event);
      },
    })
    .then(
      () => null,
      (thrown: unknown) => thrown,
    );
  return { events, error };
};
const textOf = (events: readonly StreamEvent[]): string =>
  events.map((e) => (e.type === 'content_block_delta' ? (e.delta as { text: string }).text : '')).join('');

describe('a whole answer', () => {
  test('comes as raw events from message_start to message_stop, with the nonce filled in', async () => {
    const answer = 'größer 😀 '.repeat(50) + '\nEMEND-COMPLETE {{nonce}} 1 1\n';
    await withRehearsal([rule(answer)], async ({ url, requests }) => {
      const { events, error } = await collect(modelAt(url));
      expect(error).toBeNull();
      expect(events[0]?.type).toBe('message_start');
      expect(events.at(-1)?.type).toBe('message_stop');
      expect(textOf(events)).toBe(answer.replace('{{nonce}}', NONCE));
      expect(requests()).toMatchObject([{ rule: 'only', stream: true, model: 'rehearsal', status: 200 }]);
    });
  });
});

describe('every fault has its kind', () => {
  const table: [string, Fault, Partial<ModelError>][] = [
    ['overload', { kind: 'overload' }, { kind: 'overloaded', retryable: true, paid: false }],
    [
      'rate limit, seconds',
      { kind: 'rate_limit', retry_after_s: 3 },
      { kind: 'rate_limit', retryable: true, retryAfter_ms: 3000 },
    ],
    [
      'milliseconds beat seconds',
      { kind: 'rate_limit', retry_after_s: 3, retry_after_ms: 250 },
      { kind: 'rate_limit', retryAfter_ms: 250 },
    ],
    ['500', { kind: 'server_error' }, { kind: 'server', retryable: true, paid: false }],
    ['503', { kind: 'server_error', status: 503 }, { kind: 'server', retryable: true }],
    ['400', { kind: 'status', status: 400 }, { kind: 'bad_request', retryable: false }],
    [
      '400, too long',
      { kind: 'status', status: 400, message: 'prompt is too long: 9 > 8' },
      { kind: 'context', retryable: false },
    ],
    ['401', { kind: 'status', status: 401, type: 'authentication_error' }, { kind: 'auth', retryable: false }],
    ['403', { kind: 'status', status: 403, type: 'permission_error' }, { kind: 'auth', retryable: false }],
    ['404', { kind: 'status', status: 404, type: 'not_found_error' }, { kind: 'not_found', retryable: false }],
    ['408', { kind: 'status', status: 408 }, { kind: 'timeout', retryable: true }],
    ['409', { kind: 'status', status: 409 }, { kind: 'server', retryable: true }],
    ['413', { kind: 'status', status: 413, type: 'request_too_large' }, { kind: 'too_large', retryable: false }],
    [
      'x-should-retry: false',
      { kind: 'status', status: 500, headers: { 'x-should-retry': 'false' } },
      { kind: 'server', retryable: false },
    ],
    [
      'x-should-retry: true',
      { kind: 'status', status: 400, headers: { 'x-should-retry': 'true' } },
      { kind: 'bad_request', retryable: true },
    ],
    ['dropped before anything', { kind: 'drop' }, { kind: 'network', retryable: true, paid: false }],
    ['dropped after the headers', { kind: 'drop', after_bytes: 0 }, { kind: 'dropped', retryable: true, paid: true }],
    ['dropped in the middle', { kind: 'drop', after_bytes: 700 }, { kind: 'dropped', retryable: true, paid: true }],
    ['overloaded in the stream', { kind: 'error_event' }, { kind: 'overloaded', retryable: true, paid: true }],
    [
      'invalid request in the stream',
      { kind: 'error_event', type: 'invalid_request_error' },
      { kind: 'bad_request', retryable: false },
    ],
    ['malformed JSON', { kind: 'malformed' }, { kind: 'malformed', paid: true }],
    ['malformed type', { kind: 'malformed', what: 'type' }, { kind: 'malformed', paid: true }],
  ];
  test.each(table)('%s', async (_name, fault, expected) => {
    await withRehearsal([rule('x'.repeat(500), { fault })], async ({ url, requests }) => {
      const { error, events } = await collect(modelAt(url));
      expect(error).toBeInstanceOf(ModelError);
      expect(error).toMatchObject(expected);
      expect(events.map((e) => e.type)).not.toContain('message_stop');
      // The client does not retry by itself.
      expect(requests()).toHaveLength(1);
    });
  });

  test('connection refused', async () => {
    const url = await withRehearsal([], async (rehearsal) => rehearsal.url);
    const { error } = await collect(modelAt(url));
    expect(error).toMatchObject({
      kind: 'network',
      retryable: true,
      paid: false,
      problem: { code: 'model_unavailable' },
    });
  });

  test('silence before and after the headers', async () => {
    for (const [after_bytes, paid] of [
      [undefined, false],
      [0, true],
      [700, true],
    ] as const) {
      const fault =
        after_bytes === undefined ? { kind: 'silence' as const } : { kind: 'silence' as const, after_bytes };
      await withRehearsal([rule('x'.repeat(500), { fault })], async ({ url }) => {
        const { error } = await collect(modelAt(url, 300));
        expect(error).toMatchObject({ kind: 'idle', retryable: true, paid });
      });
    }
  });

  test('a slow stream is no silence', async () => {
    await withRehearsal([rule('x'.repeat(400), { fault: { kind: 'slow', chunk_ms: 100 } })], async ({ url }) => {
      const { error, events } = await collect(modelAt(url, 1000));
      expect(error).toBeNull();
      expect(textOf(events)).toHaveLength(400);
    });
  });

  test('a server that ends without message_stop, and one that does not stream', async () => {
    const servers: [string, string, Partial<ModelError>][] = [
      [
        'text/event-stream',
        'event: message_start\ndata: {"type":"message_start"}\n\n',
        { kind: 'dropped', paid: true },
      ],
      ['application/json', '{"type":"message"}', { kind: 'malformed', retryable: false, paid: true }],
      ['text/html', '<p>Welcome to the hotel</p>', { kind: 'malformed', retryable: false }],
    ];
    for (const [type, body, expected] of servers) {
      await withPlainServer(type, body, async (url) => {
        expect((await collect(modelAt(url))).error).toMatchObject(expected);
      });
    }
  });
});

const withPlainServer = async (type: string, body: string, use: (url: string) => Promise<void>) => {
  const server = createServer((incoming, response) => {
    incoming.resume();
    response.writeHead(200, { 'content-type': type });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
};

describe('bounds and cancelling', () => {
  test('an answer over maxAnswer_bytes is given up', async () => {
    await withRehearsal([rule('x'.repeat(5000))], async ({ url }) => {
      const model = createAnthropicModel({
        env: { ANTHROPIC_BASE_URL: url },
        streamIdle_ms: 5000,
        maxAnswer_bytes: 1000,
      });
      const { error, events } = await collect(model);
      expect(error).toMatchObject({ kind: 'too_large', paid: true, retryable: false });
      expect(textOf(events).length).toBeLessThanOrEqual(1000);
    });
  });

  test('an endless line is given up', async () => {
    await withPlainServer('text/event-stream', `data: ${'x'.repeat(200_000)}`, async (url) => {
      const model = createAnthropicModel({
        env: { ANTHROPIC_BASE_URL: url },
        streamIdle_ms: 5000,
        maxAnswer_bytes: 1000,
      });
      expect((await collect(model)).error).toMatchObject({ kind: 'too_large' });
    });
  });

  test('the signal reaches the server', async () => {
    await withRehearsal(
      [rule('x'.repeat(500), { fault: { kind: 'silence', after_bytes: 700 } })],
      async ({ url, requests }) => {
        const cancel = new AbortController();
        const done = collect(modelAt(url), cancel.signal);
        while (requests()[0]?.state !== 'silent') await new Promise((resolve) => setTimeout(resolve, 5));
        cancel.abort();
        expect((await done).error).toMatchObject({ kind: 'cancelled' });
        while (requests()[0]?.state !== 'cut') await new Promise((resolve) => setTimeout(resolve, 5));
      },
    );
  });

  test('what onEvent throws comes back as it is', async () => {
    await withRehearsal([rule('hello')], async ({ url }) => {
      const full = new Error('disk full');
      const stream = modelAt(url).stream(request, {
        signal: new AbortController().signal,
        onEvent: () => Promise.reject(full),
      });
      await expect(stream).rejects.toBe(full);
    });
  });
});

describe('keys', () => {
  test('ready says what is missing', () => {
    const at = (env: Record<string, string>) => createAnthropicModel({ env, streamIdle_ms: 1 }).ready();
    expect(at({})).toMatchObject({ code: 'no_api_key' });
    expect(at({ ANTHROPIC_API_KEY: ' ' })).toMatchObject({ code: 'no_api_key' });
    expect(at({ ANTHROPIC_API_KEY: 'k' })).toBeNull();
    expect(at({ ANTHROPIC_AUTH_TOKEN: 't' })).toBeNull();
    expect(at({ ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' })).toBeNull();
  });

  test('a key that the server quotes stays out of the message', async () => {
    const key = 'very-secret-key-1234';
    const fault = { kind: 'status' as const, status: 401, message: `bad key ${key}, also sk-ant-abcdefghijklmnop` };
    await withRehearsal([rule('', { fault })], async ({ url }) => {
      const model = createAnthropicModel({
        env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
        streamIdle_ms: 5000,
      });
      const { error } = await collect(model);
      expect(error).toMatchObject({ kind: 'auth', problem: { code: 'model_rejected' } });
      const said = JSON.stringify(error) + (error as Error).message;
      expect(said).not.toContain(key);
      expect(said).not.toContain('sk-ant');
      expect(said).toContain('[redacted]');
    });
  });
});
