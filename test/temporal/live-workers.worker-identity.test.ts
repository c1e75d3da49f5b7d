import { expect, test } from '@jest/globals';
import { build } from '../../src/system/version.js';
import { buildOf, ofOtherStores, workerIdentity } from '../../src/temporal/live-workers.js';

test('workers of another store are told apart; those that do not say are not accused', () => {
  const [ours, theirs] = ['a'.repeat(32), 'b'.repeat(32)];
  expect(workerIdentity(ours)).toMatch(new RegExp(`^${process.pid}@.+, store aaaaaaaa$`));
  const pollers = [workerIdentity(ours), workerIdentity(theirs), '12@host', ''];
  expect(ofOtherStores(pollers, ours)).toEqual([workerIdentity(theirs)]);
});

test('a worker says which build it runs; one that does not is not guessed at', () => {
  expect(buildOf(workerIdentity('a'.repeat(32)))).toBe(build());
  expect(['12@host', '12@host, store aaaaaaaa', ''].map(buildOf)).toEqual([null, null, null]);
  expect(buildOf('12@host, 0.1.0+1a2b3c4d, store aaaaaaaa')).toBe('0.1.0+1a2b3c4d');
});
