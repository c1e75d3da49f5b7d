/**
 * The way out of a sandbox with `network`: a proxy on a unix socket of this process, for HTTP (CONNECT and absolute URLs) and SOCKS5 on the
 * same connection: the first byte shows which it is. Each connection is checked on its own, so a redirect is checked like a first request.
 */
import {
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { pipeline, type Duplex } from 'node:stream';
import { hostOf } from './addresses.js';
import { dial, type Dialed, type DialOptions } from './dial.js';
import type { Destination } from './policy.js';
import { readBeginning } from './read-beginning.js';
import { answerSocks, SOCKS_VERSION } from './socks.js';

const CONNECTIONS = 256; // bound: Connections of one command at once. Further ones are closed.
const HEADER_BYTES = 16_384; // bound: Headers of one request to the proxy,
const HEADER_MS = 15_000; // bound: and the time within which they arrive.
const IDLE_MS = 600_000; // bound: A connection on which no byte passes for so long is closed.
const REFUSALS = 20; // bound: Refused destinations that one command's output names.

export interface Proxy {
  /** Destinations that were refused, with the reason, as `host:port: reason`. */
  readonly refusals: readonly string[];
  readonly close: () => void;
}

type Dial = (destination: Destination) => Promise<Dialed>;

/** Listens at `path`, which must be in a directory of this user's own. */
export async function openProxy(
  path: string,
  options: Omit<DialOptions, 'signal'>,
): Promise<Proxy> {
  const refusals = new Set<string>();
  const end = new AbortController();
  const dialNoted: Dial = async (destination) => {
    const dialed = await dial(destination, { ...options, signal: end.signal });
    if (!dialed.ok && dialed.isRefused && refusals.size < REFUSALS)
      refusals.add(`${destination.host}:${destination.port}: ${dialed.reason}`);
    return dialed;
  };
  const open = new Set<Duplex>();
  const keep = <T extends Duplex>(socket: T): T => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    return socket;
  };
  const http = httpServer(dialNoted, keep);
  const server = createServer({ allowHalfOpen: true }, (client) => {
    keep(client);
    client.on('error', () => undefined);
    client.setTimeout(IDLE_MS, () => client.destroy());
    void serve(client, { http, dial: dialNoted, keep });
  });
  server.maxConnections = CONNECTIONS;
  await listening(server, path);
  return {
    get refusals() {
      return [...refusals];
    },
    close: () => {
      end.abort();
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

const listening = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      server.on('error', () => undefined);
      resolve();
    });
  });

type Keep = <T extends Duplex>(socket: T) => T;

async function serve(
  client: Socket,
  { http, dial: to, keep }: { readonly http: HttpServer; readonly dial: Dial; readonly keep: Keep },
): Promise<void> {
  const late = setTimeout(() => client.destroy(), HEADER_MS);
  const first = await firstByte(client);
  if (first === null) {
    clearTimeout(late);
    return void client.destroy();
  }
  if (first !== SOCKS_VERSION) {
    clearTimeout(late);
    return void http.emit('connection', client);
  }
  const remote = await answerSocks(client, to);
  clearTimeout(late);
  if (remote !== null) join(client, keep(remote));
}

/** Returns the first byte and leaves it unread; null: there is none. */
const firstByte = (client: Socket): Promise<number | null> =>
  readBeginning(client, ([value = 0]) => ({ value, length_bytes: 0 })).catch(() => null);

/** Passes bytes both ways until both ends have ended, or one fails. */
function join(client: Duplex, remote: Socket): void {
  remote.setTimeout(IDLE_MS, () => remote.destroy());
  pipeline(client, remote, () => undefined);
  pipeline(remote, client, () => undefined);
}

function httpServer(to: Dial, keep: Keep): HttpServer {
  const http = createHttpServer(
    {
      maxHeaderSize: HEADER_BYTES,
      headersTimeout: HEADER_MS,
      requestTimeout: 0,
      keepAliveTimeout: HEADER_MS,
    },
    (request, response) => void forward(request, response, { to, keep }),
  );
  http.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => undefined);
    void connectTo(request.url ?? '', client, { head, to, keep });
  });
  http.on('clientError', (_error, socket: Duplex) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    else socket.destroy();
  });
  return http;
}

interface Way {
  readonly to: Dial;
  readonly keep: Keep;
}

const statusOf = ({ isRefused }: { readonly isRefused: boolean }): number =>
  isRefused ? 403 : 502;
const messageOf = (
  { host, port }: Destination,
  { isRefused, reason }: { readonly isRefused: boolean; readonly reason: string },
): string =>
  `Emend ${isRefused ? 'refuses' : 'could not reach'} ${host}:${port}: ${reason}\n` +
  (isRefused ? 'docs/sandbox.md, "Network", lists what `sandbox.network` allows.\n' : '');

async function connectTo(
  authority: string,
  client: Duplex,
  { head, to, keep }: Way & { readonly head: Buffer },
): Promise<void> {
  const [, bracketed, plain, port = ''] =
    /^(?:\[([0-9a-f:.%]+)\]|([^:[\]/]+)):(\d{1,5})$/i.exec(authority) ?? [];
  const destination = { host: bracketed ?? plain ?? '', port: Number(port) };
  if (destination.host === '' || destination.port < 1 || destination.port > 65_535)
    return void client.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
  const dialed = await to(destination);
  if (!dialed.ok) {
    const body = messageOf(destination, dialed);
    const status = `${statusOf(dialed)} ${dialed.isRefused ? 'Forbidden' : 'Bad Gateway'}`;
    return void client.end(
      `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) client.unshift(head);
  join(client, keep(dialed.socket));
}

/** Headers of one connection. The proxy does not pass them on. */
const HOP_BY_HOP = new Set(
  'connection proxy-connection keep-alive proxy-authorization proxy-authenticate te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);
const endToEnd = (raw: readonly string[]): string[] => {
  const kept: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2)
    if (!HOP_BY_HOP.has((raw[index] ?? '').toLowerCase()))
      kept.push(raw[index] ?? '', raw[index + 1] ?? '');
  return kept;
};

/** Passes on one request with an absolute URL, over a connection of its own. */
async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  { to, keep }: Way,
): Promise<void> {
  const url = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : null;
  if (url?.protocol !== 'http:') {
    answer(response, 400, 'Emend expects an absolute http:// URL, or CONNECT.\n');
    return;
  }
  const destination = {
    host: hostOf(url),
    port: url.port === '' ? 80 : Number(url.port),
  };
  const dialed = await to(destination);
  if (!dialed.ok) {
    answer(response, statusOf(dialed), messageOf(destination, dialed));
    return;
  }
  const { socket } = dialed;
  keep(socket).setTimeout(IDLE_MS, () => socket.destroy());
  const headers = endToEnd(request.rawHeaders);
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  const outgoing = httpRequest({
    createConnection: () => socket,
    method: request.method,
    path: `${url.pathname}${url.search}`,
    headers: [
      ...headers,
      ...(request.headers.host === undefined ? ['Host', url.host] : []),
      ...(isChunked ? ['Transfer-Encoding', 'chunked'] : []),
      ...['Connection', 'close'],
    ] as unknown as Record<string, string>,
    setHost: false,
    maxHeaderSize: HEADER_BYTES,
  });
  const fail = (error: Error): void => {
    if (response.headersSent) response.destroy();
    else answer(response, 502, `${error.message}\n`);
  };
  outgoing.once('error', fail);
  outgoing.once('response', (incoming) => {
    response.writeHead(incoming.statusCode ?? 502, endToEnd(incoming.rawHeaders));
    pipeline(incoming, response, () => undefined);
  });
  response.once('close', () => outgoing.destroy());
  pipeline(request, outgoing, (error) => {
    if (error) outgoing.destroy();
  });
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  response.end(text);
}
