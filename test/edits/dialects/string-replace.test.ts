/** What string-replace refuses, by code and message, and what its edits make of each other's text. */
import { describe, expect, test } from '@jest/globals';
import type { ApplyOptions } from '../../../src/edits/index.js';
import * as say from '../told.js';
import { CALL_EDITS } from '../../../src/edits/calls/call-reader.js';
import { LOOSE_STRINGS, PLACES_REPORTED } from '../../../src/edits/locate/string-text.js';

const textOf = (answer: unknown): string =>
  typeof answer === 'string' ? answer : JSON.stringify(answer);
const told = (
  answer: unknown,
  files: Readonly<Record<string, string>>,
  options?: Partial<ApplyOptions>,
): say.Told => say.told('string-replace', textOf(answer), files, options);
const edit = (old_string: unknown, new_string: unknown, more: object = {}) => ({
  old_string,
  new_string,
  ...more,
});
const of = (...edits: object[]) => ({ file_path: 'a', edits });
const one = { file_path: 'a', old_string: 'x', new_string: 'y' };

describe('an answer that is no list of edits', () => {
  test.each([
    ['text', 'invalid not_json'],
    ['[1]', 'invalid not_an_object'],
    ['"text"', 'invalid not_an_object'],
    [{ file_path: 'a', edits: {} }, 'invalid missing_key 0'],
    [{ file_path: 'a', edits: null }, 'invalid missing_key 0'],
    [{ file_path: 'a', edits: 1 }, 'invalid no_operations'],
    [{ file_path: 'a', edits: 'x' }, 'invalid no_operations'],
    [of(), 'invalid no_edits'],
    [of(...Array.from({ length: CALL_EDITS + 1 }, () => edit('x', 'y'))), 'invalid too_many_edits'],
    [{ ...one, path: 'a' }, 'invalid unknown_key 0'],
    [{ file_path: 'a', edits: [one], old_string: 'x' }, 'invalid unknown_key 0'],
    [{ file_path: 'a', edits: ['x'] }, 'invalid wrong_type 0'],
    [of(edit('x', 'y'), edit('x', 'y', { replace: true })), 'invalid unknown_key 1'],
    [{ edits: [edit('x', 'y')] }, 'invalid missing_key 0'],
    [{ ...one, file_path: '' }, 'invalid missing_key 0'],
    [{ ...one, file_path: 1 }, 'invalid missing_key 0'],
    [{ ...one, old_string: 1 }, 'invalid missing_key 0'],
    [{ ...one, new_string: null }, 'invalid missing_key 0'],
    [{ ...one, replace_all: 'yes' }, 'invalid wrong_type 0'],
    [`${JSON.stringify(one)} and so on`, 'invalid not_json'],
    [`${JSON.stringify(one)}{}`, 'invalid not_json'],
  ])('%j', (answer, expected) => {
    expect(told(answer, { a: 'x\n' })).toBe(expected);
  });

  test.each([
    [one],
    [{ ...one, summary: 's', complete: true }],
    [of(edit('x', 'y', { file_path: 'a' }))],
  ])('is one: %j', (answer) => {
    expect(told(answer, { a: 'x\n' })).toEqual({ a: 'y\n' });
  });

  test(`${CALL_EDITS} edits are read`, () => {
    const edits = Array.from({ length: CALL_EDITS }, (_, i) => edit(`<${i}>`, `(${i})`));
    const text = edits.map((_, i) => `<${i}>\n`).join('');
    expect(told(of(...edits), { a: text })).toEqual({
      a: text.replaceAll('<', '(').replaceAll('>', ')'),
    });
  });

  test('the file of an edit goes before the one outside', () => {
    const edits = [edit('x', 'y', { file_path: 'b' }), edit('x', 'z')];
    expect(told({ file_path: 'a', edits }, { a: 'x\n', b: 'x\n' })).toEqual({ a: 'z\n', b: 'y\n' });
  });
});

describe('files that are made, and ends of files', () => {
  test.each([
    ['made', of(edit('', 'x\ny\n')), {}, { a: 'x\ny\n' }],
    ['made empty', of(edit('', '')), {}, { a: '' }],
    [
      'made, and changed',
      of(edit('', 'one two\n'), edit('two', '2')),
      {},
      { a: 'one 2\n', tolerances: ['earlier_block:1'] },
    ],
    ['there already', of(edit('', 'x')), { a: 'x\n' }, 'refused file_exists 0'],
    ['not there', of(edit('x', 'y')), {}, 'refused target_absent 0'],
    ['without end, stays so', of(edit('x', 'y')), { a: 'w\nx' }, { a: 'w\ny' }],
    ['with its end quoted', of(edit('x\n', 'y\nz\n')), { a: 'w\nx\n' }, { a: 'w\ny\nz\n' }],
    [
      'an end quoted that is not there',
      of(edit('x\n', 'y\n')),
      { a: 'w\nx' },
      { a: 'w\ny', tolerances: ['line_endings:2'] },
    ],
    ['all of it gone', of(edit('x\n', '')), { a: 'x\n' }, { a: '' }],
    ['an empty one', of(edit('x', 'y')), { a: '' }, 'refused find_absent 0'],
  ])('%s', (_, answer, files, expected) => {
    expect(told(answer, files)).toEqual(expected);
  });
});

describe('where a string stands several times', () => {
  const many = (count: number): string => 'x\n'.repeat(count);
  const message = (text: string): string =>
    say.firstMessage('string-replace', textOf(of(edit('x', 'y'))), { a: text });
  test('its lines are told, up to a number', () => {
    expect(message(many(2))).toContain('at lines 1, 2. Quote');
    const most = PLACES_REPORTED;
    expect(message(many(most))).toContain(`${most - 1}, ${most}. Quote`);
    expect(message(many(most + 1))).toContain(`${most - 1}, ${most} and more. Quote`);
    expect(message(many(most + 9))).toContain(`${most - 1}, ${most} and more. Quote`);
  });
  test('all of them, with replace_all', () => {
    expect(told(of(edit('x', 'yy', { replace_all: true })), { a: many(60) })).toEqual({
      a: 'yy\n'.repeat(60),
    });
    expect(told(of(edit('aa', 'b', { replace_all: true })), { a: 'aaaaa\n' })).toEqual({
      a: 'bba\n',
    });
  });
  test('by a tolerance: not with replace_all, and only in one place', () => {
    const text = 'say \u201cx\u201d\n';
    const tolerances = { lookalikes: true };
    const put = (text: string, more: object = {}) =>
      told(of(edit('say "x"', 'y', more)), { a: text }, { tolerances });
    expect(put(text)).toEqual({ a: 'y\n', tolerances: ['lookalikes:1'] });
    expect(put(text, { replace_all: true })).toBe('refused find_absent 0');
    expect(put(text + text)).toBe('refused find_repeated 0');
    expect(put(`\n\n${text}`)).toEqual({ a: '\n\ny\n', tolerances: ['lookalikes:3'] });
    expect(told(of(edit('say "x"', 'y')), { a: text })).toBe('refused find_absent 0');
  });
  test('a tolerance is looked for a bounded number of times', () => {
    const most = LOOSE_STRINGS;
    const lines = (mark: string): string[] =>
      Array.from({ length: most + 1 }, (_, i) => `<${i}> ${mark}x`);
    const text = { a: `${lines('\u201c').join('\n')}\n` };
    const edits = lines('"').map((line, i) => edit(line, `(${i})`));
    const options = { tolerances: { lookalikes: true } };
    expect(told(of(...edits), text, options)).toBe(`refused find_absent ${most}`);
    expect(told(of(...edits.slice(1)), text, options)).toMatchObject({
      tolerances: expect.arrayContaining([`lookalikes:${most + 1}`]),
    });
  });
});

describe('edits that change nothing', () => {
  const same = edit('x', 'x');
  test.each([
    ['alone, of what is there', of(same), 'x\n', 'unchanged marker_missing, no_change 0'],
    ['alone, of what is not there', of(same), 'w\n', 'unchanged marker_missing, no_change 0'],
    ['beside one that does, of what is there', of(same, edit('w', 'v')), 'w\nx\n', { a: 'v\nx\n' }],
    [
      'beside one that does, of what is not there',
      of(same, edit('w', 'v')),
      'w\n',
      'refused find_absent 0',
    ],
    [
      'of what is there in other white space',
      of(edit('x  y', 'x  y'), edit('w', 'v')),
      'w\nx y\n',
      { a: 'v\nx y\n' },
    ],
  ])('%s', (_, answer, text, expected) => {
    expect(told(answer, { a: text })).toEqual(expected);
  });
  test('of what is there by a tolerance', () => {
    const edits = of(edit('"x y"', '"x y"'), edit('w', 'v'));
    const text = { a: 'w\n\u201cx y\u201d\n' };
    expect(told(edits, text)).toBe('refused find_absent 0');
    expect(told(edits, text, { tolerances: { lookalikes: true } })).toEqual({
      a: 'v\n\u201cx y\u201d\n',
    });
  });
  test('of another file than the one that changes', () => {
    const edits = [edit('x', 'x', { file_path: 'b' }), edit('w', 'v')];
    expect(told(of(...edits), { a: 'w\n', b: 'u\n' })).toEqual({ a: 'v\n' });
  });
  test('whether it stands there is looked for a bounded number of times', () => {
    const edits = Array.from({ length: LOOSE_STRINGS + 1 }, () => edit('x  y', 'x  y'));
    const text = { a: 'w\nx y\n' };
    expect(told(of(...edits, edit('w', 'v')), text)).toBe(`refused find_absent ${LOOSE_STRINGS}`);
    expect(told(of(...edits.slice(1), edit('w', 'v')), text)).toEqual({ a: 'v\nx y\n' });
  });
});

describe('in other white space or characters', () => {
  const tolerances = { trailing_space: true, lookalikes: true };
  test.each([
    ['with the end of its line', 'a  \nb\n', 'a\n', 'X\n', 'X\nb\n'],
    ['over two lines', 'a  \nb\n', 'a\nb', 'X\nb', 'X\nb\n'],
    [
      'what both strings share stays as the file has it',
      'a  \nb  \n',
      'a\nb',
      'a\nc',
      'a  \nc  \n',
    ],
    ['from within a line', 'x a  \nb', 'a\nb', 'c\nb', 'x c\nb'],
    ['up to within a line', 'a  \nb c\n', 'a\nb', 'Q\nb', 'Q\nb c\n'],
    ['to the end of a file without line end', 'a  \nb  ', 'a\nb', 'a\nc', 'a  \nc  '],
    ['blank lines between', 'f()  \n\ng()\n', 'f()\n\ng()', 'f()\nh()\ng()', 'f()  \nh()\ng()\n'],
    [
      'both at once',
      'say \u201chi\u201d  \nx\n',
      'say "hi"\nx',
      'say "ho"\nx',
      'say \u201cho\u201d  \nx\n',
    ],
    ['a character that stands for three', 'a\u2026b\n', '...b', 'X', 'aX\n'],
  ])('%s', (_, text, old, now, expected) => {
    expect(told(of(edit(old, now)), { a: text }, { tolerances })).toMatchObject({ a: expected });
  });
  test.each([
    ['a line end that is not there', 'a\nb  ', 'a\nb\n'],
    ['blanks within the last line that are not there', 'x a  ', 'a   '],
    ['a part of a character that stands for three', 'a\u2026b\n', '..b'],
  ])('not %s', (_, text, old) => {
    expect(told(of(edit(old, 'X')), { a: text }, { tolerances })).toBe('refused find_absent 0');
  });
  test('in several places: their lines are told, up to a number', () => {
    const most = PLACES_REPORTED;
    const why = (count: number): string =>
      say.firstMessage(
        'string-replace',
        textOf(of(edit('a\nb', 'X'))),
        { a: 'a \nb\n'.repeat(count) },
        { tolerances },
      );
    expect(why(most)).toContain(`${2 * most - 3}, ${2 * most - 1}. Quote`);
    expect(why(most + 1)).toContain(`${2 * most - 1} and more. Quote`);
  });
});

/** Text that an earlier edit made is needed, or only lies beside. */
describe('text that an earlier edit made', () => {
  const used = (...edits: object[]) => {
    const found = told(of(...edits), { a: 'aa bb cc dd\nee\n' });
    return typeof found === 'string' ? found : 'tolerances' in found ? found.tolerances : 'none';
  };
  test.each([
    ['touches it from the left', ['none'], [edit('bb', 'B'), edit('aa ', 'A ')]],
    ['touches it from the right', ['none'], [edit('bb', 'B'), edit(' cc', ' C')]],
    ['takes a part of it', ['earlier_block:1'], [edit('bb', 'BCD'), edit('CD cc', 'X')]],
    ['takes one character of its end', ['earlier_block:1'], [edit('bb', 'BC'), edit('C cc', 'X')]],
    [
      'takes one character of its beginning',
      ['earlier_block:1'],
      [edit('bb', 'BC'), edit('aa B', 'X')],
    ],
    ['lies within it', ['earlier_block:1'], [edit('bb', 'BCD'), edit('C', 'X')]],
    ['holds it', ['earlier_block:1'], [edit('bb', 'B'), edit('aa B cc', 'X')]],
    ['lies over what went', ['earlier_block:1'], [edit(' bb', ''), edit('aa cc', 'X')]],
    ['ends where something went', ['none'], [edit(' bb', ''), edit('aa', 'X')]],
    ['begins where something went', ['none'], [edit(' bb', ''), edit(' cc', 'X')]],
    ['takes what both strings share', ['none'], [edit('aa bb', 'aa BB'), edit('aa', 'A')]],
    [
      'takes what both strings share at their end',
      ['none'],
      [edit('bb cc', 'BB cc'), edit('cc', 'C')],
    ],
    [
      'after one above made the text longer',
      ['earlier_block:1'],
      [edit('cc', 'C'), edit('aa', 'aaaaaa'), edit('C dd', 'X')],
    ],
    [
      'beside it after one above made the text longer',
      ['none'],
      [edit('cc', 'C'), edit('aa', 'aaaaaa'), edit('dd', 'X')],
    ],
    [
      'after one above made the text shorter',
      ['earlier_block:1'],
      [edit('dd', 'D'), edit('aa bb', 'a'), edit('D', 'X')],
    ],
    [
      'beside it after one above made the text shorter',
      ['none'],
      [edit('dd', 'D'), edit('aa bb', 'a'), edit('cc', 'X')],
    ],
    [
      'after one below it',
      ['earlier_block:1'],
      [edit('aa', 'A'), edit('dd', 'ddddd'), edit('A', 'X')],
    ],
    [
      'in the second of two places',
      ['earlier_block:2'],
      [edit('e', 'E1', { replace_all: true }), edit('E1E1', 'X')],
    ],
    ['on its line', ['earlier_block:2'], [edit('ee', 'E'), edit('E', 'X')]],
  ])('%s: %j', (_, expected, edits) => {
    expect(used(...edits)).toEqual(expected[0] === 'none' ? 'none' : expected);
  });

  test('many places of one edit, each remembered where it stands', () => {
    const text = { a: 'x1 x2 x3 x4\n' };
    const first = edit('x', 'long', { replace_all: true });
    for (const n of [1, 2, 3, 4]) {
      expect(told(of(first, edit(`long${n}`, 'Y')), text)).toMatchObject({
        tolerances: ['earlier_block:1'],
      });
      const plain = told(of(first, edit(`${n}`, 'Y')), text);
      expect(plain).toEqual({ a: 'long1 long2 long3 long4\n'.replace(String(n), 'Y') });
    }
    const shorter = edit('x', '', { replace_all: true });
    for (const n of [2, 3, 4])
      expect(told(of(shorter, edit(` ${n}`, 'Y')), text)).toMatchObject({
        tolerances: ['earlier_block:1'],
      });
  });

  test('off: refused, by its edit', () => {
    const edits = of(edit('bb', 'B'), edit('aa B', 'X'));
    expect(told(edits, { a: 'aa bb\n' }, { tolerances: { earlier_block: false } })).toBe(
      'refused earlier_block 1',
    );
  });
});

test('at most ten refusals are told of a file, so strings that a large one lacks cost no pass each', () => {
  const line = (i: number): string => `const value${i} = compute(${i}, "\u201ctext\u201d");   `;
  const text = `${Array.from({ length: 20_000 }, (_, i) => line(i)).join('\n')}\n`;
  const edits = Array.from({ length: CALL_EDITS }, (_, i) => edit(`absent ${i} nowhere`, 'x'));
  const refusals = Array.from({ length: 10 }, (_, i) => `find_absent ${i}`);
  const start = performance.now();
  expect(told(of(...edits), { a: text })).toBe(`refused ${refusals.join(', ')}`);
  // One fold serves all strings. With a fold for each string this took half an hour.
  expect(performance.now() - start).toBeLessThan(30_000);
});
