import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LineChain } from '../../src/edits/locate.js';
import { levelBetween, levelsOn } from '../../src/edits/locate-levels.js';
import { fuzz } from '../support/fuzz.js';

const find = (base: readonly string[], wanted: readonly string[]): readonly number[] =>
  new LineChain(base, () => wanted).find(
    wanted.map((text) => ({ text })),
    'exact',
  ).first;

const naive = (base: readonly string[], wanted: readonly string[]): number[] =>
  base.map((_, at) => at).filter((at) => wanted.every((text, i) => base[at + i] === text));

describe('places of lines', () => {
  test('are those that a plain search finds', () => {
    const lines = (max: number): fc.Arbitrary<string[]> =>
      fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: max });
    fc.assert(
      fc.property(lines(40), lines(4), (base, wanted) => {
        expect(find(base, wanted)).toEqual(naive(base, wanted));
      }),
      fuzz('places'),
    );
  });

  test('are found in a changed text as in one that was always so', () => {
    const lines = (max: number): fc.Arbitrary<string[]> => fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: max });
    const change = fc.tuple(fc.nat(100), fc.nat(3), lines(3));
    fc.assert(
      fc.property(
        lines(20),
        fc.array(change, { maxLength: 5 }),
        fc.constantFrom(['a'], ['a', 'b'], ['b', 'b', 'c']),
        (base, changes, wanted) => {
          const chain = new LineChain(base, () => wanted);
          const pattern = wanted.map((text) => ({ text }));
          for (const [at, count, come] of changes) {
            chain.find(pattern, 'exact');
            const nodes = [...chain];
            const old = nodes.slice(at % (nodes.length + 1)).slice(0, count);
            // Without old lines only an empty text takes new ones.
            if (old.length > 0 || nodes.length === 0) chain.replace(old, come);
          }
          const nodes = [...chain];
          const text = nodes.map((node) => chain.textOf(node));
          const places = chain.find(pattern, 'exact').first.map((node) => nodes.indexOf(node));
          expect(places.sort((x, y) => x - y)).toEqual(naive(text, wanted));
        },
      ),
      fuzz('changed text'),
    );
  });

  test('in lines that repeat without end, the linear pass finds the same', () => {
    const block = [...new Array<string>(9).fill('a'), 'b'];
    const repeated = (times: number): string[] => Array.from({ length: times }, () => block).flat();
    const wanted = [...repeated(500), 'b'];
    expect(find(repeated(2000), wanted)).toEqual([]);
    expect(find([...repeated(2000), 'b', ...repeated(600), 'b'], wanted)).toEqual([15_000, 21_001]);
  });

  test('many places are cut short and say so', () => {
    const chain = new LineChain(new Array<string>(1000).fill('a'), () => ['a']);
    const places = chain.find([{ text: 'a' }], 'exact');
    expect([places.first.length, places.more]).toEqual([50, true]);
  });

  test('either reading of a line will do', () => {
    const chain = new LineChain([' a', 'b', 'a', 'b'], () => ['a', ' a', 'b']);
    const places = chain.find([{ text: 'a', other: ' a' }, { text: 'b' }], 'exact');
    expect([...places.first].sort()).toEqual([0, 2]);
  });
});

describe('lines in another indentation', () => {
  const places = (base: readonly string[], wanted: readonly string[]): readonly number[] =>
    new LineChain(base, () => wanted).find(
      wanted.map((text) => ({ text })),
      'indent',
    ).first;
  test.each([
    ['blanks and tabs before the text do not count', ['x', ' \ta', 'b'], ['a', '  b'], [1]],
    ['nor what a blank line is blank with', ['  a', '\f\f'], ['a', ''], [0]],
    ['blanks at the end do', ['  a '], ['a'], []],
    ['and other white space before the text', ['\va'], ['a'], []],
    ['and the text', ['ab'], ['ac'], []],
  ])('%s', (_name, base, wanted, expected) => {
    expect(places(base, wanted)).toEqual(expected);
  });
});

describe('levels', () => {
  test.each([
    ['a', 'a', 'exact'],
    ['a', 'a\r', 'line_endings'],
    ['a', 'a \t', 'trailing_space'],
    ['a', 'a\v', 'trailing_space'],
    ['a', 'a\f', 'trailing_space'],
    ['a', 'a \r', 'trailing_space'],
    ["it's", 'it\u2019s ', 'lookalikes'],
    ['a', ' a', undefined],
    ['a', 'A', undefined],
  ])('%j and %j are the same at %s', (a, b, level) => {
    expect(levelBetween(a, b)).toBe(level);
  });
  test('a rung that is off is not climbed', () => {
    expect(levelsOn(undefined)).toEqual(['exact', 'line_endings', 'trailing_space']);
    expect(levelsOn({ trailing_space: false, lookalikes: true })).toEqual(['exact', 'line_endings', 'lookalikes']);
  });
});
