import { expect, test } from '@jest/globals';
import { checkPath, lookUp, namedPath, nearestPaths, withoutPrefix } from '../../src/edits/paths.js';

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

const file = { bytes: new Uint8Array(0), text: { lines: [], ends: [] } };
const FILES = new Map(['src/b.py', 'Makefile', 'My notes.md', '__init__.py'].map((path) => [path, file]));

test.each([
  ...[
    'src/b.py',
    '  src/b.py',
    '**src/b.py**',
    '### src/b.py',
    '`src/b.py`',
    '**`src/b.py`**',
    'File: src/b.py',
    '# src/b.py',
  ],
  ...[
    '// src/b.py',
    '<!-- src/b.py -->',
    '/* src/b.py */',
    '- `src/b.py`:',
    '2. **src/b.py** (changed)',
    '**File:** `src/b.py`',
  ],
  ...[
    '**File: src/b.py**',
    '### File: `src/b.py`',
    'filename: "src/b.py"',
    '```src/b.py',
    '```python src/b.py',
    '~~~ py src/b.py',
  ],
  ...['```python:src/b.py', '```py title="src/b.py"', '```{.python file=src/b.py}'],
])('%s names src/b.py', (line) => {
  expect(namedPath(line, FILES)).toBe('src/b.py');
});
test.each([
  ['new.ts', 'new.ts'],
  ['`lib/new`', 'lib/new'],
  ['app/(shop)/[id]/page.tsx', 'app/(shop)/[id]/page.tsx'],
  ['## .gitignore', '.gitignore'],
  ['__init__.py', '__init__.py'],
  ['**My notes.md**', 'My notes.md'],
])('%s names %s', (line, path) => {
  expect(namedPath(line, FILES)).toBe(path);
});
test.each([
  ...[
    '',
    'Now the other file:',
    'I changed src/b.py.',
    '## Step 1.2',
    'v1.2',
    'https://example.com/b.py',
    '- first',
    '---',
    '```',
  ],
  ...['```python', '```vb.net', '```c++', 'const a = b.c;', '...', 'Done.', '`npm test`', `${'a/'.repeat(150)}b.py`],
])('%j names no file', (line) => {
  expect(namedPath(line, FILES)).toBeNull();
});

test('a/ and b/ go where only the rest is a file', () => {
  const context = { files: new Map([...FILES, ['a/x.py', file], ['x.py', file]]), options: { requireMarker: true } };
  const paths = ['a/src/b.py', 'b/src/b.py', 'c/src/b.py', 'a/x.py', 'b/x.py', 'a/none.py', 'src/b.py'];
  const expected = ['src/b.py', 'src/b.py', 'c/src/b.py', 'a/x.py', 'x.py', 'a/none.py', 'src/b.py'];
  expect(paths.map((path) => withoutPrefix(path, context))).toEqual(expected);
});

test('the nearest paths: those of that name, else the most alike, at most three', () => {
  const options = { requireMarker: true, beside: ['lib/utils.ts', 'doc/UTILS.ts', 'src/util.ts'] };
  const files = new Map([['src/utils.ts', file]]);
  expect(nearestPaths('utils.ts', { files, options })).toBe(
    ' The nearest is lib/utils.ts, doc/UTILS.ts, src/utils.ts.',
  );
  expect(nearestPaths('src/utilz.ts', { files, options })).toBe(' The nearest is src/util.ts, src/utils.ts.');
  expect(nearestPaths('main.c', { files, options })).toBe('');
});
