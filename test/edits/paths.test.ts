import { expect, test } from '@jest/globals';
import { checkPath, lookUp } from '../../src/edits/paths.js';

test.each([
  ['a.ts', 'a.ts'],
  ['./src//a.ts', 'src/a.ts'],
  ['a/./b', 'a/b'],
  ['.github/x.yml', '.github/x.yml'],
  ['.gitignore', '.gitignore'],
  ['a..b/c', 'a..b/c'],
])('%s is accepted as %s', (path, normal) => {
  expect(checkPath(path)).toEqual({ ok: true, path: normal });
});

test.each([
  '',
  '.',
  './',
  'a/',
  '/a',
  '//a',
  '~/a',
  '..',
  '../a',
  'a/../b',
  'a/..',
  'C:\\a',
  'c:a',
  'a\\b',
  '\\\\host\\a',
  'a\0b',
  'a\nb',
  'a\x7f',
  '.git',
  '.git/config',
  'a/.git/hooks/x',
  '.GIT/x',
  '.git./x',
  '.git /x',
  'GIT~1/x',
  '.g\u200cit/x',
  '.git::$INDEX_ALLOCATION/x',
  'a/.../b',
  'x'.repeat(5000),
])('%j is refused', (path) => {
  expect(checkPath(path).ok).toBe(false);
});

test('device names stay editable where they exist and cannot be made', () => {
  const context = {
    files: new Map([['src/aux.c', { bytes: new Uint8Array(0), text: { lines: [], ends: [] } }]]),
    options: { requireMarker: true, mayCreateUnder: [''] },
  };
  expect(lookUp('src/aux.c', context).ok).toBe(true);
  expect(lookUp('src/con.c', context)).toMatchObject({ ok: false, reason: { code: 'bad_path' } });
  expect(lookUp('src/console.c', context).ok).toBe(true);
});

test('names that show another name stay editable where they exist and cannot be made', () => {
  const context = {
    files: new Map([['a\u202etxt.exe', { bytes: new Uint8Array(0), text: { lines: [], ends: [] } }]]),
    options: { requireMarker: true, mayCreateUnder: [''] },
  };
  expect(lookUp('a\u202etxt.exe', context).ok).toBe(true);
  expect(lookUp('b\u202etxt.exe', context)).toMatchObject({ ok: false, reason: { code: 'bad_path' } });
  // Letters that join in Persian names and in emoji are no disguise.
  expect(lookUp('\u0645\u06cc\u200c\u062e.txt', context).ok).toBe(true);
});
