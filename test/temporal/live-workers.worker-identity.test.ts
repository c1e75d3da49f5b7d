import { expect, test } from '@jest/globals';
import { ofOtherStores, workerIdentity } from '../../src/temporal/live-workers.js';

test('workers of another store are told apart; those that do not say are not accused', () => {
  const [ours, theirs] = ['a'.repeat(32), 'b'.repeat(32)];
  expect(workerIdentity(ours)).toMatch(new RegExp(`^${process.pid}@.+, store aaaaaaaa$`));
  const pollers = [workerIdentity(ours), workerIdentity(theirs), '12@host', ''];
  expect(ofOtherStores(pollers, ours)).toEqual([workerIdentity(theirs)]);
});
