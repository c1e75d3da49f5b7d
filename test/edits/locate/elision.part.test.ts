/** A quote that is a part of one line: where it stands, and what comes in its place. */
import { describe, expect, test } from '@jest/globals';
import { placesOfPart, withinLine } from '../../../src/edits/locate/elision.js';

test('places: each line as often as it holds the part, overlaps too, at most so many', () => {
  expect(placesOfPart(['xaax', '', 'aaa'], 'aa', 9)).toEqual([0, 2, 2]);
  expect(placesOfPart(['xaax', '', 'aaa', 'aa'], 'aa', 3)).toEqual([0, 2, 2]);
  expect(placesOfPart(['aaaa'], 'aa', 2)).toEqual([0, 0]);
  expect(placesOfPart(['b'], 'a', 3)).toEqual([]);
});

describe('what comes in its place', () => {
  test.each([
    ['inside', 'call(one, two);', 'one, two', ['three'], ['call(three);']],
    ['at the start', 'one two', 'one', ['1'], ['1 two']],
    ['at the end', 'one two', 'two', ['2'], ['one 2']],
    ['nothing', 'f(a, b)', ', b', [], ['f(a)']],
    ['several lines', 'f(a);', 'a', ['a,', '  b', ''], ['f(a,', '  b', ');']],
    ['without the indentation', '  a;', 'a', ['b'], ['  b;']],
    [
      'lines that are indented as the line is',
      '  a;',
      'a;',
      ['b;', '  c;', '', '    d;'],
      ['  b;', '  c;', '', '    d;'],
    ],
    ['more of the same', 'x = 1', '1', ['10'], ['x = 10']],
    ['what is there, and more lines', 'a = f(b)', 'f(b', ['f(b)', 'g('], ['a = f(b)', 'g()']],
    ['blanks at the start of the line', 'one two', 'one', ['  1'], ['  1 two']],
    ['a line of blanks', '    a;', 'a;', ['b;', ' ', '    c;'], ['    b;', ' ', '    c;']],
  ])('%s', (_name, text, part, replace, expected) => {
    expect(withinLine(text, part, replace)).toEqual(expected);
  });
  test.each([
    ['it is there already', 'x = 10', 'x = 1', ['x = 10']],
    ['the line but for blanks at its end', 'x = 1  ', 'x = 1', ['x = 2']],
    ['later lines without the indentation', '  a;', 'a;', ['b;', 'c;']],
    ['a first line that is indented itself', '  a;', 'a;', ['  b;']],
  ])('none: %s', (_name, text, part, replace) => {
    expect(withinLine(text, part, replace)).toBeNull();
  });
});
