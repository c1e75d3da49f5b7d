/** Strict JSON: what `JSON.parse` reads is read, wherever it is cut it is open, and all else is broken. */
import { describe, expect, test } from '@jest/globals';
import { readJson } from '../../../src/edits/text/json.js';

const kind = (text: string): string => {
  const read = readJson(text);
  return read.kind === 'open'
    ? `open ${read.inside}`
    : read.kind === 'broken'
      ? `broken at ${read.at}`
      : 'value';
};
const deep = (open: string, close: string, depth: number): string =>
  open.repeat(depth) + close.repeat(depth);

const GOOD = [
  '{}',
  '[ ]',
  '"a b"',
  '"\\n\\u00e9\\\\\\" \u00e9"',
  '{"a": {"b": [1, "x", true, false, null]}, "c": "", "\\n": -3}',
  '[0, -0, 12, -7.25, 1.50, 1e5, 2E+10, 3e-12, -1.5e2]',
  ' \t\r\n{"a"\n:\t1 , "b":[]}',
  ...[deep('[', ']', 64), `${'{"a":'.repeat(64)}1${'}'.repeat(64)}`],
];
test.each(GOOD)('%j is what JSON.parse reads', (text) => {
  const read = readJson(text);
  expect(read).toMatchObject({ kind: 'value', value: expect.anything(), end: text.length });
  expect(JSON.stringify(read.kind === 'value' && read.value)).toBe(
    JSON.stringify(JSON.parse(text)),
  );
});

test('wherever an object is cut, it is open, and it is told in what', () => {
  const text = '{"a\\"b": [true, false, null, -1.5e+3, 2E-1, "c\\n", {}], "d": ""}';
  let inString = false;
  for (let at = 1; at < text.length; at += 1) {
    const isQuote = text[at - 1] === '"' && text[at - 2] !== '\\';
    inString = inString !== isQuote;
    expect([at, kind(text.slice(0, at))]).toEqual([at, inString ? 'open string' : 'open bracket']);
  }
});

test.each([
  ['a word', '[nulx]', 1],
  ['half a word', '[tru, 1]', 1],
  ['the end of a word', '[e', 1],
  ['a plus', '[+1]', 1],
  ['a bare point', '[.5]', 1],
  ['a leading nought', '[01]', 2],
  ['a point without digits', '[1.]', 2],
  ['an exponent without digits', '[1e]', 2],
  ['another separator', '[1; 2]', 2],
  ['a comma at the beginning', '[,1]', 1],
  ['a key without quotes', '{a: 1}', 1],
  ['a key without a colon', '{"a" 1}', 5],
  ['a key twice', '{"a": 1, "a": 2}', 9],
  ['a wrong escape', '["\\x"]', 1],
  ['too many brackets', deep('[', ']', 66), 65],
  ['too many objects', `${'{"a":'.repeat(66)}1${'}'.repeat(66)}`, 325],
])('broken by %s', (_, text, at) => {
  expect(kind(text)).toBe(`broken at ${at}`);
});

describe('an object', () => {
  test('is read from an offset, and what follows is left', () => {
    expect(readJson('x {"a": 1} y', 2)).toMatchObject({ kind: 'value', value: { a: 1 }, end: 10 });
  });
  test('has no names but its own', () => {
    expect(readJson('{"toString": 1, "__proto__": 2}')).toMatchObject({ kind: 'value' });
    const read = readJson('{}');
    expect(read.kind === 'value' && 'toString' in (read.value as object)).toBe(false);
  });
});

test.each([
  ['a comma at the end of a list', '[1,]', [1]],
  ['a comma at the end of an object', '{"a": 1,\n}', { a: 1 }],
  ['comments', '[1, // one\n 2 /* two */]', [1, 2]],
  ['words of Python', '[True, False, None]', [true, false, null]],
  ['a raw line end and a tab in a string', '["a\nb\tc"]', ['a\nb\tc']],
])('%s is read, and said', (_, text, value) => {
  const read = readJson(text);
  expect(read).toMatchObject({ kind: 'value', isLoose: true });
  expect(JSON.parse(JSON.stringify(read.kind === 'value' ? read.value : ''))).toEqual(value);
});

test.each(['[1,,]', '[,]', '{,}', '[1 /* open', '["a\\\nb"]', "['a']"])(
  '%j is not read',
  (text) => {
    expect(readJson(text).kind).not.toBe('value');
  },
);
