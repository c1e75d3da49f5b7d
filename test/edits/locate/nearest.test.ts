import { expect, test } from '@jest/globals';
import { renderReasons } from '../../../src/edits/apply-answer.js';
import { describeNearest, differs, nearest } from '../../../src/edits/locate/nearest.js';

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
  ['a no-break space', ['function b() {', '\treturn\u00a02;'], 5, { dimension: 'spaces that are no blanks' }],
  ['text', ['function b() {', '\treturn 3;', '}'], 5, { index: 1, dimension: 'text' }],
  ['end of file', ['\treturn 2;', '}', 'more'], 6, { index: 2, found: null, dimension: 'end of file' }],
  ['everything stands there', ['function b() {'], 5, null],
])('%s', (_name, wanted, line, difference) => {
  const near = nearest(text, wanted);
  expect(near?.line).toBe(line);
  if (difference === null) expect(near?.firstDifference).toBeNull();
  else expect(near?.firstDifference).toMatchObject(difference);
});

test.each([
  ['a\u00a0b', 'a b', 'spaces that are no blanks (the answer has U+00A0)'],
  ['a b', 'a\u202fb\u200b', 'spaces that are no blanks (the file has U+202F, U+200B)'],
  ['say("x")', 'say(“x”)', 'look-alike characters (the file has U+201C (“), U+201D (”))'],
  ['“x”', '"x" ', 'look-alike characters (the answer has U+201C (“), U+201D (”))'],
  ['Say("x")', 'say(“x")', 'letter case and look-alike characters (the file has U+201C (“))'],
  ['a  b', 'a b', 'white space'],
  ['return 1', 'return 2', 'text'],
])('%j against %j differs in %s', (expected, found, words) => {
  expect(differs(expected, found)).toBe(words);
});

test('the hint decides between equal places', () => {
  expect(nearest(text, ['}'], 7)?.line).toBe(7);
  expect(nearest(text, ['}'], 1)?.line).toBe(3);
});

test('one changed line is found by likeness, nothing alike is said', () => {
  expect(nearest(text, ['functions b() {'])?.line).toBe(5);
  expect(nearest(text, ['zzzzzzzzz'])).toBeNull();
  expect(describeNearest(null)).toContain('Nothing');
});

test('a word of a line is told with the whole line, to be copied', () => {
  const json = ['{', '  "port": 8080,', '  "timeout": 30', '}'];
  expect(describeNearest(nearest(json, ['timeout']))).toBe(
    '`timeout` is only a part of line 3, and whole lines are wanted. The whole line 3 is `  "timeout": 30`.',
  );
  expect(describeNearest(nearest(['a\tbig word'], ['big']))).toContain('The whole line 1 is "a\\tbig word".');
  expect(nearest(json, ['t'])).toBeNull();
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
