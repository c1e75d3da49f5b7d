/** Streams to clients that read, and to one that does not: over real sockets. */
import { afterEach, expect, test } from '@jest/globals';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createFeeds, type FeedState, WEB_UNREAD_BYTES } from '../../src/web/feeds.js';

const endings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endings.push(
    () =>
      new Promise((resolve) =>
        server.close(() => {
          resolve();
        }),
      ),
    () => feeds.close(),
  );
  const { port } = server.address() as AddressInfo;
  const stream = (): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: page\r\n\r\n'));
      socket.on('error', () => undefined);
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
