import { describe, expect, test } from '@jest/globals';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { createAnthropicModel } from '../../../src/model/anthropic/client.js';
import { ModelError } from '../../../src/model/errors.js';
import type { RehearsalScript } from '../../../src/model/rehearsal/script.js';
import type { ModelPort, StreamEvent } from '../../../src/model/ports.js';
import { modelAt, NONCE, request, rule, withRehearsal } from '../support.js';

type Fault = NonNullable<RehearsalScript['rules'][number]['fault']>;

const collect = async (
  model: ModelPort,
  signal = new AbortController().signal,
  maxAnswer_bytes?: number,
) => {
  const events: StreamEvent[] = [];
  const error: unknown = await model
    .stream(request, {
      signal,
      ...(maxAnswer_bytes === undefined ? {} : { maxAnswer_bytes }),
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
  events
    .map((e) => (e.type === 'content_block_delta' ? (e.delta as { text: string }).text : ''))
    .join('');

describe('a whole answer', () => {
  test('comes as raw events from message_start to message_stop, with the nonce filled in', async () => {
    const answer = 'größer 😀 '.repeat(50) + '\nEMEND-COMPLETE {{nonce}} 1 1\n';
    await withRehearsal([rule(answer)], async ({ url, requests }) => {
      const { events, error } = await collect(modelAt(url));
      expect(error).toBeNull();
      expect(events[0]?.type).toBe('message_start');
      expect(events.at(-1)?.type).toBe('message_stop');
      expect(textOf(events)).toBe(answer.replace('{{nonce}}', NONCE));
      expect(requests()).toMatchObject([
        { rule: 'only', stream: true, model: 'rehearsal', status: 200 },
      ]);
    });
  });
});

describe('every fault has its kind', () => {
  const table: [string, Fault, Partial<ModelError>][] = [
    ['overload', { kind: 'overload' }, { kind: 'overloaded', retryable: true, mayBePaid: false }],
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
    ['500', { kind: 'server_error' }, { kind: 'server', retryable: true, mayBePaid: false }],
    ['503', { kind: 'server_error', status: 503 }, { kind: 'server', retryable: true }],
    ['400', { kind: 'status', status: 400 }, { kind: 'bad_request', retryable: false }],
    [
      '400, too long',
      { kind: 'status', status: 400, message: 'prompt is too long: 9 > 8' },
      { kind: 'context', retryable: false },
    ],
    [
      'spent credit (400)',
      {
        kind: 'status',
        status: 400,
        message: 'Your credit balance is too low to access the Anthropic API.',
      },
      { kind: 'auth', retryable: false },
    ],
    [
      '401',
      { kind: 'status', status: 401, type: 'authentication_error' },
      { kind: 'auth', retryable: false },
    ],
    [
      '403',
      { kind: 'status', status: 403, type: 'permission_error' },
      { kind: 'auth', retryable: false },
    ],
    [
      '404',
      { kind: 'status', status: 404, type: 'not_found_error' },
      { kind: 'not_found', retryable: false },
    ],
    ['408', { kind: 'status', status: 408 }, { kind: 'timeout', retryable: true }],
    [
      '504',
      { kind: 'server_error', status: 504 },
      { kind: 'server', retryable: true, mayBePaid: true },
    ],
    ['409', { kind: 'status', status: 409 }, { kind: 'server', retryable: true }],
    [
      '413',
      { kind: 'status', status: 413, type: 'request_too_large' },
      { kind: 'too_large', retryable: false },
    ],
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
    [
      'dropped before the headers',
      { kind: 'drop' },
      { kind: 'dropped', retryable: true, mayBePaid: true },
    ],
    [
      'dropped after the headers',
      { kind: 'drop', after_bytes: 0 },
      { kind: 'dropped', retryable: true, mayBePaid: true },
    ],
    [
      'dropped in the middle',
      { kind: 'drop', after_bytes: 700 },
      { kind: 'dropped', retryable: true, mayBePaid: true },
    ],
    [
      'overloaded in the stream',
      { kind: 'error_event' },
      { kind: 'overloaded', retryable: true, mayBePaid: true },
    ],
    [
      'invalid request in the stream',
      { kind: 'error_event', type: 'invalid_request_error' },
      { kind: 'bad_request', retryable: false },
    ],
    ['malformed JSON', { kind: 'malformed' }, { kind: 'malformed', mayBePaid: true }],
    ['malformed type', { kind: 'malformed', what: 'type' }, { kind: 'malformed', mayBePaid: true }],
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

  test.each([
    ['refused', (port: number) => `http://127.0.0.1:${port}`],
    ['to a name that nobody has', () => 'http://model.invalid'],
  ])('connection %s', async (_name, address) => {
    const port = await withRehearsal([], async (rehearsal) => rehearsal.port);
    const { error } = await collect(modelAt(address(port)));
    expect(error).toMatchObject({
      kind: 'network',
      retryable: true,
      mayBePaid: false,
      problem: { code: 'model_unavailable' },
    });
  });

  test('silence before and after the headers', async () => {
    for (const at of [{}, { after_bytes: 0 }, { after_bytes: 700 }])
      await withRehearsal(
        [rule('x'.repeat(500), { fault: { kind: 'silence', ...at } })],
        async ({ url }) => {
          const { error } = await collect(modelAt(url, 300));
          expect(error).toMatchObject({ kind: 'idle', retryable: true, mayBePaid: true });
        },
      );
  });

  test('a server that speaks no TLS, or never answers its greeting: the request was not sent', async () => {
    await withRehearsal([rule('hello')], async ({ port, requests }) => {
      const { error } = await collect(modelAt(`https://127.0.0.1:${port}`));
      expect(error).toMatchObject({ kind: 'network', mayBePaid: false });
      expect(requests()).toHaveLength(0);
    });
    await withDeafServer(async (port) => {
      const silent = await collect(modelAt(`https://127.0.0.1:${port}`, 300));
      expect(silent.error).toMatchObject({ kind: 'idle', mayBePaid: false });
      const cancelled = await collect(
        modelAt(`https://127.0.0.1:${port}`),
        AbortSignal.timeout(300),
      );
      expect(cancelled.error).toMatchObject({ kind: 'cancelled', mayBePaid: false });
    });
  });

  test('a slow stream is no silence', async () => {
    await withRehearsal(
      [rule('x'.repeat(400), { fault: { kind: 'slow', chunk_ms: 100 } })],
      async ({ url }) => {
        const { error, events } = await collect(modelAt(url, 1000));
        expect(error).toBeNull();
        expect(textOf(events)).toHaveLength(400);
      },
    );
  });

  test('a server that ends without message_stop, and one that does not stream', async () => {
    const servers: [string, string, Partial<ModelError>][] = [
      [
        'text/event-stream',
        'event: message_start\ndata: {"type":"message_start"}\n\n',
        { kind: 'dropped', mayBePaid: true },
      ],
      [
        'application/json',
        '{"type":"message"}',
        { kind: 'malformed', retryable: false, mayBePaid: true },
      ],
      ['text/html', '<p>Welcome to the hotel</p>', { kind: 'malformed', retryable: false }],
    ];
    for (const [type, body, expected] of servers) {
      await withPlainServer(type, body, async (url) => {
        expect((await collect(modelAt(url))).error).toMatchObject(expected);
      });
    }
  });
});

test.each(['cut', 'ended', 'silent', 'an error event'])(
  'lost after why the model stopped was said (%s): the answer is whole, and nothing is left to pay for',
  async (how) => {
    const frame = (type: string, data: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
    const sent = [
      frame('message_start', { message: { usage: { input_tokens: 3 } } }),
      frame('content_block_delta', { delta: { type: 'text_delta', text: 'all of it' } }),
      frame('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } }),
      ...(how === 'an error event'
        ? [frame('error', { error: { type: 'overloaded_error', message: 'O' } })]
        : []),
    ];
    const listener: RequestListener = (_incoming, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (how === 'ended') response.end(sent.join(''));
      else
        response.write(
          sent.join(''),
          () => how === 'cut' && setTimeout(() => response.destroy(), 50),
        );
    };
    await withServer(listener, async (url) => {
      const { error, events } = await collect(modelAt(url, 500));
      expect(error).toBeNull();
      expect(textOf(events)).toBe('all of it');
      expect(events.at(-1)).toEqual({ type: 'message_stop' });
    });
  },
);

describe('a server that does not keep to the protocol', () => {
  test.each([301, 302, 303, 307, 308])(
    '%d: no redirect is followed, with or without the request',
    async (status) => {
      let followed = 0;
      await withServer(
        (_incoming, response) => response.end(String(++followed)),
        (elsewhere) =>
          withServer(
            (_incoming, response) =>
              response.writeHead(status, { location: `${elsewhere}/v1/messages` }).end(),
            async (url) => {
              const { error } = await collect(modelAt(url));
              expect(error).toMatchObject({
                kind: 'not_found',
                retryable: false,
                mayBePaid: false,
              });
              expect((error as ModelError).message).toContain(
                `redirect to ${elsewhere}/v1/messages`,
              );
              expect(followed).toBe(0);
            },
          ),
      );
    },
  );

  test('a time after which to ask again is a time of the server, whose clock may not be ours', async () => {
    const headers = {
      date: 'Sat, 01 Jan 2000 00:00:00 GMT',
      'retry-after': 'Sat, 01 Jan 2000 00:00:20 GMT',
    };
    await withServer(
      (_incoming, response) => response.writeHead(429, headers).end('{}'),
      async (url) => {
        expect((await collect(modelAt(url))).error).toMatchObject({
          kind: 'rate_limit',
          retryAfter_ms: 20_000,
        });
      },
    );
  });

  test('the body of a refusal is read as far as it is of use, whatever its size', async () => {
    let sent_bytes = 0;
    const endless = (response: ServerResponse): void => {
      while (!response.destroyed) {
        sent_bytes += 65_536;
        if (response.write('x'.repeat(65_536))) continue;
        response.once('drain', () => endless(response));
        return;
      }
    };
    await withServer(
      (_incoming, response) => endless(response.writeHead(503, { 'retry-after': '7' })),
      async (url) => {
        const { error } = await collect(modelAt(url, 2000));
        expect(error).toMatchObject({ kind: 'server', retryAfter_ms: 7000, mayBePaid: false });
        expect(sent_bytes).toBeLessThan(32 * 1024 * 1024);
      },
    );
  });

  test('a type is a type in whatever case; no body at all is no stream', async () => {
    const events = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
    await withPlainServer('Text/Event-Stream; charset=utf-8', events, async (url) => {
      expect((await collect(modelAt(url))).error).toBeNull();
    });
    await withServer(
      (_incoming, response) => response.writeHead(204).end(),
      async (url) => {
        expect((await collect(modelAt(url))).error).toMatchObject({
          kind: 'malformed',
          mayBePaid: true,
        });
      },
    );
  });

  test('two messages in one stream are not joined to one answer', async () => {
    const frame = (event: { type: string }) =>
      `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
    const begun = (text: string) =>
      [
        { type: 'message_start', message: {} },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      ].map(frame);
    const stream = [
      ...begun('FILE a'),
      ...begun('FILE a.txt'),
      frame({ type: 'message_stop' }),
    ].join('');
    await withPlainServer('text/event-stream', stream, async (url) => {
      const { events, error } = await collect(modelAt(url));
      expect(error).toMatchObject({ kind: 'malformed', mayBePaid: true });
      expect(textOf(events)).toBe('FILE a');
    });
  });

  test('a base URL with a password stays out of the message', async () => {
    const { error } = await collect(modelAt('http://me:correct-horse@127.0.0.1:1/'));
    expect(error).toMatchObject({ kind: 'network', mayBePaid: false });
    expect((error as Error).message).toContain('[redacted]@127.0.0.1');
    expect((error as Error).message).not.toContain('horse');
  });
});

/** Takes connections and says nothing. */
const withDeafServer = async (use: (port: number) => Promise<void>) => {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => sockets.push(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use((server.address() as AddressInfo).port);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
};

const withPlainServer = (type: string, body: string, use: (url: string) => Promise<void>) =>
  withServer((_incoming, response) => {
    response.writeHead(200, { 'content-type': type });
    response.end(body);
  }, use);

const withServer = async (answer: RequestListener, use: (url: string) => Promise<void>) => {
  const server = createServer((incoming, response) => {
    incoming.resume();
    answer(incoming, response);
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
      const { error, events } = await collect(modelAt(url), undefined, 1000);
      expect(error).toMatchObject({ kind: 'too_large', mayBePaid: true, retryable: false });
      expect(textOf(events).length).toBeLessThanOrEqual(1000);
    });
  });

  test('an endless line is given up', async () => {
    await withPlainServer('text/event-stream', `data: ${'x'.repeat(200_000)}`, async (url) => {
      expect((await collect(modelAt(url), undefined, 1000)).error).toMatchObject({
        kind: 'too_large',
      });
    });
  });

  test('the signal reaches the server', async () => {
    await withRehearsal(
      [rule('x'.repeat(500), { fault: { kind: 'silence', after_bytes: 700 } })],
      async ({ url, requests }) => {
        const cancel = new AbortController();
        const done = collect(modelAt(url), cancel.signal);
        while (requests()[0]?.state !== 'silent')
          await new Promise((resolve) => setTimeout(resolve, 5));
        cancel.abort();
        expect((await done).error).toMatchObject({ kind: 'cancelled' });
        while (requests()[0]?.state !== 'cut')
          await new Promise((resolve) => setTimeout(resolve, 5));
      },
    );
  });

  test('a cancel before the headers: paid or not, nobody knows; one before the call: surely not', async () => {
    await withRehearsal([rule('x', { fault: { kind: 'silence' } })], async ({ url, requests }) => {
      const cancel = new AbortController();
      const done = collect(modelAt(url), cancel.signal);
      while (requests()[0]?.state !== 'silent')
        await new Promise((resolve) => setTimeout(resolve, 5));
      cancel.abort();
      expect((await done).error).toMatchObject({ kind: 'cancelled', mayBePaid: true });
      expect((await collect(modelAt(url), AbortSignal.abort())).error).toMatchObject({
        kind: 'cancelled',
        mayBePaid: false,
      });
      expect(requests()).toHaveLength(1);
    });
  });

  test('calls at once: each knows of its own request alone', async () => {
    await withRehearsal([rule('x', { fault: { kind: 'silence' } })], ({ url, requests }) =>
      withDeafServer(async (port) => {
        const cancel = new AbortController();
        const calls = [url, `https://127.0.0.1:${port}`, url].map((at) =>
          collect(modelAt(at), cancel.signal),
        );
        while (requests().filter(({ state }) => state === 'silent').length < 2)
          await new Promise((resolve) => setTimeout(resolve, 5));
        cancel.abort();
        const errors = (await Promise.all(calls)).map(
          ({ error }) => (error as ModelError).mayBePaid,
        );
        expect(errors).toEqual([true, false, true]);
      }),
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
  test('without a key and a base URL nothing is sent, and what is missing is said', async () => {
    for (const env of [{}, { ANTHROPIC_API_KEY: ' ' }] as const) {
      const { error } = await collect(createAnthropicModel({ env, streamIdle_ms: 1 }));
      expect(error).toMatchObject({ kind: 'auth', retryable: false, mayBePaid: false });
      expect((error as Error).message).toContain('Neither ANTHROPIC_API_KEY nor');
    }
  });

  test('a key that the server quotes stays out of the message', async () => {
    const key = 'very-secret-key-1234';
    const fault = {
      kind: 'status' as const,
      status: 401,
      message: `bad key ${key}, also sk-ant-abcdefghijklmnop`,
    };
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
