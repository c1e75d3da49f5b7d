/** docs/recovery.md, SECURITY.md and docs/adversary.md promise a test for each row; each state that is tested has its row. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

const DOC = readFileSync('docs/recovery.md', 'utf8');

/** Rows of all tables, as cells; heads and rules left out. */
const rowsOf = (text: string): string[][] =>
  text
    .split('\n')
    .filter(
      (line, at, all) => line.startsWith('|') && !line.startsWith('|---') && !(all[at + 1] ?? '').startsWith('|---'),
    )
    .map((line) =>
      line
        .slice(1, line.lastIndexOf('|'))
        .split('|')
        .map((cell) => cell.trim()),
    );

const testsOf = (cell: string): string[] => [...cell.matchAll(/test\/[\w/.-]+\.ts/g)].map(([path]) => path);
const missing = (text: string): string[] => [
  ...rowsOf(text)
    .filter((row) => testsOf(row.at(-1) ?? '').length === 0)
    .map(([what]) => `no test: ${what}`),
  ...testsOf(text).filter((path) => !existsSync(path)),
];

describe.each([
  ['SECURITY.md', 10],
  ['docs/adversary.md', 40],
])('%s', (path, least) => {
  test('each row of a table names a test, and each test that is named is there', () => {
    const text = readFileSync(path, 'utf8');
    expect(rowsOf(text).length).toBeGreaterThan(least);
    expect(missing(text)).toEqual([]);
    expect(text).not.toMatch(/not yet shown|planned/i);
  });
});

describe('docs/recovery.md', () => {
  test('each row names a test, and each test that is named is there', () => {
    expect(rowsOf(DOC).length).toBeGreaterThan(40);
    expect(missing(DOC)).toEqual([]);
    expect(DOC).not.toMatch(/not yet shown|\btried\b(?! again)/);
    // The check can fail.
    expect(missing('| a | b |\n|---|---|\n| x | tried |\n| y | test/none/such.test.ts |\n')).toEqual([
      'no test: x',
      'test/none/such.test.ts',
    ]);
  });

  test('each state that is cancelled and terminated has its row', () => {
    const states = [...readFileSync('test/e2e/states.ts', 'utf8').matchAll(/\bname: '([^']+)',/g)].map(
      ([, name]) => name!,
    );
    const tested = states.filter((name) => !['a', 'over', 'held', 'pick', 'brief'].includes(name));
    expect(tested.length).toBeGreaterThan(15);
    const rows = rowsOf(DOC).map(([what]) => what);
    expect(tested.filter((name) => !rows.includes(name))).toEqual([]);
  });
});
