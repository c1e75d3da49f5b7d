/** The page's server ends also while Temporal does not answer. */
import { expect, test } from '@jest/globals';
import { startWeb } from '../../src/web/server.js';

test('a request that waits for a server that does not answer keeps nothing alive', async () => {
  let address = '';
  let isAsked = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve;
  });
  const server = await startWeb({
    host: '127.0.0.1',
    port: 0,
    secret: null,
    publicUrl: null,
    person: 'Ada',
    assets: new Map(),
    ui: null,
    source: () => {
      isAsked();
      return new Promise(() => undefined);
    },
    onAddress: (offered) => {
      address = offered;
    },
    onError: (error) => {
      throw error;
    },
  });
  const origin = { origin: server.url, 'content-type': 'application/json' };
  const body = JSON.stringify({ token: address.split('#token=')[1] });
  const login = await fetch(`${server.url}/api/login`, { method: 'POST', headers: origin, body });
  const { key } = (await login.json()) as { key: string };
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  const runs = fetch(`${server.url}/api/runs`, { headers: { cookie, 'x-emend-key': key } }).then(
    () => 'answered',
    () => 'cut',
  );
  await asked;
  await server.close();
  expect(await runs).toBe('cut');
}, 20_000);
