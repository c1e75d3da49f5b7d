/**
 * One file of a home is damaged while its runs are in every state: commands and a worker name the file, every other run comes to its end, and
 * no call is paid for twice. `npm run test:long` draws 60 damages, EMEND_WHOLE=1 500; home-files.test.ts draws a few in `npm test`.
 */
import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { WHOLE, seed } from '../support/seeded.js';
import { describeIf } from '../support/skipped.js';
import { checkDamage, tryDamage, whatFollows } from './damage-support.js';
import { everyState, STATES, type EveryState } from './every-state.js';

const DAMAGES = WHOLE ? 500 : 60;
const TEST_DAMAGES = 5;

describeIf(
  process.env.EMEND_LONG === '1',
  'home-files.test.ts damages a few files (EMEND_LONG=1 runs it)',
)('a damaged file', () => {
  let s: EveryState;
  beforeAll(async () => {
    s = await everyState();
  }, 240_000);
  afterAll(() => s.close());

  test('nothing is damaged: every run comes to its end, and no call is made', async () => {
    checkDamage(s, null, await whatFollows(s, { withWorker: true, shown: STATES }));
  }, 120_000);

  describe.each(Array.from({ length: DAMAGES / TEST_DAMAGES }, (_, index) => index * TEST_DAMAGES))(
    'damages from %i on',
    (first) => {
      test(`are named, and lose no other run (seed ${seed})`, async () => {
        for (let n = first; n < first + TEST_DAMAGES; n++) await tryDamage(s, n, true);
      }, 300_000);
    },
  );
});
