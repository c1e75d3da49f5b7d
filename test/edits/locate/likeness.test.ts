/** What of a changed line stays as the file has it. `old` is the answer's line, `base` the file's, `now` the answer's new one. */
import { describe, expect, test } from '@jest/globals';
import { carryLines } from '../../../src/edits/locate/likeness.js';

describe('one line', () => {
  test.each([
    ['nothing changed: the blanks of the file stay', 'x', 'x  ', 'x', 'x  '],
    ['quoted as it is: the new line is taken as it is', 'a\u200bb', 'a\u200bb', 'ax', 'ax'],
    ['before the change', '"a" b', '“a” b', '"a" c', '“a” c'],
    ['behind the change', 'b "a"', 'b “a”', 'c "a"', 'c “a”'],
    ['up to its last character', "a'", 'a’', "a'b", 'a’b'],
    [
      'one character for three, cut within: its part comes from the answer',
      'a...b',
      'a…b',
      'a..c',
      'a..c',
    ],
    ['one character for three at the end, cut within', 'a...', 'a…', 'b..', 'b..'],
    ['one character for three, whole', 'a...b', 'a…b', 'a...c', 'a…c'],
    ['blanks at the end alone tell nothing', 'a b ', 'a b', 'a c ', 'a c '],
    ['blanks at the end behind shared text', 'a b;  ', 'a b;', 'a c;  ', 'a c;'],
    ['a character of no width behind the shared text', 'ab', 'a\u200bb', 'ac', 'a\u200bc'],
    ['a character of no width before a changed beginning', 'ab', '\u200bab', 'xb', 'xb'],
    [
      'a character of no width at the end of both',
      '"ab\u200b',
      '“ab\u200b',
      '"ax\u200b',
      '“ax\u200b',
    ],
    [
      'a character of no width behind blanks that the file has not',
      'ab \u200b',
      'ab',
      'ax-\u200b',
      'ax-',
    ],
  ])('%s', (_name, old, base, now, expected) => {
    expect(carryLines([old], [base], [now], [])).toEqual([expected]);
  });
});

describe('which line is the counterpart', () => {
  const base = ['“a', '“b', '“c'];
  const old = ['"a', '"b', '"c'];
  test.each<[string, string[], number[], (string | null)[]]>([
    ['the one at its place', ['"ax', '"bx', '"cx'], [-1, -1, -1], ['“ax', '“bx', '“cx']],
    ['none where the numbers differ', ['"ax', '"bx'], [], ['"ax', '"bx']],
    ['counted from the kept line before', ['"b', '"cx'], [1, -1], [null, '“cx']],
    ['counted up to the kept line behind', ['"ax', '"b'], [-1, 1], ['“ax', null]],
    [
      'none before the first line',
      ['"ax', '"a', '"b', '"c'],
      [-1, 0, 1, 2],
      ['"ax', null, null, null],
    ],
    [
      'in each stretch by itself',
      ['"ax', '"b', '"cx', '"d'],
      [-1, 1, -1, -1],
      ['“ax', null, '"cx', '"d'],
    ],
  ])('%s', (_name, now, kept, expected) => {
    expect(carryLines(old, base, now, kept)).toEqual(expected);
  });
});
