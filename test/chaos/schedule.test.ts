/** The drawing of faults: each kind once before any is drawn again, the same from the same seed. */
import { describe, expect, test } from '@jest/globals';
import { KINDS } from './kinds/index.js';
import { randomOf } from './random.js';
import { alternately, draw, shareOf } from './schedule.js';

const kinds = ['a', 'b', 'c', 'd'].map((name) => ({ name }));
const names = (count: number, seed: number): string[] =>
  draw(kinds, count, randomOf(seed, 'test')).planned.map(({ name }) => name);

describe('the schedule', () => {
  test('each kind is planned once before any is drawn again', () => {
    for (let seed = 0; seed < 50; seed++) {
      const drawn = names(10, seed);
      for (const round of [drawn.slice(0, 4), drawn.slice(4, 8)])
        expect(round.sort()).toEqual(['a', 'b', 'c', 'd']);
      expect(new Set(drawn.slice(8)).size).toBe(2);
    }
  });

  test('what there was no room for is named', () => {
    const { planned, notPlanned } = draw(kinds, 3, randomOf(1, 'test'));
    expect([...planned, ...notPlanned].map(({ name }) => name).sort()).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
    expect(notPlanned).toHaveLength(1);
    expect(draw(kinds, 4, randomOf(1, 'test')).notPlanned).toEqual([]);
    expect(draw(kinds, 0, randomOf(1, 'test')).planned).toEqual([]);
    expect(draw([], 3, randomOf(1, 'test'))).toEqual({ planned: [], notPlanned: [] });
  });

  test('a seed brings it back, another seed does not', () => {
    expect(names(10, 7)).toEqual(names(10, 7));
    expect(
      new Set(Array.from({ length: 20 }, (_, seed) => names(10, seed).join(''))).size,
    ).toBeGreaterThan(5);
  });

  test('two lists in turn', () => {
    expect(alternately([1, 2, 3], [4])).toEqual([1, 4, 2, 3]);
    expect(alternately([], [4])).toEqual([4]);
  });

  test('shares are disjoint, and together they are the whole', () => {
    const items = Array.from({ length: 20 }, (_, i) => i);
    const all = Array.from({ length: 6 }, (_, i) => shareOf(items, { number: i + 1, of: 6 }));
    expect(all.flat().sort((a, b) => a - b)).toEqual(items);
    expect(all.map(({ length }) => length)).toEqual([4, 4, 3, 3, 3, 3]);
    expect(shareOf(items, { number: 1, of: 1 })).toEqual(items);
  });
});

test('no two kinds have one name, and each bag fits into 50 kills', () => {
  expect(new Set(KINDS.map(({ name }) => name)).size).toBe(KINDS.length);
  for (const bag of ['kill', 'other']) {
    const count = KINDS.filter((kind) => kind.bag === bag).length;
    expect(count).toBeGreaterThan(10);
    expect(count).toBeLessThanOrEqual(50);
  }
});
