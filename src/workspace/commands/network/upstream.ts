/** The proxy that the worker itself needs (`HTTPS_PROXY` of its environment): connections to public addresses are tunnelled through it. */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { hostOf } from './addresses.js';
import type { Environment } from '../../../system/environment.js';
import { readBeginning } from './read-beginning.js';

const HEAD_BYTES = 16_384; // bound: Most that an upstream proxy answers to CONNECT,
const ANSWER_MS = 30_000; // bound: and the time within which it does.

export interface Upstream {
  readonly url: URL;
  readonly isBypassed: (host: string) => boolean;
}

/** Returns the worker's proxy; null: it has none. */
export function upstreamOf(env: Environment): Upstream | null {
  const names = [
    'https_proxy',
    'HTTPS_PROXY',
    'http_proxy',
    'HTTP_PROXY',
    'all_proxy',
    'ALL_PROXY',
  ];
  const written = names.map((name) => env[name] ?? '').find((value) => value !== '');
  if (written === undefined) return null;
  const text = written.includes('://') ? written : `http://${written}`;
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (!['http:', 'https:'].includes(url.protocol)) return null;
  const bypassed = (env.no_proxy ?? env.NO_PROXY ?? '')
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map((entry) => entry.toLowerCase().replace(/^\*?\./, ''));
  return {
    url,
    isBypassed: (host) =>
      bypassed.some((entry) => entry === '*' || host === entry || host.endsWith(`.${entry}`)),
  };
}

export const upstreamPort = ({ protocol, port }: URL): number =>
  Number(port === '' ? USUAL_PORTS[protocol] : port);
const USUAL_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

/** Opens a tunnel to `host:port`. Rejects if the proxy refuses it. */
export async function tunnel(
  { url }: Upstream,
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  const server = { host: hostOf(url), port: upstreamPort(url) };
  const socket =
    url.protocol === 'https:'
      ? connectTls({ ...server, servername: server.host })
      : connect({ ...server, allowHalfOpen: true });
  const onAbort = (): void => void socket.destroy(new Error('the command ended'));
  signal.addEventListener('abort', onAbort);
  socket.setTimeout(ANSWER_MS, () =>
    socket.destroy(new Error(`the proxy ${server.host}:${server.port} does not answer`)),
  );
  const authority = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const credentials =
    url.username === ''
      ? ''
      : `Proxy-Authorization: Basic ${Buffer.from(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`).toString('base64')}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`);
  try {
    const status = await readHead(socket);
    if (!/^HTTP\/1\.[01] 2\d\d\b/.test(status))
      throw new Error(`the proxy ${server.host}:${server.port} answered ${status.slice(0, 80)}`);
    socket.setTimeout(0);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Returns the first line of an answer, and leaves what follows its empty line unread. */
async function readHead(socket: Socket): Promise<string> {
  const head = await readBeginning(socket, (bytes) => {
    const end = bytes.indexOf(END_OF_HEAD);
    if (end >= 0)
      return {
        value: bytes.subarray(0, end).toString('latin1'),
        length_bytes: end + END_OF_HEAD.length,
      };
    return bytes.length > HEAD_BYTES ? { value: '', length_bytes: bytes.length } : null;
  });
  if (head === null) throw new Error('the proxy closed the connection');
  if (head === '') throw new Error('its answer to CONNECT is too long');
  return head.split('\r\n')[0] ?? '';
}
const END_OF_HEAD = '\r\n\r\n';
