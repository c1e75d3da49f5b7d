/** Names in diff headers. */
import { describe, expect, test } from '@jest/globals';
import {
  readGitLine,
  readName,
  readStamped,
  sameFile,
  withoutPrefixes,
  DIFF_NAME_CHARS,
} from '../../../../src/edits/dialects/unified-diff/names.js';

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

test.each<[string, string | null, boolean]>([
  ['a/x', 'a/x', false],
  ['a/x\t2026-01-01 10:00:00', 'a/x', false],
  ['a/x  2026-01-01 10:00:00 +0100', 'a/x', false],
  ['a/x 2026-01-01', 'a/x 2026-01-01', false],
  ['x\t(revision 12)', 'x', false],
  ['x (revision 12)', 'x', false],
  ['x (working copy)', 'x', false],
  ['x (revision 12) y', 'x (revision 12) y', false],
  ['x (copy)', 'x (copy)', false],
  ['x\t1970-01-01 00:00:00.000000000 +0000', 'x', true],
  ['x 1969-12-31 16:00:00', 'x', true],
  ['x\tThu Jan 01 00:00:00 1970 +0000', 'x', true],
  ['x\tThu Jan 1 00:00:00 1970', 'x', true],
  ['x\tThu Jan 01 00:00:01 1970', 'x', false],
  ['x (nonexistent)', 'x', true],
  ['x\t(revision 0)', 'x', true],
  ['x (revision 0)', 'x', true],
  ['1970-01-01 x', '1970-01-01 x', false],
  ['"a b"\t1970-01-01 00:00:00', 'a b', true],
  ['"a b" 1970-01-01 00:00:00', 'a b', true],
  ['"a b"\t2026-01-01 00:00:00', 'a b', false],
  ['"a b"', 'a b', false],
  ['"a b', null, false],
  ['\t1970-01-01 00:00:00', null, false],
  ['', null, false],
])('a name and its stamp: %j', (text, name, isAbsent) => {
  expect(readStamped(text)).toEqual(name === null ? null : { name, isAbsent });
});

test.each<[string, string, string[], string | null]>([
  ['x.orig', 'x', ['x'], 'x'],
  ['x', 'x.bak', ['x'], 'x'],
  ['x~', 'x', ['x'], 'x'],
  ['x.orig', 'x', [], null],
  ['x.orig', 'x.bak', ['x'], null],
  ['x.org', 'x', ['x'], null],
  ['xy', 'x', ['x'], null],
  ['old/x', 'new/x', [], 'x'],
  ['old/d/x', 'new/d/x', [], 'd/x'],
  ['old/x', 'new/y', [], null],
  ['old/d/x', 'new/x', [], null],
  ['old/x', 'old/x', [], null],
  ['old/x', 'new/x', ['old/x'], null],
  ['old/x', 'new/x', ['new/x'], null],
  ['./x', 'new/x', [], null],
  ['../x', 'new/x', [], null],
  ['x', 'y', [], null],
])('%s and %s, of %j, are %s', (from, to, known, expected) => {
  expect(sameFile(from, to, (path) => known.includes(path))).toBe(expected);
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
