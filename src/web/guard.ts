/** What a request must be before anything else is looked at: meant for this server, and not sent by another site. Pure. */
import type { IncomingHttpHeaders } from 'node:http';
import { BOUNDS } from '../shared/limits.js';

export interface Place {
  /** What the `Host` header may say, in lower case. A name that resolves to us but is not listed is DNS rebinding. */
  readonly hosts: ReadonlySet<string>;
  /** What the `Origin` header may say: the pages that are ours, each with its scheme. */
  readonly origins: ReadonlySet<string>;
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

export const isLoopback = (host: string): boolean => host === '::1' || LOOPBACK.includes(host);

export const bracketed = (host: string): string => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host);

/** `publicUrl`: the address that people use where a proxy stands before the server. */
export const placeOf = (host: string, port: number, publicUrl: string | null): Place => {
  const names = isLoopback(host) ? LOOPBACK : [bracketed(host)];
  const own = names.flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]);
  const told = publicUrl === null ? [] : [new URL(publicUrl)];
  return {
    hosts: new Set([...own, ...told.map((url) => url.host)].map((name) => name.toLowerCase())),
    origins: new Set([...own.map((name) => `http://${name}`.toLowerCase()), ...told.map((url) => url.origin)]),
  };
};

interface Asked {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** Null: go on; else the status and why. */
export const refusalOf = ({ method, url = '/', headers }: Asked, place: Place): readonly [number, string] | null => {
  if (url.length > BOUNDS.webUrl_chars) return [414, 'The address is too long.'];
  const host = (headers.host ?? '').toLowerCase();
  if (!place.hosts.has(host)) return [421, 'This server does not answer under that name.'];
  if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') return [405, 'Only GET and POST are answered.'];
  const { origin } = headers;
  if (origin !== undefined && !place.origins.has(origin.toLowerCase())) return [403, 'Another site asked for this.'];
  if (method === 'POST' && origin === undefined) return [403, 'A change must say which page it comes from (Origin).'];
  const site = headers['sec-fetch-site'];
  // A link on another page may lead here; nothing else of another site may.
  const visit =
    method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !visit)
    return [403, 'Another site asked for this.'];
  return null;
};

/** One cookie of a request. */
export const cookieOf = ({ cookie }: IncomingHttpHeaders, name: string): string | undefined =>
  cookie
    ?.split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(`${name}=`))
    ?.slice(name.length + 1);
