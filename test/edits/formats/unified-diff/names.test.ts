/** Names in diff headers. */
import { describe, expect, test } from '@jest/globals';
import {
  readGitLine,
  readName,
  withoutPrefixes,
  DIFF_NAME_CHARS,
} from '../../../../src/edits/formats/unified-diff/names.js';

describe('a name', () => {
  test.each([
    ['a/x.ts', 'a/x.ts'],
    ['a/with blanks.ts', 'a/with blanks.ts'],
    ['a/x.ts\t2026-01-01 10:00:00', 'a/x.ts'],
    ['\t2026-01-01', null],
    ['', null],
    ['"a/caf\\303\\251.txt"', 'a/café.txt'],
    ['"a/x.ts"\t2026-01-01', 'a/x.ts'],
    ['"a/é😀.ts"', 'a/é😀.ts'],
    ['"\\a\\b\\t\\n\\v\\f\\r\\"\\\\"', '\u0007\b\t\n\v\f\r"\\'],
    ['"\\0601"', '01'],
    ['"\\1234"', 'S4'],
    ['"x', null],
    ['"x\\', null],
    ['"x\\"', null],
    ['"\\q"', null],
    ['"\\08"', null],
    ['"\\400"', null],
    ['"a0\\12"', null],
    ['"\\377"', null],
    ['"x" y', null],
    ['"x"y\t', null],
    ['""', null],
    ['x"', 'x"'],
  ])('%j', (text, name) => {
    expect(readName(text)).toBe(name);
  });
});

describe('prefixes', () => {
  const plain = (from: string | null, to: string | null, ...known: string[]) => {
    const names = withoutPrefixes({ from, to }, (path) => known.includes(path));
    return [names.from, names.to];
  };
  test.each<[string, string | null, string | null, string[], (string | null)[]]>([
    ['of git', 'a/x', 'b/x', [], ['x', 'x']],
    ['the other way', 'b/x', 'a/x', [], ['x', 'x']],
    ['of the index and the worktree', 'i/x', 'w/x', [], ['x', 'x']],
    ['of a commit and the index', 'c/x', 'i/x', [], ['x', 'x']],
    ['of one side only', 'a/x', 'x', [], ['a/x', 'x']],
    ['of the other side only', 'x', 'b/x', [], ['x', 'b/x']],
    ['no pair', 'a/x', 'c/x', [], ['a/x', 'c/x']],
    ['none', 'x', 'x', [], ['x', 'x']],
    ['a folder that is there on both sides', 'a/x', 'a/x', ['a/x'], ['a/x', 'a/x']],
    ['a path that is there, with prefixes', 'a/x', 'b/x', ['a/x'], ['x', 'x']],
    ['made', null, 'b/x', [], [null, 'x']],
    ['gone', 'a/x', null, [], ['x', null]],
    ['made, without prefix', null, 'x', [], [null, 'x']],
    ['made with the other prefix', null, 'a/x', [], [null, 'a/x']],
    ['gone, in a folder a that is there', 'a/x', null, ['a/x'], ['a/x', null]],
    ['gone, where both are there', 'a/x', null, ['a/x', 'x'], ['x', null]],
    ['neither', null, null, [], [null, null]],
  ])('%s', (_, from, to, known, expected) => {
    expect(plain(from, to, ...known)).toEqual(expected);
  });
});

describe('a line diff --git', () => {
  const most = DIFF_NAME_CHARS;
  test.each([
    ['a/x b/x', { from: 'a/x', to: 'b/x' }],
    ['a/x b/y', { from: 'a/x', to: 'b/y' }],
    ['a/x y b/x y', { from: 'a/x y', to: 'b/x y' }],
    ['x y x y', { from: 'x y', to: 'x y' }],
    ['a/x y b/z w', null],
    ['a/x b/x b/x b/x', { from: 'a/x b/x', to: 'b/x b/x' }],
    ['a/x', null],
    ['', null],
    [' b/x', null],
    ['"a/\\303\\251" "b/\\303\\251"', { from: 'a/é', to: 'b/é' }],
    ['"a/\\303\\251" b/e', { from: 'a/é', to: 'b/e' }],
    ['"a/x"b/x', null],
    ['"a/x" "b', null],
    ['"a/x" ', null],
    ['"a/x', null],
    ['a/e "b/\\303\\251"', { from: 'a/e', to: 'b/é' }],
    ['a/e f "b/\\303\\251"', { from: 'a/e f', to: 'b/é' }],
    ['a/e "b/x" y', null],
    ['a/e "b/x', null],
    [' "b/x"', null],
    [`a/${'x'.repeat(most / 2 - 3)} b/${'x'.repeat(most / 2 - 2)}`, 'read'],
    [`a/${'x'.repeat(most / 2 - 2)} b/${'x'.repeat(most / 2 - 2)}`, null],
  ])('%j', (rest, expected) => {
    const names = readGitLine(rest);
    if (expected === 'read') expect(names).not.toBeNull();
    else expect(names).toEqual(expected);
  });
});
