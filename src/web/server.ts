/**
 * The review page's server: our own files, and the client functions as JSON. It answers under its own names only, to its own page only,
 * and to those only who were let in; see docs/review-page.md.
 */
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { fail, ProblemError } from '../shared/problems.js';
import type { Emend } from '../client/types.js';
import { BOUNDS } from '../shared/limits.js';
import * as http from './http.js';
import { createFeeds } from './feeds.js';
import { addressBound, createSessions } from './sessions.js';
import { answerRoute } from './routes.js';
import { startUi } from './ui.js';

const WEB_UNKNOWN_BURST = 100; // bound: Requests of one address that is not let in, at once,
const WEB_UNKNOWN_PER_SECOND = 20; // bound: and per second;
const WEB_ALL_UNKNOWN_BURST = 1_000; // bound: of all such addresses together, at once,
const WEB_ALL_UNKNOWN_PER_SECOND = 200; // bound: and per second.
// bound: Wrong tokens, and secrets. At the second bound a secret of 16 random characters is not found in the age of the earth.
export const WEB_LOGINS_BURST = 10;
const WEB_LOGINS_PER_SECOND = 0.1; // bound: Per second, from one address.
const WEB_ALL_LOGINS_BURST = 100; // bound: From all addresses together, at once,
const WEB_ALL_LOGINS_PER_SECOND = 2; // bound: and per second.
const WEB_ADDRESSES = 10_000; // bound: Addresses whose rates are remembered; the one that was silent the longest is forgotten first.
const WEB_SECRET_CHARS = 16; // bound: A shorter secret is refused.
const WEB_CLOSE_MS = 5_000; // bound: What is being asked of Temporal when the page's server ends is waited for at most so long.

export interface WebOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Beyond loopback there must be one. */
  readonly secret: string | null;
  /** The address that people use where a proxy stands before the server. */
  readonly publicUrl: string | null;
  /** Who decides, for those that come with a token. */
  readonly person: string;
  readonly assets: Assets;
  /** The open stores and, where one answers, the server: asked anew for each request. */
  readonly source: () => Promise<Emend>;
  /** An address with a token that is good once; a new one each time one was used. */
  readonly onAddress: (address: string) => void;
  /** The Temporal UI that is let through to those that are let in (src/web/ui.ts); null: none. On loopback only. */
  readonly ui: (() => Promise<string | null>) | null;
  /** What is a fault of ours. */
  readonly onError: (error: unknown) => void;
}

export interface WebServer {
  /** Without a token. */
  readonly url: string;
  readonly port: number;
  /** Where the Temporal UI is let through; null: nowhere. */
  readonly uiUrl: string | null;
  close(): Promise<void>;
}

const LOGIN = z.union([
  z.strictObject({ token: z.string().min(1).max(200) }),
  z.strictObject({ secret: z.string().min(1).max(1_000), name: z.string().trim().min(1).max(100) }),
]);

/** Throws ProblemError `usage` where the place would be open to others without a secret, or cannot be had. */
export const startWeb = async (options: WebOptions): Promise<WebServer> => {
  checkPlace(options);
  const { host, secret, publicUrl, assets, source, onAddress, onError } = options;
  const isLocal = http.isLoopback(host) && publicUrl === null;
  const sessions = createSessions(secret);
  const feeds = createFeeds(onError);
  const logins = addressBound({
    each: { burst: WEB_LOGINS_BURST, perSecond: WEB_LOGINS_PER_SECOND },
    all: { burst: WEB_ALL_LOGINS_BURST, perSecond: WEB_ALL_LOGINS_PER_SECOND },
    addresses: WEB_ADDRESSES,
  });
  const strangers = addressBound({
    each: { burst: WEB_UNKNOWN_BURST, perSecond: WEB_UNKNOWN_PER_SECOND },
    all: { burst: WEB_ALL_UNKNOWN_BURST, perSecond: WEB_ALL_UNKNOWN_PER_SECOND },
    addresses: WEB_ADDRESSES,
  });
  const from = ({ socket, headers }: IncomingMessage): string =>
    http.addressOf(socket.remoteAddress, headers['x-forwarded-for'], publicUrl !== null);
  const at: { place: http.Place; base: string; cookie: string } = {
    place: { hosts: new Set(), origins: new Set() },
    base: '',
    cookie: '',
  };
  const offer = (): void => onAddress(`${at.base}/#token=${sessions.token()}`);

  const login = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const given = LOGIN.safeParse(await http.readJson(request));
    if (!given.success) return fail('usage', 'A token, or a secret and a name, is needed.');
    // Nobody guesses a token: the right one lets in whatever was tried before it. A secret may be a word, so it is not even looked at.
    const byToken =
      'token' in given.data ? sessions.byToken(given.data.token, options.person) : null;
    if (byToken === null && !logins.take(from(request))) {
      http.refuse(response, 429, 'Too many attempts.');
      return;
    }
    const opened =
      'token' in given.data ? byToken : sessions.bySecret(given.data.secret, given.data.name);
    if (opened === null) {
      http.refuse(response, 401, 'Invalid, or already used.');
      return;
    }
    const secure = publicUrl?.startsWith('https:') === true ? '; Secure' : '';
    const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(BOUNDS.webSession_ms / 1000)}${secure}`;
    const cookies = [
      `${at.cookie}=${opened.cookie}`,
      ...(ui === null ? [] : [`${ui.cookie}=${opened.ui}`]),
    ];
    http.sendJson(
      response,
      { key: opened.key },
      { 'set-cookie': cookies.map((each) => `${each}; ${attributes}`) },
    );
    if ('token' in given.data) offer();
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refusal = http.refusalOf(request, at.place);
    const url = refusal === null ? urlOf(request) : null;
    const cookie = http.cookieOf(request.headers, at.cookie);
    const key = request.headers['x-emend-key'];
    const session = sessions.find(cookie, typeof key === 'string' ? key : undefined);
    const post = request.method === 'POST';
    if (refusal !== null) http.refuse(response, ...refusal);
    else if (url === null) http.refuse(response, 400, 'Invalid address.');
    else if (!(session === null ? strangers.take(from(request)) : session.rate.take()))
      http.refuse(response, 429, 'Too many requests.');
    else if (!url.pathname.startsWith('/api/')) sendAsset(request, response, assets, url.pathname);
    else if (url.pathname === '/api/login' && post) await login(request, response);
    else if (session === null) http.refuse(response, 401, 'Not signed in, or no longer.');
    else if (url.pathname === '/api/logout' && post) {
      sessions.end(cookie);
      http.sendJson(
        response,
        {},
        { 'set-cookie': `${at.cookie}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0` },
      );
    } else
      await answerRoute({
        request,
        response,
        url,
        person: session.person,
        signs: isLocal,
        source,
        feeds,
      });
  };
  const underWay = new Set<Promise<void>>();

  const server = createServer(
    { maxHeaderSize: 16_384, requestTimeout: 30_000, headersTimeout: 10_000 },
    (request, response) => {
      const answering = answer(request, response)
        .catch((error: unknown) => {
          if (response.destroyed) return;
          if (!(error instanceof ProblemError)) onError(error);
          http.sendProblem(response, http.problemOf(error));
        })
        .finally(() => underWay.delete(answering));
      underWay.add(answering);
    },
  );
  const port = await http.listen(server, host, options.port);
  const ui =
    options.ui === null || !isLocal
      ? null
      : await startUi({
          host,
          source: options.ui,
          session: (cookie) => sessions.findUi(cookie),
          strangers: (request) => ({ take: () => strangers.take(from(request)) }),
        });
  at.place = http.placeOf(host, port, publicUrl);
  at.base =
    publicUrl?.replace(/\/+$/, '') ??
    `http://${http.bracketed(host === '0.0.0.0' || host === '::' ? 'localhost' : host)}:${port}`;
  // Cookies are shared by all ports of a host: two pages on one machine must not end each other's sessions.
  at.cookie = `emend-${port}`;
  offer();
  return {
    url: at.base,
    port,
    uiUrl: ui?.url ?? null,
    close: async () => {
      await Promise.all([http.closing(server), ui?.close()]);
      // A connection to Temporal that is closed under a call in progress ends the process. A server that does not answer must not keep it.
      const given = new AbortController();
      await Promise.race([
        Promise.all([...underWay, feeds.close()]),
        sleep(WEB_CLOSE_MS, undefined, { signal: given.signal }).catch(() => undefined),
      ]);
      given.abort();
    },
  };
};

const checkPlace = ({ host, secret, publicUrl }: WebOptions): void => {
  if (publicUrl !== null && !/^https?:\/\/[^/]+\/?$/.test(publicUrl))
    fail(
      'usage',
      `--public-url must be an address without a path, like https://emend.example.org; received ${publicUrl.slice(0, 200)}.`,
    );
  if (http.isLoopback(host) && publicUrl === null) return;
  if (secret === null)
    fail(
      'usage',
      `Anyone who reaches ${publicUrl ?? host} could change files and run commands here, so a secret is required.`,
      'Set EMEND_WEB_SECRET to a long random text (`openssl rand -hex 32`), and put a TLS proxy in front of it; or omit --host.',
    );
  else if (secret.length < WEB_SECRET_CHARS)
    fail(
      'usage',
      `EMEND_WEB_SECRET has ${secret.length} characters; at least ${WEB_SECRET_CHARS} are required.`,
    );
  if ((host === '0.0.0.0' || host === '::') && publicUrl === null)
    fail(
      'usage',
      `--host ${host} is every address of this machine, so the public name is required.`,
      'Add --public-url http://NAME:PORT.',
    );
};

const urlOf = ({ url = '/' }: IncomingMessage): URL | null =>
  URL.canParse(url, 'http://page') ? new URL(url, 'http://page') : null;

const sendAsset = (
  request: IncomingMessage,
  response: ServerResponse,
  assets: Assets,
  path: string,
): void => {
  const asset = assets.get(path);
  if (asset === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) {
    http.refuse(response, asset === undefined ? 404 : 405, 'Not found.');
    return;
  }
  const brotli = /\bbr\b/.test(request.headers['accept-encoding'] ?? '') ? asset.brotli : null;
  http.send(response, 200, brotli ?? asset.body, {
    'content-type': asset.type,
    'cache-control': asset.immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
    ...(brotli === null ? {} : { 'content-encoding': 'br' }),
  });
};

// The built page, read once at the start: what is not in this list of files cannot be asked for.

export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  /** Null: too small to gain by it. */
  readonly brotli: Buffer | null;
  /** Its name holds a hash of its content. */
  readonly immutable: boolean;
}
export type Assets = ReadonlyMap<string, Asset>;

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const WORTH_bytes = 1_024;

const builtPage = (): string =>
  fileURLToPath(
    new URL(import.meta.url.includes('/dist/') ? '../../web/' : '../../dist/web/', import.meta.url),
  );

/** By path, `/` being the page itself. Throws ProblemError `internal` where it was not built. */
export const loadAssets = async (dir: string = builtPage()): Promise<Assets> => {
  const entries = await readdir(dir, { recursive: true, encoding: 'utf8' }).catch(() =>
    fail(
      'internal',
      `Review page not found at ${dir}.`,
      'In a checkout run `npm run build`; otherwise reinstall.',
    ),
  );
  const assets = new Map<string, Asset>();
  for (const name of entries) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const body = await readFile(join(dir, name));
    const at = `/${name.replaceAll('\\', '/')}`;
    const params = { [constants.BROTLI_PARAM_QUALITY]: 5 };
    const brotli = body.length < WORTH_bytes ? null : brotliCompressSync(body, { params });
    assets.set(at === '/index.html' ? '/' : at, {
      type,
      body,
      brotli,
      immutable: at.startsWith('/assets/'),
    });
  }
  return assets;
};
