/** A text in pieces against a plain string: where strings stand, what edits wrote, and what folding makes of it. */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { folded } from '../../../src/edits/locate/fold.js';
import { foldLookalikes } from '../../../src/edits/locate/nearest.js';
import { type Stretch, StringText } from '../../../src/edits/locate/string-text.js';
import { fuzz } from '../../support/fuzz.js';

/** Every place of a string, those that overlap included. */
const placesOf = (text: string, string: string): number[] => {
  const places: number[] = [];
  for (let start = text.indexOf(string); start >= 0; start = text.indexOf(string, start + 1))
    places.push(start);
  return places;
};

const letters = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 40 });
const change = fc.record({
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat(6),
  after: fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 4 }),
});

describe('a text in pieces', () => {
  test('is what a plain string would be, after any changes', () => {
    let crossing = 0;
    fc.assert(
      fc.property(
        letters,
        fc.array(change, { maxLength: 12 }),
        letters,
        (base, changes, sought) => {
          const text = new StringText(base);
          let plain = base;
          for (const { share, length, after } of changes) {
            const from = Math.floor(share * plain.length);
            const to = Math.min(plain.length, from + length);
            if (from === to) continue;
            text.replace([[from, to]], plain.slice(from, to), after);
            plain = plain.slice(0, from) + after + plain.slice(to);
            const string = sought.slice(0, 3) || 'ab';
            const places = placesOf(plain, string);
            const found = text.find(string, false).map(([start]) => start);
            expect(found).toEqual(places.slice(0, found.length));
            expect(found.length).toBe(Math.min(places.length, 51));
            crossing += found.length;
            expect(text.slice([from, from + 5])).toBe(plain.slice(from, from + 5));
          }
          expect(text.whole).toBe(plain);
        },
      ),
      fuzz('a text in pieces'),
    );
    expect(crossing).toBeGreaterThan(0);
  });

  test('is put together when it has many pieces, and stays what it was', () => {
    const words = Array.from({ length: 300 }, (_, i) => `<${i}>`);
    const text = new StringText(words.join(' '));
    for (const [i, word] of words.entries()) {
      const [place] = text.find(word, false);
      if (place === undefined) throw new Error(`${word} is not there`);
      text.replace([place], word, `(${i})`);
    }
    expect(text.whole).toBe(words.map((_, i) => `(${i})`).join(' '));
  });

  test('a string is found across the seams of several changes', () => {
    const text = new StringText('one two three');
    text.replace([[0, 3]], 'one', 'ONE');
    text.replace([[4, 7]], 'two', 'TWO');
    expect(text.find('NE TWO th', false)).toEqual([[1, 10]]);
  });

  test.each<[string, Stretch, boolean]>([
    ['in what was written', [2, 3], true],
    ['that covers it', [0, 6], true],
    ['before it', [0, 2], false],
    ['behind it', [4, 6], false],
  ])('a stretch %s', (_, stretch, expected) => {
    const text = new StringText('abcdef');
    text.replace([[2, 4]], 'cd', 'XY');
    expect(text.firstOnWritten([stretch]) !== undefined).toBe(expected);
  });

  test('the seam of a deletion is needed by what crosses it alone', () => {
    const text = new StringText('abcdef');
    text.replace([[2, 4]], 'cd', '');
    const isOnSeam = (stretch: Stretch): boolean => text.firstOnWritten([stretch]) !== undefined;
    expect([isOnSeam([1, 3]), isOnSeam([0, 2]), isOnSeam([2, 4])]).toEqual([true, false, false]);
  });

  test('what both sides share is not written, and what is overwritten counts no longer', () => {
    const text = new StringText('say one thing');
    text.replace([[0, 13]], 'say one thing', 'say two thing');
    expect(text.firstOnWritten([[0, 4]])).toBeUndefined();
    text.replace([[4, 7]], 'two', 'six');
    expect(text.firstOnWritten([[8, 13]])).toBeUndefined();
    expect(text.firstOnWritten([[0, 13]])).toEqual([0, 13]);
  });
});

describe('folding', () => {
  const texts = fc.string({
    unit: fc.constantFrom('a', ' ', '\t', '\n', '\r', '\f', '\u2026', '\u201c', '\u00a0', '\u200b'),
    maxLength: 30,
  });
  test.each(['trailing_space', 'lookalikes'] as const)(
    '%s: as a regular expression',
    (likeness) => {
      fc.assert(
        fc.property(texts, fc.boolean(), (text, isWhole) => {
          const blanks = isWhole ? /[ \t\v\f\r]+(?=\n|$(?![^]))/g : /[ \t\v\f\r]+(?=\n)/g;
          const kept = text.replace(blanks, (run) => '\0'.repeat(run.length));
          const units = kept.split('').map((unit) => {
            if (unit === '\0') return '';
            return likeness === 'lookalikes' ? foldLookalikes(unit) : unit;
          });
          const fold = folded(text, likeness, isWhole);
          expect(fold.text).toBe(units.join(''));
          expect([...fold.origins]).toEqual(
            units.flatMap((unit, i) => unit.split('').map(() => i)),
          );
        }),
        fuzz(`folding by ${likeness}`),
      );
    },
  );
});
