/** Streams to clients that read, and to one that does not: over real sockets. */
import { afterEach, expect, test } from '@jest/globals';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { problem } from '../../src/shared/problems.js';
import {
  createFeeds,
  type FeedState,
  listFeed,
  runFeed,
  WEB_UNREAD_BYTES,
} from '../../src/web/feeds.js';
import { fakeEmend, FakeServer, startedData } from '../client/fake.js';

const endings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** Its port; closed when the test ends. */
const listen = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endings.push(
    () =>
      new Promise((resolve) =>
        server.close(() => {
          resolve();
        }),
      ),
  );
  return (server.address() as AddressInfo).port;
};
const asking = (port: number): Socket => {
  const socket = connect(port, '127.0.0.1', () =>
    socket.write('GET / HTTP/1.1\r\nHost: page\r\n\r\n'),
  );
  return socket.on('error', () => undefined);
};

/** More than the kernel's own buffers of a connection take in. */
const MESSAGE = 'x'.repeat(1024 * 1024);
const MESSAGES = 64;

test('a client that stops reading is cut off at a bound; others are told everything', async () => {
  const feeds = createFeeds((error) => {
    throw error;
  });
  let tell: (state: FeedState) => void = () => undefined;
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    responses.push(response);
    const source = (hand: typeof tell, signal: AbortSignal): Promise<void> => {
      tell = hand;
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          resolve();
        });
      });
    };
    feeds.join('one', source, response, null);
  });
  const port = await listen(server);
  endings.push(() => feeds.close());
  const stream = (): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = asking(port);
      // The answer's head: it is listened to from here on.
      socket.once('data', () => {
        resolve(socket);
      });
      endings.push(() => {
        socket.destroy();
      });
    });
  const silent = await stream();
  silent.pause();
  const [held] = responses;
  const reader = await stream();
  let seen = '';
  reader.on('data', (bytes: Buffer) => {
    seen = (seen + bytes.toString('latin1')).slice(-200);
  });
  let most = 0;
  for (let n = 1; n <= MESSAGES; n++) {
    tell({ id: String(n), of: () => ({ n, text: MESSAGE, end: `end of ${n}` }) });
    most = Math.max(most, held?.writableLength ?? 0);
    // The one who reads has read it before the next.
    while (!seen.includes(`end of ${n}"`)) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(most).toBeLessThan(WEB_UNREAD_BYTES + 2 * MESSAGE.length);
  expect(held?.destroyed).toBe(true);
  expect(reader.destroyed).toBe(false);
  expect(seen).toContain(`end of ${MESSAGES}`);
  // It comes again when it likes, and is told how things are now.
  const again = await stream();
  again.pause();
  expect(responses).toHaveLength(3);
  expect(responses[2]?.destroyed).toBe(false);
}, 30_000);

test('a client that went away while its run was looked for takes no stream, and nothing is watched for it', async () => {
  const feeds = createFeeds((error) => {
    throw error;
  });
  let watched = 0;
  const joined: boolean[] = [];
  const server = createServer((_request, response) => {
    // Its run is looked for; it goes away meanwhile.
    response.on('close', () => {
      setImmediate(() => {
        joined.push(
          feeds.join(
            'one',
            () => {
              watched += 1;
              return new Promise(() => undefined);
            },
            response,
            null,
          ),
        );
      });
    });
    response.socket?.destroy();
  });
  const port = await listen(server);
  for (let n = 1; n <= 70; n++)
    await new Promise<void>((resolve) => {
      const socket = asking(port);
      socket.once('close', () => {
        resolve();
      });
    });
  while (joined.length < 70) await new Promise((resolve) => setImmediate(resolve));
  expect(watched).toBe(0);
  expect(joined).not.toContain(false);
});

test.each(['list', 'run'])(
  'a %s that was opened while no server answers is looked at again',
  async (what) => {
    const server = new FakeServer();
    const key = 'abcd1234'.padEnd(32, '0');
    server.add(key, 'emend-1');
    const emend = await fakeEmend(server);
    const at = new Date(0).toISOString();
    const data = startedData({});
    await emend.archive.append(key, [{ id: 'started', at, kind: 'started', data }]);
    const none = { ...emend, runs: null, unreachable: problem('no_server', 'None answers.') };
    const source = async () => none;
    const told: unknown[] = [];
    const feed = what === 'list' ? listFeed(source) : runFeed(source, key);
    const limit = AbortSignal.timeout(5_000);
    const watching = feed((state) => told.push(state.of(null)), limit);
    // It fails after it has told what the archive knows, so it is begun anew, with a server if there is one by then.
    await expect(watching).rejects.toMatchObject({ problem: { code: 'no_server' } });
    expect(told).toHaveLength(1);
    expect(JSON.stringify(told)).toContain('None answers.');
  },
);
