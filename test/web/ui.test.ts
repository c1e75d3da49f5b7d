/** The Temporal UI behind the page's server, over real sockets. */
import { afterEach, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSessions, rateBound } from '../../src/web/sessions.js';
import { startUi } from '../../src/web/ui.js';

/** The server keeps current details of at most this size. */
const DETAILS_BYTES = 20_000;

const endings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const listening = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endings.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
};

test.each(['127.0.0.1', '::1'])(
  'its address at %s opens it for who is signed in, and for no one else',
  async (host) => {
    const hidden = await listening(createServer((_request, response) => response.end('the UI')));
    const sessions = createSessions(null);
    const opened = sessions.byToken(sessions.token(), 'ada');
    const ui = await startUi({
      host,
      source: () => Promise.resolve(`http://127.0.0.1:${hidden}`),
      session: (cookie) => sessions.findUi(cookie),
      strangers: () => rateBound(10, 1),
    });
    endings.push(ui.close);
    const cold = await fetch(ui.url);
    expect([cold.status, cold.headers.get('content-type')]).toEqual([
      401,
      expect.stringMatching(/^application\/json/),
    ]);
    const browser = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };
    const visit = await fetch(`${ui.url}/namespaces/default/workflows`, browser);
    const text = await visit.text();
    expect([visit.status, visit.headers.get('content-type')]).toEqual([
      401,
      expect.stringMatching(/^text\/html/),
    ]);
    expect(text).toMatch(/<h1>Sign in .*<\/h1>/);
    expect(text).toMatch(
      /<code>emend dev<\/code>.*<code>emend web<\/code>.*<code>review page<\/code>/s,
    );
    expect(text).not.toContain('the UI');
    const change = { ...browser, method: 'POST', headers: { ...browser.headers, origin: ui.url } };
    expect((await fetch(ui.url, change)).headers.get('content-type')).toMatch(/^application\/json/);
    const answer = await fetch(ui.url, { headers: { cookie: `${ui.cookie}=${opened?.ui ?? ''}` } });
    expect([answer.status, await answer.text()]).toEqual([200, 'the UI']);
  },
);

test('the current details of a run reach the UI, which sends them as part of an address', async () => {
  const hidden = await listening(
    createServer({ maxHeaderSize: 1_000_000 }, (request, response) =>
      response.end(String(request.url?.length)),
    ),
  );
  const sessions = createSessions(null);
  const opened = sessions.byToken(sessions.token(), 'ada');
  const ui = await startUi({
    host: '127.0.0.1',
    source: () => Promise.resolve(`http://127.0.0.1:${hidden}`),
    session: (cookie) => sessions.findUi(cookie),
    strangers: () => rateBound(10, 1),
  });
  endings.push(ui.close);
  const path = `/render?content=${encodeURIComponent('`'.repeat(DETAILS_BYTES))}`;
  const answer = await fetch(`${ui.url}${path}`, {
    headers: { cookie: `${ui.cookie}=${opened?.ui ?? ''}` },
  });
  expect([answer.status, await answer.text()]).toEqual([200, String(path.length)]);
  expect((await fetch(`${ui.url}${path}${'x'.repeat(8_000)}`)).status).toBe(414);
});
