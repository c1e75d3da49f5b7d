/** Which proposals of a run are older than its commit, by the order of its archive. */
import { expect, test } from '@jest/globals';
import { earlierCommitIn } from '../../src/shared/earlier-commit.js';

const refOf = (id: string): string => `sha256:${id.repeat(64)}`;
const built = (id: string) => ({
  name: 'buildProposal',
  result: { proposal: { id, ref: refOf(id) } },
});
const AB = new Map([
  ['a', refOf('a')],
  ['b', refOf('b')],
]);
const committed = (commit: string) => ({
  name: 'commit',
  result: { outcome: 'committed', commit },
});

test('the proposals before the commit are older, also if a reset builds them again', () => {
  const activities = [built('a'), built('b'), committed('c1'), built('a'), built('c')];
  expect(earlierCommitIn(activities)).toEqual({ commit: 'c1', proposals: AB });
});

test('the last commit counts', () => {
  const activities = [built('a'), committed('c1'), built('b'), committed('c2'), built('c')];
  expect(earlierCommitIn(activities)).toEqual({ commit: 'c2', proposals: AB });
});

test('a commit that asked a question, or made none, is no commit', () => {
  for (const result of [{ outcome: 'conflict' }, { outcome: 'nothing' }, undefined, null])
    expect(earlierCommitIn([built('a'), { name: 'commit', result }])).toBeNull();
});
