import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ByteText } from '../../../src/edits/text/byte-text.js';
import { indexOfLines, longestOf, uniqueLines } from '../../../src/edits/text/lines.js';
import { fuzz } from '../../support/fuzz.js';

const lines = fc.array(fc.constantFrom('', 'a', 'b', 'c', 'é', 'a longer line'));

test('lines that stand once are those that a count finds', () => {
  fc.assert(
    fc.property(lines, lines, (text, sought) => {
      const bytes = ByteText.of(Buffer.from(text.map((line) => `${line}\n`).join('')), 0, 'utf8');
      const wanted = sought.filter((line) => text.filter((other) => other === line).length === 1);
      expect(uniqueLines(bytes, [...sought, undefined])).toEqual(new Set(wanted));
    }),
    fuzz('lines that stand once'),
  );
});

test('nothing is said of a text that is kept as strings', () => {
  expect(uniqueLines(indexOfLines(['a', 'b']), ['a'])).toEqual(new Set());
});

test('the longest line, the first of several, none of none', () => {
  expect(longestOf(['a', 'bb', 'cc', 'd'])).toBe('bb');
  expect(longestOf([''])).toBe('');
  expect(longestOf([])).toBeUndefined();
});
