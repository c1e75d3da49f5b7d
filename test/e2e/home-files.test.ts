/**
 * A home with runs in every state: docs/home.md has a row for each kind of its files, and no row that is about nothing; a backup holds them; a
 * damaged one is named. damage.test.ts and backup.test.ts go on in `npm run test:long`.
 */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { seed } from '../support/seeded.js';
import { endsUnderWorker, tryDamage, typed } from './damage-support.js';
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

/** Modes of the files of the home, by relative path. */
const filesIn = (home: string): ReadonlyMap<string, number> =>
  new Map(
    readdirSync(home, { recursive: true, encoding: 'utf8' }).flatMap((path) => {
      const found = statSync(join(home, path), { throwIfNoEntry: false });
      return found?.isFile() === true ? [[path, found.mode & 0o777] as const] : [];
    }),
  );

let s: EveryState;
/** While a worker and a server run, and after their end. */
let modes: ReadonlyMap<string, number>;
let files: readonly string[];
beforeAll(async () => {
  s = await everyState();
  const atRest = filesIn(s.home);
  await s.startServer();
  await s.worker();
  modes = new Map([...atRest, ...filesIn(s.home)]);
  files = [...modes.keys()];
  await s.stop();
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
  const wrong = [...modes]
    .filter(([path, mode]) => mode !== (path.startsWith('blobs/') ? 0o400 : 0o600))
    .filter(([path]) => !path.startsWith('server/'));
  expect(wrong).toEqual([]);
});

test('a backup that is made while a worker runs is whole, and its runs come to their ends in the home that it becomes', async () => {
  s.restore();
  const requests = s.rehearsal.requests().length;
  const file = join(s.home, '..', 'home.backup');
  await s.startServer();
  await s.worker();
  const done = async (...args: readonly string[]): Promise<string> => {
    const result = await typed(s, ...args);
    expect(result).toEqual({ ...result, code: 0 });
    return result.text;
  };
  await done('backup', file);
  await s.stop();
  rmSync(s.home, { recursive: true });
  await done('restore', file);
  expect(await done('doctor', '--deep')).toMatch(/^ok /);
  await s.startServer();
  expect(await endsUnderWorker(s)).toEqual({
    running: expect.stringMatching(/^(?:committed|unchanged)$/),
    waiting: 'committed',
    hooked: 'committed',
    plan: 'completed',
  });
  expect(['running', 'waiting', 'hooked'].map((state) => s.commitsOf(state as 'running'))).toEqual([
    1, 1, 1,
  ]);
  expect(s.rehearsal.requests().length).toBe(requests);
  await s.stop();
}, 120_000);

test(`damaged files are named, and lose no other run (seed ${seed})`, async () => {
  for (const n of [0, 1, 2]) await tryDamage(s, n, false);
}, 120_000);
