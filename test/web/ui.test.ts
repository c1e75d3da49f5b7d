/** The Temporal UI behind the page's server, over real sockets. */
import { afterEach, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSessions, rateBound } from '../../src/web/sessions.js';
import { startUi } from '../../src/web/ui.js';

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
    expect((await fetch(ui.url)).status).toBe(401);
    const answer = await fetch(ui.url, { headers: { cookie: `${ui.cookie}=${opened?.ui ?? ''}` } });
    expect([answer.status, await answer.text()]).toEqual([200, 'the UI']);
  },
);
