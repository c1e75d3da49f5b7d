/** The files that a task's words lead to, in real directories, with git and without. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findFiles } from '../../../src/workspace/finding/index.js';
import { matcherOf, stemOf, termsOf } from '../../../src/workspace/finding/words.js';

const FILES: Record<string, string> = {
  'src/http/retry.ts': 'export function retryAfter(seconds) {}\n',
  'src/http/client.ts': "import { retryAfter } from './retry.js';\nretryAfter(1);\n",
  'src/menu.ts': 'export const menu = "Cannot read the menu";\n',
  'src/other.ts': 'export const other = 1;\n',
  'test/retry.test.ts': 'retryAfter(2); retryAfter(3); retryAfter(4);\n',
  'docs/retry.md': 'retryAfter retryAfter retryAfter\n',
  'dist/retry.js': 'retryAfter(1)\n',
  'ignored.ts': 'retryAfter retryAfter\n',
  '.gitignore': 'ignored.ts\n',
};
const PATHS = Object.keys(FILES).filter((path) => path !== 'ignored.ts');
const outline = (path: string) =>
  Promise.resolve({
    symbols: [...FILES[path]!.matchAll(/(?:function|const) (\w+)/g)].map(
      ([, name]) => [name!, name!, 0, 1] as const,
    ),
    imports: FILES[path]!.split('\n').filter((line) => line.startsWith('import')),
  });

let top: string;
const at = (name: string): string => join(top, name);
const git = (dir: string, ...args: string[]): void =>
  void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], {
    cwd: at(dir),
  });
const write = (dir: string, files: Record<string, string>): void => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(at(dir), path)), { recursive: true });
    writeFileSync(join(at(dir), path), text);
  }
};
beforeAll(() => {
  top = mkdtempSync(join(tmpdir(), 'finding '));
  for (const dir of ['plain', 'repo', 'unborn']) write(dir, FILES);
  for (const dir of ['repo', 'unborn']) git(dir, 'init', '-q');
  git('repo', 'add', '-A');
  git('repo', 'commit', '-qm', 'first');
  write('repo', { 'src/other.ts': 'export const other = 2;\n' });
  git('repo', 'commit', '-qam', 'Grow the giraffe');
});
afterAll(() => {
  rmSync(top, { recursive: true, force: true });
});

describe.each(['repo', 'unborn', 'plain'])('in a directory: %s', (dir) => {
  const found = (task: string) => findFiles(at(dir), PATHS, task, outline);
  test('definitions before uses, code before tests, prose and what is built; each with its reasons', async () => {
    const all = await found('retryAfter ignores dates');
    expect(all.map(({ path }) => path).slice(0, 3)).toEqual([
      'src/http/retry.ts',
      'src/http/client.ts',
      'test/retry.test.ts',
    ]);
    expect(all[0]?.reasons.slice(0, 2)).toEqual(['defines retryAfter', 'named retry']);
    expect(all[1]?.reasons).toContain('imports src/http/retry.ts');
    expect(all[2]?.reasons).toContain('test of src/http/retry.ts');
    expect(all.findIndex(({ path }) => path === 'dist/retry.js')).toBeGreaterThan(2);
  });
  test.each([
    ['an error message', 'It says "Cannot read the menu"', 'src/menu.ts'],
    ['parts of a path, in other forms', 'the clients of HTTP', 'src/http/client.ts'],
    [
      'hostile words are words',
      '$(touch x) `.*(` [[: -e --open-files-in-pager=x menu',
      'src/menu.ts',
    ],
  ])('%s', async (_, task, path) => {
    expect((await found(task))[0]?.path).toBe(path);
  });
  test('without a word that stands anywhere every file is still offered, code first', async () => {
    const all = await found('xyzzy');
    expect(all).toHaveLength(PATHS.length);
    expect(all.slice(0, 4).every(({ path }) => path.startsWith('src/'))).toBe(true);
  });
});

test('an earlier commit about the same words leads to the files that it changed', async () => {
  const [first] = await findFiles(at('repo'), PATHS, 'The giraffe', outline);
  expect(first).toMatchObject({
    path: 'src/other.ts',
    reasons: ['changed with "Grow the giraffe"'],
  });
});

test('words: identifiers as a whole and in parts, endings off, no names of people, at most forty', () => {
  const keys = (task: string) => termsOf(task).map(({ key }) => key);
  expect(keys('Fix parseURLParts in no-unused-vars')).toEqual([
    'parseurlparts',
    'pars',
    'url',
    'part',
    'nounusedvars',
    'unus',
    'vars',
  ]);
  expect(keys('x\n\nSigned-off-by: Ada <ada@example.org>\nhttps://example.org/abc')).toEqual([]);
  expect(new Set(['parse', 'parses', 'parsed', 'parsing'].map(stemOf)).size).toBe(1);
  expect(
    termsOf(
      Array.from({ length: 900 }, (_, i) => `word${String.fromCharCode(97 + (i % 26))}${i}`).join(
        ' ',
      ),
    ),
  ).toHaveLength(40);
  expect(matcherOf(termsOf('unused variables'))('noUnusedVariable')).toEqual([0, 1]);
});

test.each([
  ['a word without an end', 'a'.repeat(100_000)],
  ['a word of many @', 'a@'.repeat(50_000)],
  ['empty lines', `a${'\n'.repeat(100_000)}b`],
])('the words of a long text are found in linear time: %s', (_, task) => {
  const from = performance.now();
  termsOf(task);
  expect(performance.now() - from).toBeLessThan(5_000);
});
