import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LineChain, PLACES_KEPT } from '../../../src/edits/locate/line-chain.js';
import { levelBetween, levelsOn } from '../../../src/edits/locate/likeness.js';
import { fuzz } from '../../support/fuzz.js';

const find = (base: readonly string[], wanted: readonly string[]): readonly number[] =>
  new LineChain(base, () => wanted).find(wanted, 'exact').first;

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
    const lines = (max: number): fc.Arbitrary<string[]> =>
      fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: max });
    const change = fc.tuple(fc.nat(100), fc.nat(3), lines(3));
    fc.assert(
      fc.property(
        lines(20),
        fc.array(change, { maxLength: 5 }),
        fc.constantFrom(['a'], ['a', 'b'], ['b', 'b', 'c']),
        (base, changes, wanted) => {
          const chain = new LineChain(base, () => wanted);
          for (const [at, count, come] of changes) {
            chain.find(wanted, 'exact');
            const nodes = [...chain];
            const old = nodes.slice(at % (nodes.length + 1)).slice(0, count);
            // Without old lines only an empty text takes new ones.
            if (old.length > 0 || nodes.length === 0) chain.replace(old, come);
          }
          const nodes = [...chain];
          const text = nodes.map((node) => chain.textOf(node));
          const places = chain.find(wanted, 'exact').first.map((node) => nodes.indexOf(node));
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

  test('the linear pass takes nothing for a line that it is not', () => {
    const block = [...new Array<string>(9).fill('a'), 'b'];
    const repeated = (times: number): string[] => Array.from({ length: times }, () => block).flat();
    // All but the first line stands there.
    const wanted = [...repeated(500), 'b'];
    expect(find([...repeated(2000), 'x', 'b', ...wanted.slice(1)], wanted)).toEqual([]);
    // What stands there after the first two lines begins in the second.
    const other = ['a', 'b', ...wanted];
    const doubled = ['a', 'b', 'b', ...wanted];
    expect(find([...repeated(2000), ...doubled], other)).toEqual([]);
    expect(find([...repeated(2000), 'x', ...other], other)).toEqual([20_001]);
    // Many places.
    const places = (times: number) => {
      const pattern = repeated(100);
      const chain = new LineChain(repeated(times), () => pattern);
      const { first, more } = chain.find(pattern, 'exact');
      return [first.length, more];
    };
    expect(places(99 + PLACES_KEPT)).toEqual([PLACES_KEPT, false]);
    expect(places(100 + PLACES_KEPT)).toEqual([PLACES_KEPT, true]);
  });

  test('nothing stands before a line that was made at the beginning', () => {
    const chain = new LineChain(['a', 'z', 'q', 'z'], () => ['z', 'x']);
    chain.replace([0], ['x', 'y']);
    expect(chain.find(['z', 'x'], 'exact').first).toEqual([]);
    expect(chain.find(['x'], 'exact').first).toEqual([4]);
  });

  test('two readings that are the same are one', () => {
    const chain = new LineChain(['a', 'b', 'a'], () => ['a']);
    expect(chain.find(['a'], 'exact', ['a']).first).toEqual([0, 2]);
    chain.replace([1], ['a']);
    expect(chain.find(['a'], 'exact', ['a']).first).toEqual([0, 2, 3]);
  });

  /** Blocks of nine lines and one, in which some lines were exchanged: each place is nearly one for a piece of it, up to its end. */
  const periodic = fc
    .array(fc.tuple(fc.nat(), fc.constantFrom('a', 'b')), { maxLength: 4 })
    .map((exchanged) => {
      const base = Array.from({ length: 3_000 }, (_, i) => (i % 10 === 9 ? 'b' : 'a'));
      for (const [at, line] of exchanged) base[at % base.length] = line;
      return base;
    });

  test('the linear pass finds what a plain search finds, at the beginning of a text and in a changed one', () => {
    fc.assert(
      fc.property(
        periodic,
        fc.nat(2_000),
        fc.integer({ min: 200, max: 1_000 }),
        fc.option(fc.tuple(fc.nat(), fc.constantFrom('a', 'b'))),
        fc.option(fc.nat(2_900)),
        (base, from, length, exchanged, changed) => {
          const wanted = base.slice(from, from + length);
          if (exchanged !== null) wanted[exchanged[0] % wanted.length] = exchanged[1];
          const chain = new LineChain(base, () => wanted);
          if (changed !== null) chain.replace(chain.run(changed, 2), ['a', 'b', 'x']);
          const nodes = [...chain];
          const all = naive(
            nodes.map((node) => chain.textOf(node)),
            wanted,
          );
          const { first, more } = chain.find(wanted, 'exact');
          expect(first.map((node) => nodes.indexOf(node))).toEqual(all.slice(0, PLACES_KEPT));
          expect(more).toBe(all.length > PLACES_KEPT);
        },
      ),
      fuzz('linear pass', 40),
    );
  });

  test('where a line has two readings there is no linear pass: there may be more places', () => {
    const base = Array.from({ length: 20_000 }, (_, i) => (i % 10 === 9 ? 'b' : 'a'));
    const wanted = [...base.slice(0, 5_000), 'b'];
    const chain = new LineChain(base, () => [...wanted, 'c']);
    expect(chain.find(wanted, 'exact', [undefined, undefined, undefined, 'c'])).toEqual({
      first: [],
      more: true,
    });
  });

  test('many places are cut short and say so', () => {
    const most = PLACES_KEPT;
    const placesIn = (count: number, pattern: readonly string[]) => {
      const chain = new LineChain(new Array<string>(count).fill('a'), () => pattern);
      const places = chain.find(pattern, 'exact');
      return [places.first.length, places.more];
    };
    for (const pattern of [['a'], ['a', 'a', 'a']]) {
      const others = pattern.length - 1;
      expect(placesIn(1000, pattern)).toEqual([most, true]);
      expect(placesIn(most + others, pattern)).toEqual([most, false]);
      expect(placesIn(most + others + 1, pattern)).toEqual([most, true]);
    }
  });

  test('either reading of a line will do', () => {
    const line = fc.constantFrom('a', 'b', 'c');
    const wanted = fc.array(fc.record({ text: line, other: line }, { requiredKeys: ['text'] }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), wanted, (base, pattern) => {
        const chain = new LineChain(base, () => ['a', 'b', 'c']);
        const fits = (at: number): boolean =>
          pattern.every(
            ({ text, other }, i) => base[at + i] === text || base[at + i] === (other ?? text),
          );
        const texts = pattern.map(({ text }) => text);
        const readings = pattern.map(({ other }) => other);
        const places = chain.find(texts, 'exact', readings);
        expect([...places.first].sort((x, y) => x - y)).toEqual(
          base.map((_, at) => at).filter(fits),
        );
        expect(places.more).toBe(false);
      }),
      fuzz('two readings'),
    );
  });

  test('no line stands nowhere', () => {
    expect(new LineChain(['a'], () => []).find([], 'exact')).toEqual({ first: [], more: false });
  });
});

describe('lines in another indentation', () => {
  const places = (base: readonly string[], wanted: readonly string[]): readonly number[] =>
    new LineChain(base, () => wanted).find(wanted, 'indent').first;
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
  test('a tolerance that is off is not used', () => {
    expect(levelsOn(undefined)).toEqual(['exact', 'line_endings', 'trailing_space']);
    expect(levelsOn({ trailing_space: false, lookalikes: true })).toEqual([
      'exact',
      'line_endings',
      'lookalikes',
    ]);
  });
});
