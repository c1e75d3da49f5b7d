/** Reading and answering requests: bounded bodies, JSON, headers that every answer has. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BOUNDS } from '../shared/limits.js';
import { fail, problem, PROBLEMS, ProblemError, type Problem, type ProblemCode } from '../shared/problems.js';

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

type Headers = Readonly<Record<string, string>>;

export const send = (
  response: ServerResponse,
  status: number,
  type: string,
  body: string | Uint8Array,
  headers: Headers = {},
): void => {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    'cache-control': 'no-store',
    ...COMMON,
    'content-type': type,
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  });
  response.end(response.req.method === 'HEAD' ? undefined : body);
};

export const sendJson = (response: ServerResponse, value: unknown, headers: Headers = {}): void => {
  send(response, 200, 'application/json; charset=utf-8', JSON.stringify(value), headers);
};

/** Opens a stream of server-sent events. */
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
  const body = JSON.stringify({ problem: { ...found, next: found.next ?? PROBLEMS[found.code].hint } });
  const code = status ?? STATUS[found.code] ?? (found.code === 'usage' ? 400 : 500);
  // A request that was not read to its end cannot be followed by another on the same connection.
  const close: Headers = response.req.complete ? {} : { connection: 'close' };
  send(response, code, 'application/json; charset=utf-8', body, close);
};

/** What is refused before anything is looked at: a status and a sentence, nothing of what came. */
export const refuse = (response: ServerResponse, status: number, message: string): void => {
  sendProblem(
    response,
    problem('usage', message, status === 429 ? 'Wait a moment.' : 'Open the address that was printed.'),
    status,
  );
};

/** Throws ProblemError `usage` for what is not JSON or over BOUNDS.webBody_bytes. */
export const readJson = async (request: IncomingMessage): Promise<unknown> => {
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? ''))
    return fail('usage', 'The body must be JSON (content-type: application/json).');
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > BOUNDS.webBody_bytes) return fail('usage', `The body is over ${BOUNDS.webBody_bytes} bytes.`);
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8')) as unknown;
  } catch {
    return fail('usage', 'The body is no JSON.');
  }
};

export const problemOf = (error: unknown): Problem =>
  error instanceof ProblemError
    ? error.problem
    : problem('internal', 'The review page failed; the terminal that it was started from says why.');
