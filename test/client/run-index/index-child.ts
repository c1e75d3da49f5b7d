/** Starts and ends runs, and brings the index up to date after each, until it is killed. Without runs it only builds the index, again and again. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createArchive } from '../../../src/stores/directory/archive.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { homePaths } from '../../../src/stores/home.js';
import { storePaths } from '../../../src/stores/location.js';
import { runIndex } from '../../../src/client/run-index/index.js';
import { randomFrom } from '../../support/seeded.js';

const [home = '', seed = '0', runs = '0'] = process.argv.slice(2);
const random = randomFrom(Number(seed));
const paths = storePaths(home);
const archive = createArchive({ dir: paths.archive });
const blobs = createBlobStore({ dir: paths.blobs });
const keyOf = (n: number): string => n.toString(16).padStart(8, '0').padEnd(32, 'a');

if (Number(runs) === 0) {
  process.stdout.write('working\n');
  for (;;) {
    await runIndex({ home, store: home, archive, blobs }, { isThorough: true });
    rmSync(join(homePaths(home).index, 'runs.log'), { force: true });
  }
}

for (let n = 0; ; n += 1) {
  const run = Math.floor(random() * Number(runs));
  const time = new Date(Math.floor(random() * 2e9) * 1000).toISOString();
  const data = { status: 'CANCELLED', result: null, message: `change ${n}` };
  await archive.append(keyOf(run), [{ id: `closed-${seed}-${n}`, at: time, kind: 'closed', data }]);
  if (random() < 0.7) await runIndex({ home, store: home, archive, blobs });
  if (n === 0) process.stdout.write('working\n');
}
