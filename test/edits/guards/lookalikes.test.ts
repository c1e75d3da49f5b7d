/** Typographic characters that are new in a file: in code they ask, in text they are noted. */
import { expect, test } from '@jest/globals';
import { guardFindings } from '../../../src/edits/guards/index.js';

const found = (path: string, base: string, result: string): string[] =>
  guardFindings([{ path, base: Buffer.from(base), result: Buffer.from(result) }])
    .filter(({ guard }) => guard === 'lookalikes')
    .map(({ severity, lines }) => `${severity} ${lines?.[0] ?? ''}`);

test.each<[string, string, string, string]>([
  [
    'no-break spaces as indentation',
    'a.kt',
    'if (x)\n    y()\n',
    'if (x)\n\u00a0\u00a0\u00a0\u00a0z()\n',
  ],
  ['a quote that begins a string', 'a.py', 'a = "b"\n', 'a = \u201cb"\n'],
  ['a minus', 'a.js', 'a = b - 1\n', 'a = b \u2212 1\n'],
  ['an option of a shell command', 'run.sh', 'ls -l\n', 'ls \u2013l\n'],
  ['a no-break space in a Makefile', 'Makefile', 'a: b\n', 'a:\u00a0b\n'],
  ['code behind a block comment', 'a.c', 'int a;\n', '/* a\n*/\nint\u00a0a;\n'],
  ['code behind a docstring', 'a.py', 'a = 1\n', '"""a\n\u201cb\u201d"""\na\u00a0= 1\n'],
  [
    'a string that holds the beginning of a comment',
    'a.ts',
    "a('**/*.ts');\n",
    "a('**/*.ts');\nb =\u00a01;\n",
  ],
  ['a comment before the code', 'a.js', 'a\n', '// \u201ca\u201d\na =\u00a0\u201cb\n'],
])('asks: %s', (_name, path, base, result) => {
  expect(found(path, base, result).some((finding) => finding.startsWith('ask'))).toBe(true);
});

test.each<[string, string, string, string]>([
  ['a string', 'a.py', 'a = "b"\n', 'a = "\u201cb\u201d"\n'],
  ['a comment', 'a.js', 'a\n', 'a // it\u2019s b\n'],
  ['a block comment', 'a.js', 'a\n', '/**\n it\u2019s b\n*/\na\n'],
  ['a docstring', 'a.py', 'a = 1\n', '"""a\n\nIt\u2019s b.\n"""\na = 1\n'],
  ['a template of several lines', 'a.js', 'a\n', 'const a = `b\nit\u2019s c`;\n'],
  ['a string of several lines in Rust', 'a.rs', 'f("a");\n', 'f("a\n  it\u2019s b");\n'],
  ['a line that a program wrote', 'a.min.js', 'a\n', `a=/[’]/;${'a();'.repeat(600)}\n`],
  ['text of a page in code', 'a.js', 'a\n', '<p>a\u00a0b</p>\n'],
  ['a sentence', 'a.js', 'a\n', 'it\u2019s b\n'],
  ['a document', 'a.md', 'a\n', 'it\u2019s b\n'],
  ['a page', 'a.html', '<p>a</p>\n', '<p>it\u2019s\u00a0b</p>\n'],
  ['data', 'a.yml', 'a: b\n', 'a: it\u2019s b\n'],
  ['text', 'LICENSE', 'a\n', 'it\u2019s b\n'],
])('notes: %s', (_name, path, base, result) => {
  const severities = found(path, base, result).map((finding) => finding.split(' ')[0]);
  expect(severities.length).toBeGreaterThan(0);
  expect(new Set(severities)).toEqual(new Set(['note']));
});

test('a character that the file had is not reported', () => {
  expect(found('a.js', 'a =\u00a01\n', 'a =\u00a02\n')).toEqual([]);
});

test('a repeated character is reported once, where it is code', () => {
  expect(found('a.js', 'a\n', '// it\u2019s a\nb\u2019\nc\u2019\n')).toEqual(['ask 2']);
});

test('a new file of test data is noted', () => {
  const guarded = { path: 'tests/specs/a.js', base: null, result: Buffer.from('a =\u00a0b\n') };
  expect(guardFindings([guarded]).map(({ guard, severity }) => `${guard} ${severity}`)).toEqual([
    'lookalikes note',
  ]);
});
