/** A run whose own stored value is gone cannot go on: `emend show` says which, and it goes on when the value is back. */
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { fakeIo } from '../cli/io.js';
import { OWN_STORE } from './homes.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

/** Over `inlinePayload_bytes`: the run's input goes into the store. */
const LONG_HINT = 'Mind the numbers. '.repeat(1_000);

test('the input of a run is lost before its first task', async () => {
  const s = (open = await scene(
    { 'a.js': 'const a = 1;\n' },
    [{ name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) }],
    { env: OWN_STORE },
  ));
  const run = await s.start('job.md', '---\ntarget_files: [a.js]\n---\n# Grow\n\nGrow.\n', {
    hints: [LONG_HINT],
  });
  const blobs = readdirSync(join(s.store, 'blobs'), { recursive: true, encoding: 'utf8' })
    .map((name) => join(s.store, 'blobs', name))
    .filter((path) => statSync(path).isFile());
  const lost = blobs.find((path) =>
    readFileSync(path, 'utf8').includes('"hints":["Mind the numbers.'),
  )!;
  const bytes = readFileSync(lost);
  rmSync(lost);

  await s.worker();
  let printed = '';
  for (let tries = 0; !printed.includes('cannot go on') && tries < 30; tries++) {
    const io = fakeIo({ env: s.env, cwd: s.repo });
    await main(['show', run.stepKey.slice(0, 8)], io);
    printed = io.printed.out + io.printed.err;
  }
  expect(printed).toMatch(
    /Its worker fails and keeps retrying: .*The blob sha256:[0-9a-f]{64} is not at /,
  );
  expect(printed).toContain(lost);

  writeFileSync(lost, bytes);
  expect((await s.settle(run, 90)).status.decision?.reason).toBe('approval');
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['a.js'] });
}, 180_000);
