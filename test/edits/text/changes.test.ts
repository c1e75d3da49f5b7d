/** Changes of a file's lines: joined where they touch. */
import { expect, test } from '@jest/globals';
import { type Change, ChangeList, changesFrom } from '../../../src/edits/text/changes.js';

const listed = (...puts: [number, number, string[]][]): readonly Change[] => {
  const list = new ChangeList();
  for (const put of puts) list.put(...put);
  return list.done();
};

test('changes that touch are one, those with a kept line between them are not', () => {
  const three: [number, number, string[]][] = [
    [0, 1, ['a']],
    [2, 3, ['b']],
    [5, 7, []],
  ];
  const apart = three.map(([from, to, lines]) => ({ from, to, lines }));
  expect(listed(...three)).toEqual(apart);
  expect(listed(...three, [7, 8, ['c']], [8, 8, ['d']])).toEqual([
    ...apart.slice(0, 2),
    { from: 5, to: 8, lines: ['c', 'd'] },
  ]);
  expect(listed(...three, [6, 6, ['c']])).toEqual([
    ...apart.slice(0, 2),
    { from: 5, to: 7, lines: ['c'] },
  ]);
  expect(listed([3, 3, []])).toEqual([]);
});

test('the changes of a result whose lines are known', () => {
  expect(changesFrom(3, ['a', 'x', 'c'], [0, -1, 2])).toEqual([{ from: 1, to: 2, lines: ['x'] }]);
  expect(changesFrom(3, ['b', 'x'], [1, -1])).toEqual([
    { from: 0, to: 1, lines: [] },
    { from: 2, to: 3, lines: ['x'] },
  ]);
  expect(changesFrom(2, ['a', 'b'], [0, 1])).toEqual([]);
  expect(changesFrom(0, ['a'], [-1])).toEqual([{ from: 0, to: 0, lines: ['a'] }]);
});
