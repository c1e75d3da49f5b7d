import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ByteText } from '../../../src/edits/text/byte-text.js';
import { indexOfLines, LinesOnce } from '../../../src/edits/text/lines.js';
import { fuzz } from '../../support/fuzz.js';

const lines = fc.array(fc.constantFrom('', 'a', 'b', 'c', 'é', 'a longer line'));

test('a line that stands once is one that a count finds', () => {
  fc.assert(
    fc.property(lines, lines, (text, sought) => {
      const bytes = ByteText.of(Buffer.from(text.map((line) => `${line}\n`).join('')), 0, 'utf8');
      const quotes = sought.map((line) => [line]);
      const once = new LinesOnce(bytes, () => [...quotes, []]);
      for (const [line] of quotes)
        expect(once.isHeldBy([line ?? ''])).toBe(
          text.filter((other) => other === line).length === 1,
        );
      expect(once.isHeldBy([])).toBe(false);
    }),
    fuzz('lines that stand once'),
  );
});

test('nothing is said of a text that is kept as strings', () => {
  expect(new LinesOnce(indexOfLines(['a', 'b']), () => [['a']]).isHeldBy(['a'])).toBe(false);
});

test('the longest line is asked, the first of several', () => {
  const text = ByteText.of(Buffer.from('a\nbb\nd\ncc\ncc\n'), 0, 'utf8');
  const held = (...quote: string[]): boolean => new LinesOnce(text, () => [quote]).isHeldBy(quote);
  expect([held('a', 'bb', 'cc', 'd'), held('a', 'cc', 'bb'), held('a')]).toEqual([
    true,
    false,
    true,
  ]);
});
