/** Processes that write archives and the index are killed at any moment, several at once: what is left is right, or is repaired. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { homePaths } from '../../../src/stores/home.js';
import { runIndex } from '../../../src/client/run-index/index.js';
import { drawn, randomFrom, seed } from '../../support/seeded.js';
import { transpile } from '../../support/transpile.js';
import { fakeEmend, FakeServer } from '../fake.js';
import { endOf, keyOf, rowsOf, scanned, startOf } from './runs.js';

const RUNS = 60;
const WRITERS = 3;
const MOST_MS = 150;
const MOST_ROUNDS = 100;
/** More than two groups that are appended one after the other. */
const BUILT_RUNS = 1_200;
const BUILD_MS = 1_500;

let child: ReturnType<typeof transpile>;
beforeAll(() => {
  child = transpile('run-index', 'test/client/run-index/index-child.ts');
});
afterAll(() => child.remove());

/** Starts a process for each list of arguments, and kills each at a random moment of its work. */
const killAll = async (
  random: () => number,
  most_ms: number,
  ...all: readonly (readonly string[])[]
): Promise<void> => {
  await Promise.all(
    all.map(async (args) => {
      const writer = spawn(process.execPath, [child.path, ...args], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const exited = once(writer, 'exit');
      await once(writer.stdout, 'data');
      await new Promise((resolve) => setTimeout(resolve, random() * most_ms));
      writer.kill('SIGKILL');
      const [, signal] = (await exited) as [number | null, string | null];
      expect(signal).toBe('SIGKILL');
    }),
  );
};

test(`rows are those of a scan after kills at any moment (seed ${seed})`, async () => {
  const random = randomFrom(seed);
  const emend = await fakeEmend(new FakeServer());
  let changes = 0;
  for (let round = 0; round < drawn(6, 60); round += 1) {
    const writers = Array.from({ length: WRITERS }, (_, n) => [
      emend.home,
      `${round * WRITERS + n}`,
      `${RUNS}`,
    ]);
    await killAll(random, MOST_MS, ...writers);
    const all = await scanned(emend);
    changes += all.length;
    expect(rowsOf(await runIndex(emend))).toEqual(all);
  }
  // The children have worked.
  expect(changes).toBeGreaterThan(RUNS);
}, 120_000);

test(`a build goes on where one was killed at any moment, next to another (seed ${seed})`, async () => {
  const random = randomFrom(seed);
  const emend = await fakeEmend(new FakeServer());
  for (let run = 0; run < BUILT_RUNS; run += 1)
    await emend.archive.append(keyOf(run), [startOf(random, run), endOf(random, run)]);
  const all = await scanned(emend);
  let partialFiles = 0;
  const rounds = drawn(5, 40);
  // A slow machine may need more rounds until a build is killed in its middle.
  for (let round = 0; round < rounds || (partialFiles === 0 && round < MOST_ROUNDS); round += 1) {
    await killAll(random, BUILD_MS, [emend.home, '0', '0'], [emend.home, '1', '0']);
    if (existsSync(join(homePaths(emend.home).index, 'runs.log'))) partialFiles += 1;
    expect(rowsOf(await runIndex(emend))).toEqual(all);
  }
  expect(partialFiles).toBeGreaterThan(0);
}, 120_000);
