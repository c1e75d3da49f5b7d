/** Which files of a proposal move, and what becomes of one path of a move without the other. */
import { expect, test } from '@jest/globals';
import { movesIn, withOldPaths } from '../../../src/activities/step/renames.js';
import type { ProposalFile } from '../../../src/workspace/proposal.js';

const side = { ref: `sha256:${'0'.repeat(64)}`, mode: 0o644 } as const;
const created = (path: string): ProposalFile => ({ path, base: null, result: side, by: 'model' });
const deleted = (path: string): ProposalFile => ({ path, base: side, result: null, by: 'model' });
const edited = (path: string): ProposalFile => ({ path, base: side, result: side, by: 'model' });

const A_TO_B = { from: 'a', to: 'b' };

test.each<[string, readonly ProposalFile[], number]>([
  ['both paths', [deleted('a'), created('b')], 1],
  ['the old path alone', [deleted('a')], 0],
  ['the new path alone', [created('b')], 0],
  ['an old path that stays', [edited('a'), created('b')], 0],
  ['a new path that a file had', [deleted('a'), edited('b')], 0],
])('%s', (_, files, count) => {
  const { byNewPath, byOldPath } = movesIn(files, [A_TO_B]);
  expect([byNewPath.size, byOldPath.size]).toEqual([count, count]);
  if (count > 0) expect([byNewPath.get('b')?.path, byOldPath.get('a')?.path]).toEqual(['a', 'b']);
});

test('an old path is left out with its new one, and a new one is not with its old one', () => {
  expect([...withOldPaths(new Set(['b', 'x']), [A_TO_B])]).toEqual(['b', 'x', 'a']);
  expect([...withOldPaths(new Set(['a']), [A_TO_B])]).toEqual(['a']);
});
