/** Processes that write archives and the index are killed at any moment, several at once: what is left is right, or is repaired. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runIndex } from '../../../src/client/run-index/index.js';
import { drawn, randomFrom, seed } from '../../support/seeded.js';
import { transpile } from '../../support/transpile.js';
import { fakeEmend, FakeServer } from '../fake.js';
import { rowsOf, scanned } from './runs.js';

const RUNS = 60;
const WRITERS = 3;
const MOST_MS = 150;

let child: ReturnType<typeof transpile>;
beforeAll(() => {
  child = transpile('run-index', 'test/client/run-index/index-child.ts');
});
afterAll(() => child.remove());

test(`rows are those of a scan after kills at any moment (seed ${seed})`, async () => {
  const random = randomFrom(seed);
  const emend = await fakeEmend(new FakeServer());
  let changes = 0;
  for (let round = 0; round < drawn(6, 60); round += 1) {
    const writers = Array.from({ length: WRITERS }, (_, n) =>
      spawn(process.execPath, [child.path, emend.home, `${round * WRITERS + n}`, `${RUNS}`], {
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
    await Promise.all(
      writers.map(async (writer) => {
        const exited = once(writer, 'exit');
        await once(writer.stdout, 'data');
        await new Promise((resolve) => setTimeout(resolve, random() * MOST_MS));
        writer.kill('SIGKILL');
        const [, signal] = (await exited) as [number | null, string | null];
        expect(signal).toBe('SIGKILL');
      }),
    );
    const all = await scanned(emend);
    changes += all.length;
    expect(rowsOf(await runIndex(emend))).toEqual(all);
  }
  // The children have worked.
  expect(changes).toBeGreaterThan(RUNS);
}, 120_000);
