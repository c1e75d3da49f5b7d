/** docs/home.md has a row for each kind of file that real runs leave in a home, and no row that is about nothing. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { everyState, type EveryState } from './every-state.js';

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  RUN: '[0-9a-f]{32}(?:-[a-z0-9-]+)?',
  HASH: '[0-9a-f]{2,64}',
  HOST: '[0-9a-f]{32}',
  ID: '[A-Za-z0-9_-]+',
  N: '\\d+',
  NAME: '[^/.]+',
  PATH: '.+',
};

interface Row {
  readonly path: string;
  readonly pattern: RegExp;
  /** Why few homes have such a file; null: every home of some use has it. */
  readonly reason: string | null;
}

const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path
      .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll(/\b(?:RUN|HASH|HOST|ID|NAME|PATH|N)\b/g, (word) => PLACEHOLDERS[word] ?? word)}$`,
  );

const cellsOf = (line: string): readonly string[] =>
  line
    .slice(1, line.lastIndexOf('|'))
    .split('|')
    .map((cell) => cell.trim());

/** Rows of one of the page's tables; a row that names several paths counts as so many. */
const rowsOf = (section: string, isRare: boolean): readonly Row[] => {
  const text = readFileSync('docs/home.md', 'utf8').split(`\n## ${section}\n`)[1] ?? '';
  const lines = (text.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  return lines.flatMap((line) => {
    const cells = cellsOf(line);
    const named = line.includes('temporal.sqlite`') ? (cells[1] ?? '') : '';
    const paths = [...(cells[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, path]) => path ?? '');
    const others = [...named.matchAll(/`(temporal[^`]+)`/g)].map(([, name]) => `server/db/${name}`);
    return [...paths, ...others].map((path) => ({
      path,
      pattern: patternOf(path),
      reason: isRare ? (cells.at(-1) ?? '') : null,
    }));
  });
};

const filesIn = (home: string): readonly string[] =>
  readdirSync(home, { recursive: true, encoding: 'utf8' }).filter(
    (path) => existsSync(join(home, path)) && statSync(join(home, path)).isFile(),
  );

let s: EveryState;
/** Relative paths, while a worker and a server run and after their end. */
let files: readonly string[];
beforeAll(async () => {
  s = await everyState();
  const atRest = filesIn(s.home);
  await s.startServer();
  await s.worker();
  files = [...new Set([...atRest, ...filesIn(s.home)])];
}, 240_000);
afterAll(() => s.close());

test('each file of a home with runs in every state is in exactly one row', () => {
  const rows = [...rowsOf('Files', false), ...rowsOf('Files that few homes have', true)];
  const wrong = files.flatMap((path) => {
    const found = rows.filter(({ pattern }) => pattern.test(path)).map((row) => row.path);
    return found.length === 1 ? [] : [{ path, found }];
  });
  expect(wrong).toEqual([]);
});

test('each row has such a file in that home, or says why few homes have one', () => {
  const common = rowsOf('Files', false);
  expect(common.length).toBeGreaterThan(20);
  expect(common.filter(({ pattern }) => !files.some((path) => pattern.test(path)))).toEqual([]);
  const rare = rowsOf('Files that few homes have', true);
  expect(rare.length).toBeGreaterThan(10);
  expect(rare.filter(({ reason }) => (reason ?? '').length < 10)).toEqual([]);
});

test('files are for this user alone, and contents cannot be written', () => {
  const modes = files
    .filter((path) => existsSync(join(s.home, path)) && !path.startsWith('server/'))
    .map((path) => ({ path, mode: (statSync(join(s.home, path)).mode & 0o777).toString(8) }));
  expect(
    modes.filter(({ path, mode }) => mode !== (path.startsWith('blobs/') ? '400' : '600')),
  ).toEqual([]);
});
