/** The address at which Temporal's SDK serves a worker's metrics. */
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { DefaultLogger } from '@temporalio/worker';
import { installRuntime } from '../../src/worker/code.js';

const install = (metrics: string) =>
  installRuntime({ logger: new DefaultLogger('ERROR'), core: 'ERROR', metrics });

test.each(['', ':9464', '9464', 'localhost:9464', '127.0.0.1:99999', 'http://127.0.0.1:0'])(
  'an address that is none is refused: %j',
  (address) => {
    expect(() => install(address)).toThrow(
      expect.objectContaining({ problem: expect.objectContaining({ code: 'usage' }) }),
    );
  },
);

test('an address that is taken is refused by name, and another one then serves', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  expect(() => install(taken)).toThrow(`--metrics ${taken}: Address already in use`);
  other.close();
  await once(other, 'close');
  const end = install(taken);
  expect((await fetch(`http://${taken}/metrics`)).status).toBe(200);
  expect(() => install('127.0.0.1:0')).toThrow('is installed already');
  await end();
});
