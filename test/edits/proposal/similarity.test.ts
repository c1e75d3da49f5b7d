/** Which created file a deleted one has become: by git's measure, so that a commit of both shows the same. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { renamesAmong } from '../../../src/edits/internal.js';
import { tempDir } from '../../client/fake.js';

type Contents = Readonly<Record<string, string>>;
const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const files = (deleted: Contents, created: Contents) => [
  ...Object.entries(deleted).map(([path, text]) => ({ path, base: bytes(text), result: null })),
  ...Object.entries(created).map(([path, text]) => ({ path, base: null, result: bytes(text) })),
];
const renames = (deleted: Contents, created: Contents): readonly string[] =>
  renamesAmong(files(deleted, created)).map(({ from, to }) => `${from} -> ${to}`);
const lines = (count: number, word = 'line', from = 0): string =>
  Array.from({ length: count }, (_, i) => `${word} number ${100 + from + i}\n`).join('');

/** The renames that git shows in a commit of the same files. */
const renamesOfGit = async (deleted: Contents, created: Contents): Promise<readonly string[]> => {
  const dir = await tempDir();
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      cwd: dir,
      encoding: 'utf8',
    });
  const write = (contents: Contents): void => {
    for (const [path, text] of Object.entries(contents)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), bytes(text));
    }
  };
  git('init', '-q');
  write({ 'stays.txt': 'stays\n', ...deleted });
  git('add', '-A');
  git('commit', '-qm', 'before');
  git('rm', '-q', ...Object.keys(deleted));
  write(created);
  git('add', '-A');
  git('commit', '-qm', 'after');
  return git('log', '-1', '--format=', '--find-renames', '--name-status')
    .split('\n')
    .flatMap((line) => {
      const [status = '', from = '', to = ''] = line.split('\t');
      return status.startsWith('R') ? [`${from} -> ${to}`] : [];
    });
};

const TEXT = lines(20);
const CASES: readonly (readonly [string, Contents, Contents, readonly string[]])[] = [
  ['the same text', { 'a.md': TEXT }, { 'b/a.md': TEXT }, ['a.md -> b/a.md']],
  ['changed lines', { a: TEXT }, { b: lines(15) + lines(5, 'other') }, ['a -> b']],
  ['just over half of it', { a: TEXT }, { b: lines(11) + lines(9, 'lime') }, ['a -> b']],
  ['just under half of it', { a: TEXT }, { b: lines(9) + lines(11, 'lime') }, []],
  ['half of the larger file', { a: TEXT }, { b: TEXT + lines(21, 'lime') }, []],
  ['another text', { a: TEXT }, { b: lines(20, 'word') }, []],
  ['nothing', { a: '' }, { b: '' }, []],
  ['other line endings', { a: TEXT }, { b: TEXT.replaceAll('\n', '\r\n') }, ['a -> b']],
  ['bytes', { 'a.png': '\0\x89PNG\xff' }, { 'b.png': '\0\x89PNG\xff' }, ['a.png -> b.png']],
  [
    'the more similar of two',
    { a: TEXT },
    { b: lines(12) + lines(8, 'lime'), c: lines(18) + lines(2, 'lime') },
    ['a -> c'],
  ],
  [
    'of equal new ones the first',
    { 'x/same.md': TEXT },
    { 'a.md': TEXT, 'y/same.md': TEXT },
    ['x/same.md -> a.md'],
  ],
  [
    'of equal deleted ones the one of the same name',
    { 'a.md': TEXT, 'x/same.md': TEXT },
    { 'y/same.md': TEXT },
    ['x/same.md -> y/same.md'],
  ],
  [
    'each file once',
    { a: TEXT, b: lines(20, 'word') },
    { c: lines(20, 'word'), d: TEXT },
    ['a -> d', 'b -> c'],
  ],
];

describe('a deleted and a created file', () => {
  test.each(CASES)('%s', (_, deleted, created, expected) => {
    expect([...renames(deleted, created)].sort()).toEqual(expected);
  });

  test.each(CASES.filter(([name]) => name !== 'nothing'))(
    'as git has it: %s',
    async (_, deleted, created, expected) => {
      expect([...(await renamesOfGit(deleted, created))].sort()).toEqual(expected);
    },
  );
});

test('of too many files only equal ones are paired, in time', () => {
  const many = Array.from({ length: 1_000 }, (_, i) => i);
  const deleted = Object.fromEntries(many.map((i) => [`a/${i}`, lines(20, `w${i}`)]));
  const created = Object.fromEntries(
    many.map((i) => [`b/${i}`, lines(20, `w${i}`) + (i < 500 ? 'x\n' : '')]),
  );
  const start = process.cpuUsage();
  const found = renames(deleted, created);
  const { user } = process.cpuUsage(start);
  expect(found).toHaveLength(500);
  expect(user / 1_000).toBeLessThan(5_000);
});

test('of too many bytes only equal ones are paired', () => {
  const large = lines(300_000);
  expect(renames({ a: large, x: TEXT }, { b: `${large}x\n`, y: TEXT })).toEqual(['x -> y']);
});
