import { expect, test } from '@jest/globals';
import { renderReasons } from '../../../src/edits/apply-answer.js';
import {
  copyOf,
  describeNearest,
  differs,
  nearest,
  sameEnds,
} from '../../../src/edits/locate/nearest.js';

const text = ['function a() {', '  return 1;', '}', '', 'function b() {', '\treturn 2;', '}'];

test.each<[string, string[], number, object | null]>([
  [
    'white space at the line end',
    ['function a() {  ', '  return 1;'],
    1,
    { index: 0, dimension: 'white space at the line end' },
  ],
  [
    'indentation',
    ['function b() {', '  return 2;'],
    5,
    { index: 1, expected: '  return 2;', found: '\treturn 2;', dimension: 'indentation' },
  ],
  ['line end', ['function a() {\r', '  return 1;'], 1, { index: 0, dimension: 'line end' }],
  ['case', ['Function b() {', '\treturn 2;'], 5, { dimension: 'letter case' }],
  [
    'a no-break space',
    ['function b() {', '\treturn\u00a02;'],
    5,
    { dimension: 'non-ASCII spaces' },
  ],
  ['text', ['function b() {', '\treturn 3;', '}'], 5, { index: 1, dimension: 'text' }],
  [
    'end of file',
    ['\treturn 2;', '}', 'more'],
    6,
    { index: 2, found: null, dimension: 'end of file' },
  ],
  ['everything stands there', ['function b() {'], 5, null],
])('%s', (_name, wanted, line, difference) => {
  const near = nearest(text, wanted);
  expect(near?.line).toBe(line);
  if (difference === null) expect(near?.firstDifference).toBeNull();
  else expect(near?.firstDifference).toMatchObject(difference);
});

test.each([
  ['a\u00a0b', 'a b', 'non-ASCII spaces (the answer has U+00A0)'],
  ['a b', 'a\u202fb\u200b', 'non-ASCII spaces (the file has U+202F, U+200B)'],
  ['say("x")', 'say(“x”)', 'look-alike characters (the file has U+201C (“), U+201D (”))'],
  ['“x”', '"x" ', 'look-alike characters (the answer has U+201C (“), U+201D (”))'],
  ['Say("x")', 'say(“x")', 'letter case and look-alike characters (the file has U+201C (“))'],
  ['a &lt; b &amp;&amp; c', 'a < b && c', 'HTML entities'],
  ['  a &#60; b', 'A < b', 'text'],
  ['print(\\"a\\")', 'print("a")', 'backslashes'],
  ['a\\_b', 'a_b ', 'text'],
  ['a  b', 'a b', 'white space'],
  ['return 1', 'return 2', 'text'],
  ['ä', 'a', 'text'],
  ['ab', 'x ab y', 'text'],
  ['abc', 'x abc y', 'only a part of the line'],
  [
    'a b c d e f',
    'a\u00a0b\u2002c\u2003d\u2009e\u202ff',
    'non-ASCII spaces (the file has U+00A0, U+2002, U+2003, U+2009)',
  ],
])('%j against %j differs in %s', (expected, found, words) => {
  expect(differs(expected, found)).toBe(words);
});

test('escaped text is near to the plain text', () => {
  const shell = ['#!/bin/sh', 'a', 'make && [ 1 -lt 2 ] > out.log'];
  const escaped = nearest(shell, ['make &amp;&amp; [ 1 -lt 2 ] &gt; out.log']);
  expect(describeNearest(escaped)).toContain(
    'The nearest place is line 3; line 3 differs in HTML entities: ',
  );
  const short = nearest(['a', 'x', '<p>"&"'], ['&lt;p&gt;&quot;&amp;&quot;']);
  expect(short?.line).toBe(3);
  expect(nearest(['a', 'x', 'c["d"]["e"]'], ['c[\\"d\\"][\\"e\\"]'])?.line).toBe(3);
});

test('the hint decides between equal places', () => {
  expect(nearest(text, ['}'], 7)?.line).toBe(7);
  expect(nearest(text, ['}'], 1)?.line).toBe(3);
  // The first of two that are as far from it.
  expect(nearest(text, ['}'], 5)?.line).toBe(3);
});

test.each<[string, string[], string[], number | null]>([
  ['the only line', ['x', 'qq'], ['x'], 1],
  ['more lines win', ['one line', 'q', 'one line', 'two'], ['one line', 'two'], 3],
  [
    'a line of three characters counts as one',
    ['abc', '', '', 'q', 'x1', 'x2'],
    ['abc', 'x1', 'x2'],
    4,
  ],
  ['a longer one as three', ['abcd', '', '', 'q', 'x1', 'x2'], ['abcd', 'x1', 'x2'], 1],
  ['a place that would begin before the text is none', ['bbbb', 'x'], ['x', 'bbbb'], 2],
  ['blanks however many', ['q', `a${' '.repeat(20)}b`], ['a b'], 2],
  ['blank lines tell nothing', ['a', ''], ['', 'zzz'], null],
  [
    'likeness of the first line of more than three characters',
    ['x', 'function b() {'],
    ['abc', 'functions b() {'],
    1,
  ],
  [
    'a part of the first line of three characters or more',
    ['{', 'q', '"timeout": 30'],
    ['zz', 'timeout'],
    2,
  ],
  ['half alike is not alike', ['abcd12', 'q'], ['abcdefgh'], null],
  ['the most alike', ['abcdef12', 'abcdefg1', 'abcde123'], ['abcdefgh'], 2],
])('%s', (_name, lines, wanted, line) => {
  expect(nearest(lines, wanted)?.line ?? null).toBe(line);
});

test('what two texts share at their ends is counted once', () => {
  expect(sameEnds('ab', 'ab')).toEqual([2, 0]);
  expect(sameEnds('aab', 'ab')).toEqual([1, 1]);
  expect(sameEnds('aaa', 'aa')).toEqual([2, 0]);
  expect(sameEnds('', 'a')).toEqual([0, 0]);
});

test('how many lines stand there exactly', () => {
  expect(nearest(text, ['function a() {', '  return 2;', '}'])?.matching).toBe(2);
});

test('a place past the end is told', () => {
  expect(describeNearest(nearest(text, ['\treturn 2;', '}', 'more']))).toBe(
    'The nearest place is line 6; line 8 differs in end of file: expected "more", the file ends.',
  );
  expect(describeNearest(nearest(text, ['\treturn 2;', '{']))).toBe(
    'The nearest place is line 6; line 7 differs in text: expected "{", found "}".',
  );
  expect(describeNearest(nearest(text, ['}'], 7))).toBe('It is at line 7.');
  expect(describeNearest(nearest(['}'], ['}', '“']))).toMatch(
    /line 2 differs in end of file: .*, the file ends\.$/,
  );
  expect(describeNearest(nearest(['say "x"'], ['say “x"']))).toContain(
    'differs in look-alike characters (the answer has',
  );
});

test('lines to be copied, with their numbers: up to 30 of 300 characters', () => {
  expect(copyOf(nearest(text, ['function b() {']))).toEqual({
    copy: 'Line 5 of the file, to copy:\nfunction b() {',
  });
  expect(copyOf(nearest(text, ['function b() {', '\treturn 3;']))).toEqual({
    copy: 'Lines 5 to 6 of the file, to copy:\nfunction b() {\n\treturn 2;',
  });
  const copied = (lines: string[]): number => nearest(lines, lines)?.lines.length ?? -1;
  expect(copied(new Array<string>(30).fill('x'.repeat(300)))).toBe(30);
  expect(copied(new Array<string>(31).fill('x'))).toBe(0);
  expect(copied(['x', 'x'.repeat(301)])).toBe(0);
  expect(copyOf(nearest(['x'.repeat(301)], ['x'.repeat(301)]))).toEqual({});
  expect(copyOf(null)).toEqual({});
});

test('what it costs is bounded', () => {
  // Fifty places of a line,
  expect(nearest(new Array<string>(60).fill('}'), ['}'], 60)?.line).toBe(50);
  // two hundred lines of what was wanted,
  const wanted = ['functions b() {', ...new Array<string>(199).fill('z'), 'another line'];
  const there = ['function b() {', ...new Array<string>(249).fill('q'), 'another line'];
  expect(nearest(there, wanted)?.line).toBe(1);
  expect(nearest(there, wanted.slice(1))?.line).toBe(52);
  // and likeness in twenty thousand lines.
  const many = [...new Array<string>(19_999).fill('q'), 'function b() {'];
  expect(nearest(many, ['functions b() {'])?.line).toBe(20_000);
  expect(nearest(['q', ...many], ['functions b() {'])).toBeNull();
});

test('one changed line is found by likeness, nothing alike is said', () => {
  expect(nearest(text, ['functions b() {'])?.line).toBe(5);
  expect(nearest(text, ['zzzzzzzzz'])).toBeNull();
  expect(describeNearest(null)).toContain('Nothing');
});

test('a word of a line is told with the whole line, to be copied', () => {
  const json = ['{', '  "port": 8080,', '  "timeout": 30', '}'];
  expect(describeNearest(nearest(json, ['timeout']))).toBe(
    '`timeout` is only part of line 3; whole lines are required. The whole line 3 is `  "timeout": 30`.',
  );
  expect(describeNearest(nearest(['a\tbig word'], ['big']))).toContain(
    'The whole line 1 is "a\\tbig word".',
  );
  expect(nearest(json, ['t'])).toBeNull();
  const line = `abc ${'x'.repeat(156)}`;
  expect(describeNearest(nearest([line], ['abc']))).toContain(`The whole line 1 is \`${line}\`.`);
  expect(describeNearest(nearest([`${line}x`], ['abc']))).toContain('The whole line 1 is "abc x');
});

test('huge and repetitive inputs are bounded', () => {
  const many = new Array<string>(300_000).fill('}');
  expect(nearest(many, new Array<string>(5_000).fill('}'))?.matching).toBe(5_000);
});

test('reasons are told with their place, and no more than can be read', () => {
  const shown = renderReasons([
    { code: 'overlap', path: 'a.ts', index: 2, message: 'It overlaps.' },
    { code: 'x', message: 'Y.' },
  ]);
  expect(shown).toBe('1. a.ts, edit 3: It overlaps. (overlap)\n2. Y. (x)');
  expect(
    renderReasons(new Array<never>(30).fill({ code: 'x', message: 'Y.' } as never))
      .split('\n')
      .at(-1),
  ).toBe('… and 10 more of this kind.');
  expect(renderReasons([])).toBe('');
});
