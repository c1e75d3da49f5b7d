/**
 * The Temporal UI of the dev server. Its own port checks neither Host nor session, so it listens where no web page can guess it
 * (src/temporal/dev-server.ts); whoever the review page let in reaches it here, on a port of its own.
 */
import {
  createServer,
  request as ask,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import { problem } from '../shared/problems.js';
import {
  bracketed,
  closing,
  cookieOf,
  listen,
  placeOf,
  refusalOf,
  refuse,
  send,
  sendProblem,
  type RequestLimits,
} from './http.js';
import type { RateBound, Session } from './sessions.js';

const UI_ANSWER_MS = 60_000; // bound: The Temporal UI begins an answer within this time; a page of it waits for a worker's.

const UI_URL_CHARS = 65_536; // bound: The address of a request. The UI shows the current details of a run (at most 20,000 bytes, each as `%xx`) by an address that has them.
const UI_HEAD_BYTES = 81_920; // bound: The head of a request: its address, cookies, and what browsers send.

export interface UiOptions {
  readonly host: string;
  /** Where the UI is now, `http://127.x.y.z:port`; null: there is none. */
  readonly source: () => Promise<string | null>;
  /** Null: not let in. */
  readonly session: (cookie: string | undefined) => Session | null;
  /** Of who is not let in. */
  readonly strangers: (request: IncomingMessage) => RateBound;
}
/** Tried first, as Temporal's own: where it is taken, any free one. */
const USUAL_PORT = 8233;

/** `cookie`: the name of the one that opens it. */
export const startUi = async (options: UiOptions) => {
  const at = { port: 0, cookie: '' };
  const refusal = (
    request: IncomingMessage,
    session: Session | null,
  ): readonly [number, string] | null => {
    const refused = refusalOf(request, placeOf(options.host, at.port, null), UI_LIMITS);
    if (refused !== null) return refused;
    if (!(session?.rate ?? options.strangers(request)).take()) return [429, 'Too many requests.'];
    return session === null
      ? [NOT_SIGNED_IN, 'The Temporal UI opens only in a browser signed in to the review page.']
      : null;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refused = refusal(request, options.session(cookieOf(request.headers, at.cookie)));
    const source = refused === null ? await options.source() : null;
    if (refused?.[0] === NOT_SIGNED_IN && wantsPage(request)) sendSignIn(response);
    else if (source === null) refuse(response, ...(refused ?? NO_UI));
    else passOn(request, response, new URL(source));
  };
  const start = async (port: number): Promise<Server> => {
    const server = createServer(
      { maxHeaderSize: UI_HEAD_BYTES, headersTimeout: 10_000 },
      (request, response) => {
        answer(request, response).catch(() => refuse(response, 502, NO_ANSWER));
      },
    );
    at.port = await listen(server, options.host, port);
    return server;
  };
  const server = await start(USUAL_PORT).catch(() => start(0));
  at.cookie = `emend-ui-${at.port}`;
  return {
    url: `http://${bracketed(options.host)}:${at.port}`,
    cookie: at.cookie,
    close: () => closing(server),
  };
};

const NOT_SIGNED_IN = 401;
const SIGN_IN_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Sign in to see the Temporal UI</title>
  </head>
  <body>
    <main>
      <h1>Sign in to see the Temporal UI</h1>
      <p>This address opens only in a browser that is signed in to the review page, or every web page could approve changes here.</p>
      <ol>
        <li>Look at the terminal in which <code>emend dev</code> or <code>emend web</code> runs. Its last line that begins with <code>review page</code> has an address with a token.</li>
        <li>Open that address in this browser. It signs in one browser, once; then the terminal prints the next one.</li>
        <li>Reload this page.</li>
      </ol>
      <p>If you do not have that terminal, type <code>emend web</code> in another one. Open the address that it prints after <code>review page</code>, then the one after <code>Temporal UI</code>.</p>
    </main>
  </body>
</html>
`;

/** Returns whether a browser asks for a page; programs get JSON. */
const wantsPage = ({ method, headers }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && (headers.accept ?? '').includes('text/html');

const sendSignIn = (response: ServerResponse): void =>
  send(response, NOT_SIGNED_IN, SIGN_IN_PAGE, { 'content-type': 'text/html; charset=utf-8' });

const UI_LIMITS: RequestLimits = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  url_chars: UI_URL_CHARS,
};
const NO_UI = [404, 'No dev server of this home serves a Temporal UI now.'] as const;
const NO_ANSWER = 'The Temporal UI is not reachable.';
/** Of one connection, not of what goes over it. */
const HOP = [
  'connection',
  'keep-alive',
  'upgrade',
  'te',
  'trailer',
  'proxy-authorization',
  'host',
  'referer',
];

/** As if the UI had been asked at its own address. It is not told our cookies. */
const passOn = (request: IncomingMessage, response: ServerResponse, to: URL): void => {
  const headers: OutgoingHttpHeaders = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !HOP.includes(name)),
  );
  if (headers.origin !== undefined) headers.origin = to.origin;
  const cookies = (request.headers.cookie ?? '')
    .split(/; */)
    .filter((each) => !each.startsWith('emend-'));
  headers.cookie = cookies.join('; ');
  const sent = ask({
    host: to.hostname,
    port: to.port,
    method: request.method,
    path: request.url,
    headers,
    timeout: UI_ANSWER_MS,
  });
  sent.on('response', (answered) => {
    response.writeHead(answered.statusCode ?? 502, {
      ...answered.headers,
      connection: 'keep-alive',
      'x-frame-options': 'SAMEORIGIN',
      'cross-origin-resource-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
    });
    answered.pipe(response);
    answered.on('error', () => response.destroy());
  });
  sent.on('timeout', () => sent.destroy(new Error(NO_ANSWER)));
  sent.on('error', () => {
    if (response.headersSent) response.destroy();
    else sendProblem(response, problem('no_server', NO_ANSWER), 502);
  });
  response.on('close', () => sent.destroy());
  request.pipe(sent);
};
