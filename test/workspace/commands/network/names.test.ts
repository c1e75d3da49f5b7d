/** Names that a command writes to its proxy, and what of them reaches the proxy of the worker's network. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { openProxy, type Proxy } from '../../../../src/workspace/commands/network/proxy.js';
import { upstreamOf } from '../../../../src/workspace/commands/network/upstream.js';
import { testIf } from '../../../support/skipped.js';

const address = Object.values(networkInterfaces())
  .flat()
  .find((known) => known?.internal === false && known.family === 'IPv4')?.address;

let dir: string;
let upstream: Server;
let proxy: Proxy;
let heads: string[];
beforeEach(async () => {
  dir = mkdtempSync('/tmp/emend-names-');
  heads = [];
  upstream = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (head: Buffer) => {
      heads.push(head.toString('latin1'));
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
  });
  upstream.listen(0, address);
  await once(upstream, 'listening');
  const bound = upstream.address();
  const port = typeof bound === 'object' ? (bound?.port ?? 0) : 0;
  proxy = await openProxy(join(dir, 'proxy'), {
    policy: {
      targets: [],
      ownServers: async () => [],
      // A worker behind a proxy resolves no public names, and passes them on to a proxy of another machine.
      resolve: async () => [],
      ownAddresses: () => [],
    },
    upstream: upstreamOf({ HTTPS_PROXY: `http://${address}:${port}` }),
  });
});
afterEach(() => {
  proxy.close();
  upstream.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Sends bytes to the proxy, and returns when it closes the connection or answers. */
async function send(...messages: readonly Buffer[]): Promise<void> {
  const socket = connect(join(dir, 'proxy'));
  socket.on('error', () => undefined);
  for (const message of messages) {
    socket.write(message);
    await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  }
  socket.destroy();
}
const byConnect = (authority: string): Promise<void> =>
  send(Buffer.from(`CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`, 'latin1'));
const bySocks = (name: string): Promise<void> =>
  send(
    Buffer.from([5, 1, 0]),
    Buffer.from([5, 1, 0, 3, name.length, ...Buffer.from(name, 'latin1'), 1, 187]),
  );

testIf(address !== undefined, 'this machine has no address on a network')(
  '22, 23: a name with a zone, a line end or a blank never reaches an upstream proxy',
  async () => {
    const NAMES = [
      '127.0.0.1%lo',
      'localhost%00.test',
      'a.test\r\nX-Injected: 1',
      'a.test:443 HTTP/1.1\r\nHost: b.test\r\n\r\nGET /',
      'a.test\nb.test',
      'a b.test',
      'a.test\0.b.test',
      'user@a.test',
      'a.test/b',
      '[::1]',
    ];
    for (const name of NAMES) await bySocks(name);
    for (const authority of [
      '[::1%lo]:443',
      '[fe80::1%25lo]:443',
      '127.0.0.1%lo:443',
      'a%0d%0a:443',
    ])
      await byConnect(authority);
    expect(heads).toEqual([]);

    await bySocks('plain.test');
    await byConnect('plain.test:443');
    const head = 'CONNECT plain.test:443 HTTP/1.1\r\nHost: plain.test:443\r\n\r\n';
    expect(heads).toEqual([head, head]);
  },
);
