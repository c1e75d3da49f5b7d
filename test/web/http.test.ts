/** Whom the page's server answers: names, origins, sessions, rates. */
import { describe, expect, test } from '@jest/globals';
import { BOUNDS } from '../../src/shared/limits.js';
import { cookieOf, placeOf, refusalOf, WEB_URL_CHARS } from '../../src/web/http.js';
import { rateBound, createSessions, WEB_SESSIONS } from '../../src/web/sessions.js';

const HOST = '127.0.0.1:8260';
const place = placeOf('127.0.0.1', 8260, null);
const ask = (method: string, headers: Record<string, string>, url = '/api/runs') =>
  refusalOf({ method, url, headers: { host: HOST, ...headers } }, place)?.[0] ?? null;

describe('refusalOf', () => {
  test.each([
    ['our own page', 'GET', {}, null],
    ['localhost', 'GET', { host: 'localhost:8260' }, null],
    ['a name that resolves to us', 'GET', { host: 'evil.example:8260' }, 421],
    ['another port', 'GET', { host: '127.0.0.1:9' }, 421],
    ['no host', 'GET', { host: '' }, 421],
    ['our name as a part of another', 'GET', { host: '127.0.0.1:8260.evil.example' }, 421],
    ['a change from our page', 'POST', { origin: `http://${HOST}` }, null],
    ['a change from nowhere', 'POST', {}, 403],
    ['a change from a sandbox', 'POST', { origin: 'null' }, 403],
    ['a change from another site', 'POST', { origin: 'http://evil.example' }, 403],
    ['a change from another port', 'POST', { origin: 'http://127.0.0.1:9' }, 403],
    [
      'a read from another site',
      'GET',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' },
      403,
    ],
    [
      'a read from another port',
      'GET',
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
      403,
    ],
    [
      'a link on another site',
      'GET',
      {
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
      },
      null,
    ],
    [
      'a frame on another site',
      'GET',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
      403,
    ],
    ['another method', 'DELETE', {}, 405],
  ])('%s', (_what, method, headers, status) => {
    expect(ask(method, headers)).toBe(status);
  });

  test('an address that is too long, and a proxy that was named', () => {
    expect(ask('GET', {}, `/${'a'.repeat(WEB_URL_CHARS)}`)).toBe(414);
    const behind = placeOf('127.0.0.1', 8260, 'https://emend.example.org');
    const login = (host: string, origin: string) =>
      refusalOf({ method: 'POST', url: '/api/login', headers: { host, origin } }, behind)?.[0] ??
      null;
    expect(login('emend.example.org', 'https://emend.example.org')).toBeNull();
    // A proxy that puts our own name into Host, as nginx does unless it is told; who asks is in Origin.
    expect(login(HOST, 'https://emend.example.org')).toBeNull();
    expect(login(HOST, `http://${HOST}`)).toBeNull();
    // The same name without TLS is another site: whoever is on the way could have written it.
    expect(login('emend.example.org', 'http://emend.example.org')).toBe(403);
    expect(login('emend.example.org', 'https://emend.example.org:444')).toBe(403);
    expect(login('emend.example.org', 'https://emend.example.org.evil.example')).toBe(403);
  });
});

describe('sessions', () => {
  test('a token is good once, an earlier one no more, and a session needs both halves', () => {
    const sessions = createSessions(null);
    const old = sessions.token();
    const token = sessions.token();
    expect(sessions.byToken(old, 'ada')).toBeNull();
    const opened = sessions.byToken(token, 'ada')!;
    expect(sessions.byToken(token, 'ada')).toBeNull();
    expect(sessions.find(opened.cookie, opened.key)?.person).toBe('ada');
    expect(sessions.find(opened.cookie, undefined)).toBeNull();
    expect(sessions.find(opened.cookie, opened.cookie)).toBeNull();
    expect(sessions.find(undefined, opened.key)).toBeNull();
    expect(sessions.bySecret('', 'eve')).toBeNull();
    // The Temporal UI's cookie opens the UI and nothing of the page, and ends with the session.
    expect(sessions.findUi(opened.ui)?.person).toBe('ada');
    expect([sessions.findUi(opened.cookie), sessions.findUi(undefined)]).toEqual([null, null]);
    expect(sessions.find(opened.ui, opened.key)).toBeNull();
    sessions.end(opened.cookie);
    expect(sessions.findUi(opened.ui)).toBeNull();
    expect(sessions.find(opened.cookie, opened.key)).toBeNull();
  });

  test('one that was not used for long has ended; there are no more than a bound', () => {
    const clock = { now: 0 };
    const sessions = createSessions('a long shared secret', () => clock.now);
    const first = sessions.bySecret('a long shared secret', 'ada')!;
    expect(sessions.bySecret('a long shared secreT', 'eve')).toBeNull();
    clock.now = BOUNDS.webSession_ms - 1;
    expect(sessions.find(first.cookie, first.key)).not.toBeNull();
    clock.now += BOUNDS.webSession_ms + 1;
    expect(sessions.find(first.cookie, first.key)).toBeNull();
    const opened = Array.from({ length: WEB_SESSIONS + 1 }, () =>
      sessions.bySecret('a long shared secret', 'ada')!,
    );
    const alive = opened.filter(({ cookie, key }) => sessions.find(cookie, key) !== null);
    expect(alive).toHaveLength(WEB_SESSIONS);
  });
});

test('a rate bound gives a burst, then so many a second', () => {
  const clock = { now: 0 };
  const bound = rateBound(3, 10, () => clock.now);
  expect([1, 2, 3, 4].map(() => bound.take())).toEqual([true, true, true, false]);
  clock.now = 100;
  expect([bound.take(), bound.take()]).toEqual([true, false]);
  clock.now = 60_000;
  expect([1, 2, 3, 4].map(() => bound.take())).toEqual([true, true, true, false]);
});

test('one cookie of several', () => {
  expect(cookieOf({ cookie: 'a=1; emend-8260=xyz; emend-82=no' }, 'emend-8260')).toBe('xyz');
  expect(cookieOf({}, 'emend-8260')).toBeUndefined();
});
