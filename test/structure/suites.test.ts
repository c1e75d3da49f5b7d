/** What `npm test` and the shares of `npm run test:long` run: no test file is in neither, and none is in two shares. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { shares } from '../../scripts/heaviest-first.js';
import { SHARES, readShare, shareOf } from '../../scripts/seed.js';
import { LONG_ONLY, filesOfLong, filesOfTest, testFiles } from '../../scripts/suites.js';

const root = process.cwd();
const inTest = filesOfTest();
const inLong = filesOfLong();
const sorted = (paths: readonly string[]): readonly string[] => [...paths].sort();

describe('the test files', () => {
  test('each is in `npm test` or in `npm run test:long`', () => {
    expect(testFiles().length).toBeGreaterThan(250);
    expect(sorted([...new Set([...inTest, ...inLong])])).toEqual(testFiles());
  });

  test('what `npm test` leaves out is there, and in `npm run test:long`', () => {
    expect(LONG_ONLY).toEqual(sorted([...new Set(LONG_ONLY)]));
    expect(LONG_ONLY.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(LONG_ONLY.filter((path) => !inLong.includes(path))).toEqual([]);
    expect(inTest.filter((path) => LONG_ONLY.includes(path))).toEqual([]);
  });

  test('a file that leaves tests to `npm run test:long` is in it', () => {
    const leaves = testFiles().filter((path) =>
      /\b(?:longOnly|drawn|sampled|spread|fuzz)\(/.test(readFileSync(path, 'utf8')),
    );
    expect(leaves.length).toBeGreaterThan(30);
    expect(leaves.filter((path) => !inLong.includes(path))).toEqual([]);
  });

  test('`npm test` shows every guarantee of README.md', () => {
    const rows = readFileSync(join(root, 'README.md'), 'utf8').split('\n');
    const promises = rows.filter((row) => /^\| \*\*\d+\. /.test(row));
    expect(promises.length).toBeGreaterThan(9);
    for (const row of promises) {
      const shown = [...row.matchAll(/\((test\/[^)]+\.test\.ts)\)/g)].map(([, path = '']) => path);
      expect(shown.filter((path) => !existsSync(join(root, path)))).toEqual([]);
      expect({ row, inNpmTest: shown.some((path) => inTest.includes(path)) }).toEqual({
        row,
        inNpmTest: true,
      });
    }
  });
});

describe('the shares of `npm run test:long`', () => {
  const dealt = shares(
    inLong.map((path) => ({ path: join(root, path) })),
    SHARES,
  );

  test('are disjoint, and together all files', () => {
    expect(dealt).toHaveLength(6);
    expect(sorted(dealt.flatMap(({ tests }) => tests.map(({ path }) => path)))).toEqual(
      inLong.map((path) => join(root, path)),
    );
  });

  test('take about as long as each other', () => {
    const seconds = dealt.map((share) => share.seconds);
    expect(Math.min(...seconds)).toBeGreaterThan(0);
    // A single file may be longer than a sixth of all: no deal could mend that, but splitting it.
    expect(Math.max(...seconds) / Math.min(...seconds)).toBeLessThan(1.2);
  });

  test('are drawn by the seed, each by some', () => {
    const drawn = Array.from({ length: 60 }, (_, seed) => shareOf(String(seed)));
    expect([...new Set(drawn)].sort()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(shareOf('232931770')).toBe(shareOf('232931770'));
  });

  test.each(['1/6', '6/6'])('%s is one', (text) => {
    expect(readShare(text)).toEqual({ number: Number(text[0]), of: 6 });
  });

  test.each(['0/6', '7/6', '1/5', '1', '', 'one/6', '1/6/6', '-1/6', '1.5/6'])(
    '%j is refused',
    (text) => {
      expect(readShare(text)).toBeNull();
    },
  );

  test.each([
    [['--long', '--share', '7/6'], '--share: 7/6 is no share.'],
    [['--share', '1/6'], '--share: only `npm run test:long` has shares.'],
    [['--long', '--shard', '1/6'], "Unknown option '--shard'"],
  ])('%j ends with exit code 2 and says what is expected', (args, problem) => {
    const run = spawnSync(process.execPath, ['scripts/test.js', ...args], {
      encoding: 'utf8',
      timeout: 30_000,
    });
    expect({ code: run.status, out: run.stdout }).toEqual({ code: 2, out: '' });
    expect(run.stderr).toContain(problem);
    expect(run.stderr).toContain('npm run test:long -- --share K/6 (K from 1 to 6)');
  });
});
