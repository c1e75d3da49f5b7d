/** Where a worker serves its metrics. */
import { expect, test } from '@jest/globals';
import { startWatching } from '../../src/worker/metrics.js';

test.each([
  '',
  ':9464',
  '9464',
  'localhost',
  '127.0.0.1:',
  '127.0.0.1:99999',
  '127.0.0.1:-1',
  'http://127.0.0.1:0',
])('an address that is none is refused: %j', async (address) => {
  await expect(startWatching(address, () => null)).rejects.toMatchObject({
    problem: { code: 'usage' },
  });
});
