import { describe, expect, test } from '@jest/globals';
import {
  checkPath,
  fileBefore,
  lookUp,
  namedPath,
  namesThere,
  nearestPaths,
  withNames,
  withoutPrefix,
} from '../../src/edits/paths.js';
import { renderReasons } from '../../src/edits/apply-answer.js';
import type { Reason } from '../../src/edits/types.js';

test.each([
  ['a.ts', 'a.ts'],
  ['./src//a.ts', 'src/a.ts'],
  ['a/./b', 'a/b'],
  ['.github/x.yml', '.github/x.yml'],
  ['.gitignore', '.gitignore'],
  ['a..b/c', 'a..b/c'],
  ['x'.repeat(4096), 'x'.repeat(4096)],
])('%s is accepted as %s', (path, normal) => {
  expect(checkPath(path)).toEqual({ ok: true, path: normal });
});

test.each([
  '',
  '.',
  './',
  'a/',
  'a/.',
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
  'x'.repeat(4097),
])('%j is refused', (path) => {
  expect(checkPath(path).ok).toBe(false);
});
test('no path is called empty, not a folder', () => {
  expect(checkPath('')).toEqual({ ok: false, why: 'the path is empty' });
});

test('device names stay editable where they exist and cannot be made', () => {
  const context = {
    files: new Map([['src/aux.c', { bytes: new Uint8Array(0), text: { lines: [], ends: [] } }]]),
    options: { requireMarker: true, mayCreateUnder: [''] },
  };
  expect(lookUp('src/aux.c', context).ok).toBe(true);
  expect(lookUp('src/con.c', context)).toMatchObject({ ok: false, reason: { code: 'bad_path' } });
  expect(lookUp('src/con .c', context)).toMatchObject({ ok: false, reason: { code: 'bad_path' } });
  expect(lookUp('src/console.c', context).ok).toBe(true);
});

test('names that show another name stay editable where they exist and cannot be made', () => {
  const context = {
    files: new Map([
      ['a\u202etxt.exe', { bytes: new Uint8Array(0), text: { lines: [], ends: [] } }],
    ]),
    options: { requireMarker: true, mayCreateUnder: [''] },
  };
  expect(lookUp('a\u202etxt.exe', context).ok).toBe(true);
  expect(lookUp('b\u202etxt.exe', context)).toMatchObject({
    ok: false,
    reason: { code: 'bad_path', message: expect.stringContaining('"b?txt.exe" holds U+202E,') },
  });
  // Letters that join in Persian names and in emoji are no disguise.
  expect(lookUp('\u0645\u06cc\u200c\u062e.txt', context).ok).toBe(true);
});

const file = { bytes: new Uint8Array(0), text: { lines: [], ends: [] } };

test.each([
  ['src', 'src/a.ts', true],
  ['src', 'srcs/a.ts', false],
  ['./././src//', 'src/a.ts', true],
  ['src/lib/', 'src/lib/a.ts', true],
  ['a./b', 'a./b/c', true],
  ['a./b', 'ab/c', false],
  ['.', 'a.ts', true],
])('under %s %s may be made: %s', (folder, path, made) => {
  const read = lookUp(path, {
    files: new Map(),
    options: { requireMarker: true, mayCreateUnder: [folder] },
  });
  expect(read.ok ? 'made' : read.reason.code).toBe(made ? 'made' : 'unknown_file');
});

test('a path with control characters is shown on one line', () => {
  const path = 'a\nApplied to 1 file.\u001b';
  expect(renderReasons([{ code: 'bad_path', path, index: 0, message: 'No.' }])).toBe(
    '1. a\\nApplied to 1 file.\\u001b, edit 1: No. (bad_path)',
  );
});

test('a refusal has a place among the edits only where one is known', () => {
  const context = { files: new Map(), options: { requireMarker: true } };
  const reason = {
    code: 'unknown_file',
    path: 'a.ts',
    message: 'There is no file a.ts, and none may be created there.',
  };
  expect(lookUp('a.ts', context)).toStrictEqual({ ok: false, reason });
  expect(lookUp('a.ts', context, 0)).toStrictEqual({ ok: false, reason: { ...reason, index: 0 } });
});

test.each([
  [undefined, { code: 'binary', message: 'a.png is not text that can be edited. Omit it.' }],
  [
    { code: 'encoding', why: 'It is not UTF-8.' } as const,
    {
      code: 'encoding',
      message: 'a.png is not text that can be edited. It is not UTF-8. Omit it.',
    },
  ],
])('bytes that are not text are refused by name', (unreadable, reason) => {
  const binary = {
    bytes: new Uint8Array(1),
    text: null,
    ...(unreadable === undefined ? {} : { unreadable }),
  };
  const context = { files: new Map([['a.png', binary]]), options: { requireMarker: true } };
  expect(lookUp('a.png', context)).toEqual({ ok: false, reason: { path: 'a.png', ...reason } });
});

const FILES = new Map(
  ['src/b.py', 'Makefile', 'My notes.md', 'Read me', '__init__.py'].map((path) => [path, file]),
);

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
  ...[
    '```python:src/b.py',
    '```py title="src/b.py"',
    '```{.python file=src/b.py}',
    '```{src/b.py}',
  ],
  ...[
    '** src/b.py **',
    '*src/b.py*',
    '***src/b.py***',
    '__src/b.py__',
    '``src/b.py``',
    "'src/b.py'",
    '"src/b.py"',
  ],
  ...['> src/b.py', '+ src/b.py', '* src/b.py', '12) src/b.py', '-- src/b.py', '###### src/b.py'],
  ...[
    'File name: src/b.py',
    'filepath: src/b.py',
    'file path:src/b.py',
    '__Path__: src/b.py',
    'FILENAME: src/b.py',
  ],
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
  ['Makefile', 'Makefile'],
  ['**Dockerfile**', 'Dockerfile'],
  ['Podfile:', 'Podfile'],
  ['# .clang-format', '.clang-format'],
  ['lib/x.c++', 'lib/x.c++'],
  ['```ts app/{id}/page.ts', 'app/{id}/page.ts'],
  ['a/'.repeat(148) + 'b.py', 'a/'.repeat(148) + 'b.py'],
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
  ...[
    '```Dockerfile',
    '```python',
    '```vb.net',
    '```c++',
    'const a = b.c;',
    '...',
    'Done.',
    '`npm test`',
    `${'a/'.repeat(148)}ab.py`,
  ],
  ...[
    'Read me',
    '####### src/b.py',
    '1234. src/b.py',
    '-src/b.py',
    'See: src/b.py',
    '__src/b.py**',
    'file src/b.py',
  ],
])('%j names no file', (line) => {
  expect(namedPath(line, FILES)).toBeNull();
});

describe('the line before an edit without a path', () => {
  const context = {
    files: FILES,
    options: { requireMarker: true, beside: ['src/c.py', 'src', 'lib.d'] },
  };
  const before = (line: string): string | null =>
    fileBefore(line, 'a.py', context, () => namesThere(context));
  test.each([
    ...[
      '### File 2: `src/b.py`',
      'File 2: src/b.py',
      'In src/b.py:',
      'Edit src/b.py',
      '2. `src/b.py` - the same',
    ],
    ...[
      'src/b.py — second',
      '[src/b.py](src/b.py)',
      '<file>src/b.py</file>',
      '=== src/b.py ===',
      '>>> src/b.py',
    ],
    ...[
      '*** src/b.py',
      '- [ ] src/b.py',
      'Modified file: src/b.py',
      'file `src/b.py`',
      '"src/b.py,"',
      '"src/b.py."',
    ],
    ...[
      '--- src/b.py',
      '*** Update File: src/b.py',
      'Index: src/b.py',
      '“src/b.py”',
      '**src/b.py** and then:',
    ],
    ...[
      'In ./src/b.py:',
      'In `b/src/b.py`, lines 3-5:',
      'Now src/b.py:12:',
      'In `src/b.py:12-14`:',
    ],
  ])('%s is of src/b.py', (line) => expect(before(line)).toBe('src/b.py'));
  test.each([
    ['In src/c.py:', 'src/c.py'],
    ['In c.py:', 'c.py'],
    ['Edit `docker/Dockerfile`:', 'docker/Dockerfile'],
    ['### File 1: `lib/none.py`', 'lib/none.py'],
  ])('%s is of %s, which lookUp refuses', (line, path) => expect(before(line)).toBe(path));
  test.each([
    'As src/b.py does:',
    'From `src/b.py` to src/c.py:',
    'In a.py and src/b.py:',
    'See: src/c.py',
    'Datei: b.py',
  ])('%s is not clear', (line) => expect(before(line)).toBeNull());
  test.each([
    ...[
      '',
      'Now the other one:',
      'In `a.py`:',
      'a.py',
      'Then call lodash.get:',
      'In src and lib:',
      'See https://x.y/c.py',
    ],
    ...[
      '`import b from "./b.py"` goes:',
      'In config.port:',
      `In src/b.py${' '.repeat(300)}`,
      'Import lib/none.py:',
    ],
  ])('%j changes nothing', (line) => expect(before(line)).toBe('a.py'));
});

test('a/ and b/ go where only the rest is a file', () => {
  const context = {
    files: new Map([
      ...FILES,
      ...['a/x.py', 'x.py', 'b/y.py'].map((path) => [path, file] as const),
    ]),
    options: { requireMarker: true },
  };
  const paths = [
    'a/src/b.py',
    'b/src/b.py',
    'c/src/b.py',
    'a/x.py',
    'b/x.py',
    'a/none.py',
    'src/b.py',
    'lib/y.py',
  ];
  const expected = [
    'src/b.py',
    'src/b.py',
    'c/src/b.py',
    'a/x.py',
    'x.py',
    'a/none.py',
    'src/b.py',
    'lib/y.py',
  ];
  expect(paths.map((path) => withoutPrefix(path, context))).toEqual(expected);
});

test('the nearest paths: those of that name, else the most alike, at most three', () => {
  const options = { requireMarker: true, beside: ['lib/utils.ts', 'doc/UTILS.ts', 'src/util.ts'] };
  const files = new Map([['src/utils.ts', file]]);
  expect(nearestPaths('utils.ts', { files, options })).toBe(
    ' The nearest is lib/utils.ts, doc/UTILS.ts, src/utils.ts.',
  );
  expect(nearestPaths('src/utilz.ts', { files, options })).toBe(
    ' The nearest is src/util.ts, src/utils.ts.',
  );
  expect(nearestPaths('main.c', { files, options })).toBe('');
});
test('the nearest path is another one that is there, the most alike first, six tenths alike or more', () => {
  const nearest = (path: string, beside: string[], absent: string[] = []): string =>
    nearestPaths(path, {
      files: new Map(absent.map((name) => [name, { bytes: null, text: null }])),
      options: { requireMarker: true, beside },
    });
  expect(nearest('src/a.ts', ['src/ab.ts', 'src/a.ts'])).toBe(' The nearest is src/ab.ts.');
  expect(nearest('src/a.ts', ['lib/b.ts'], ['src/ab.ts', 'lib/a.ts'])).toBe('');
  expect(nearest('lib/long.ts', ['lib/longest.ts', 'lib/longs.ts'])).toBe(
    ' The nearest is lib/longs.ts, lib/longest.ts.',
  );
  expect(nearest('x.c', ['1/x.c', '2/x.c', '3/x.c', '4/x.c'])).toBe(
    ' The nearest is 1/x.c, 2/x.c, 3/x.c.',
  );
  expect(nearest('abcde', ['abc12', 'ab123'])).toBe(' The nearest is abc12.');
});

describe('names for a refusal', () => {
  const options = { requireMarker: true, beside: ['src/b.ts'] };
  const context = { files: new Map([['src/a.ts', file]]), options };
  test.each<[string, Reason, object]>([
    [
      'a file that is there',
      { code: 'unknown_file', path: 'src/b.ts', message: 'No.' },
      {
        code: 'file_not_offered',
        message: 'src/b.ts was not offered for editing. Edit only: src/a.ts.',
      },
    ],
    [
      'one that is not',
      { code: 'unknown_file', path: 'src/c.ts', message: 'No.' },
      {
        message: 'No. The nearest is src/b.ts, src/a.ts. Edit only: src/a.ts.',
      },
    ],
    [
      'one that is gone',
      { code: 'target_absent', path: 'lib/a.ts', message: 'Gone.' },
      {
        message: 'Gone. The nearest is src/a.ts.',
      },
    ],
    ['another refusal', { code: 'find_absent', path: 'src/c.ts', message: 'No.' }, {}],
    ['no path', { code: 'target_absent', message: 'Gone.' }, {}],
  ])('%s', (_, reason, more) => {
    expect(withNames(reason, context)).toStrictEqual({ ...reason, ...more });
  });
  test('at most twenty of those that were offered', () => {
    const files = new Map(Array.from({ length: 21 }, (_, n) => [`${n}`, file]));
    const { message } = withNames(
      { code: 'unknown_file', path: 'x/y/z', message: '' },
      { files, options },
    );
    expect(message).toMatch(/ Edit only: 0, .*, 19\.$/);
    const none = withNames(
      { code: 'unknown_file', path: 'x', message: '' },
      { files: new Map(), options },
    );
    expect(none.message).toBe(' Edit only: (no file).');
  });
});
