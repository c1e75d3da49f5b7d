/** Where a worker answers its supervisor. */
import { expect, test } from '@jest/globals';
import { serveHealth } from '../../src/worker/health.js';

test.each([
  '',
  ':9465',
  '9465',
  'localhost',
  '127.0.0.1:',
  '127.0.0.1:99999',
  '127.0.0.1:-1',
  'http://127.0.0.1:0',
])('an address that is none is refused: %j', async (address) => {
  await expect(serveHealth(address, () => null)).rejects.toMatchObject({
    problem: { code: 'usage' },
  });
});
