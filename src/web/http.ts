/** Reading and answering requests: bounded bodies, JSON, headers that every answer has. */
import { once } from 'node:events';
import { isIP, type AddressInfo } from 'node:net';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import {
  fail,
  problem,
  PROBLEMS,
  ProblemError,
  type Problem,
  type ProblemCode,
} from '../shared/problems.js';

const WEB_BODY_BYTES = 256 * 1024; // bound: The body of a request to the review page.
export const WEB_URL_CHARS = 4_096; // bound: The address of a request.

/**
 * No code but our own files, no inline code, no frame, no form, nothing from elsewhere; and the browser refuses every assignment of
 * text as HTML (trusted types with no policy), so that content can only become text nodes.
 */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const COMMON = {
  'content-security-policy': CSP,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
} as const;

type Headers = Readonly<Record<string, string | string[]>>;

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' } as const;

export const send = (
  response: ServerResponse,
  status: number,
  body: string | Uint8Array,
  headers: Headers & { readonly 'content-type': string },
): void => {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    'cache-control': 'no-store',
    ...COMMON,
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  });
  response.end(response.req.method === 'HEAD' ? undefined : body);
};

export const sendJson = (response: ServerResponse, value: unknown, headers: Headers = {}): void =>
  send(response, 200, JSON.stringify(value), { ...JSON_TYPE, ...headers });

export const openStream = (response: ServerResponse): void => {
  response.writeHead(200, {
    ...COMMON,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  response.flushHeaders();
};

const STATUS: Partial<Record<ProblemCode, number>> = {
  run_unknown: 404,
  run_ambiguous: 404,
  answer_not_accepted: 409,
  no_server: 503,
  no_worker: 503,
  blob_lost: 410,
};

export const sendProblem = (response: ServerResponse, found: Problem, status?: number): void => {
  const body = JSON.stringify({
    problem: { ...found, next: found.next ?? PROBLEMS[found.code].hint },
  });
  const code = status ?? STATUS[found.code] ?? (found.code === 'usage' ? 400 : 500);
  // A request that was not read to its end cannot be followed by another on the same connection.
  const close: Headers = response.req.complete ? {} : { connection: 'close' };
  send(response, code, body, { ...JSON_TYPE, ...close });
};

/** What is refused before anything is looked at: a status and a sentence, nothing of what came. */
export const refuse = (response: ServerResponse, status: number, message: string): void =>
  sendProblem(
    response,
    problem(
      'usage',
      message,
      status === 429 ? 'Wait a moment.' : 'Open the address that was printed.',
    ),
    status,
  );

/** Throws ProblemError `usage` for what is not JSON or over `WEB_BODY_BYTES`. */
export const readJson = async (request: IncomingMessage): Promise<unknown> => {
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? ''))
    return fail('usage', 'The body must be JSON (content-type: application/json).');
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > WEB_BODY_BYTES) return fail('usage', `The body is over ${WEB_BODY_BYTES} bytes.`);
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8')) as unknown;
  } catch {
    return fail('usage', 'The body is not JSON.');
  }
};

export const problemOf = (error: unknown): Problem =>
  error instanceof ProblemError
    ? error.problem
    : problem('internal', 'The review page failed; see the terminal that it was started from.');

// What a request must be before anything else is looked at: meant for this server, and not sent by another site. Pure.

export interface Place {
  /** What the `Host` header may say, in lower case. A name that resolves to us but is not listed is DNS rebinding. */
  readonly hosts: ReadonlySet<string>;
  /** What the `Origin` header may say: the pages that are ours, each with its scheme. */
  readonly origins: ReadonlySet<string>;
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

export const isLoopback = (host: string): boolean => host === '::1' || LOOPBACK.includes(host);

export const bracketed = (host: string): string =>
  host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;

/** `publicUrl`: the address that people use where a proxy stands before the server. */
export const placeOf = (host: string, port: number, publicUrl: string | null): Place => {
  const names = isLoopback(host) ? LOOPBACK : [bracketed(host)];
  const own = names.flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]);
  const told = publicUrl === null ? [] : [new URL(publicUrl)];
  return {
    hosts: new Set([...own, ...told.map((url) => url.host)].map((name) => name.toLowerCase())),
    origins: new Set([
      ...own.map((name) => `http://${name}`.toLowerCase()),
      ...told.map((url) => url.origin),
    ]),
  };
};

export interface RequestLimits {
  readonly methods: readonly string[];
  readonly url_chars: number;
}
const PAGE_LIMITS: RequestLimits = {
  methods: ['GET', 'HEAD', 'POST'],
  url_chars: WEB_URL_CHARS,
};

/** Null: go on; else the status and why. */
export const refusalOf = (
  { method = '', url = '/', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  place: Place,
  { methods, url_chars } = PAGE_LIMITS,
): readonly [number, string] | null => {
  if (url.length > url_chars) return [414, 'The address is too long.'];
  const host = (headers.host ?? '').toLowerCase();
  if (!place.hosts.has(host)) return [421, 'This server does not respond to that host name.'];
  if (!methods.includes(method)) return [405, 'Only GET and POST are allowed.'];
  const { origin } = headers;
  if (origin !== undefined && !place.origins.has(origin.toLowerCase()))
    return [403, 'This request came from another site.'];
  if (method !== 'GET' && method !== 'HEAD' && origin === undefined)
    return [403, 'A change needs an Origin header.'];
  const site = headers['sec-fetch-site'];
  // A link on another page may lead here; nothing else of another site may.
  const visit =
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document';
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !visit)
    return [403, 'This request came from another site.'];
  return null;
};

/** One cookie of a request. */
export const cookieOf = ({ cookie }: IncomingHttpHeaders, name: string): string | undefined =>
  cookie
    ?.split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(`${name}=`))
    ?.slice(name.length + 1);

// Whose rate a request counts against: where it comes from. Pure.

/** An IPv6 customer has a whole /64: its first four groups. IPv4 in IPv6 is IPv4. */
const placeOfIp = (ip: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1];
  if (mapped !== undefined) return mapped;
  if (isIP(ip) !== 6) return ip;
  const [head = '', tail] = (ip.split('%')[0] ?? '').toLowerCase().split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const all = [...before, ...Array.from({ length: zeros }, () => '0'), ...after];
  return all
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
};

/**
 * `proxied`: a proxy stands before the server, and all requests come from its address. It adds whom it heard at the end of
 * `X-Forwarded-For`. Whoever goes round it, or a proxy that lets the header through as it came, can say anything there, so nothing but
 * the fairness between addresses may hang on it.
 */
export const addressOf = (
  peer: string | undefined,
  forwarded: string | string[] | undefined,
  proxied: boolean,
): string => {
  const told = proxied ? [forwarded].flat().join(',').split(',').at(-1)?.trim() : undefined;
  return placeOfIp(told !== undefined && isIP(told) !== 0 ? told : (peer ?? ''));
};

/** The port that it got. Throws ProblemError `usage` where it cannot be had. */
export const listen = async (server: Server, host: string, port: number): Promise<number> => {
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = `The review page cannot listen on ${bracketed(host)}:${port} (${code ?? message}).`;
    return fail('usage', why, 'Choose another with --port, or 0 for any free port.');
  });
  return (server.address() as AddressInfo).port;
};

/** Ends it with all its connections. */
export const closing = async (server: Server): Promise<void> => {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
};
