/** How large src is: within the limits of scripts/house.json, and what is over one is named with the count. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { house } from '../../scripts/house.js';

const limits = JSON.parse(readFileSync('scripts/house.json', 'utf8')) as Parameters<
  typeof house
>[1];

test('src is within the limits of scripts/house.json, and each limit has its reason', () => {
  expect(house(process.cwd(), limits).worse).toEqual([]);
  for (const { why } of Object.values(limits)) expect(why).not.toBe('');
});

test('a number over its limit is named, with where it is and by how much', () => {
  const root = mkdtempSync(join(tmpdir(), 'emend-house-'));
  const short = ['src/full/a.ts', 'src/full/b.tsx', 'src/full/c.ts', 'worker.ts', 'client.ts'];
  for (const path of [...short, 'src/long.ts']) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), '\n'.repeat(short.includes(path) ? 1 : 301));
  }
  const most = (counts: Readonly<Record<string, number>>) =>
    house(
      root,
      Object.fromEntries(
        Object.entries(counts).map(([name, each]) => [name, { most: each, why: 'a test' }]),
      ),
    );
  try {
    const counts = { files: 6, lines: 306, filesOver300Lines: 1, filesOfTheFullestFolder: 3 };
    expect(most(counts).worse).toEqual([]);
    expect(
      most({ files: 5, lines: 300, filesOver300Lines: 0, filesOfTheFullestFolder: 2 }).worse,
    ).toEqual([
      'files: 6 is 1 over 5',
      'lines: 306 is 6 over 300',
      'filesOver300Lines: 1 (src/long.ts) is 1 over 0',
      'filesOfTheFullestFolder: 3 (src/full) is 1 over 2',
    ]);
    expect(() => most({ rooms: 1 })).toThrow('nothing measures rooms');
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
