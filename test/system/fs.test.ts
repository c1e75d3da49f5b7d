/** Calls on files are made at once, and the event loop goes on all the same. */
import { execFileSync, spawn } from 'node:child_process';
import { constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { fsync, lstat, readAll, withFile, writeAll } from '../../src/system/fs.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'emend fs-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const TRIES = 20;
/**
 * Whether a call ends without the event loop: what the thread pool did is told in a later turn of it. Once of some tries: where the
 * machine is busy a call may take long for no reason of its own.
 */
const atOnce = async (call: () => Promise<unknown>): Promise<boolean> => {
  for (let n = 0; n < TRIES; n++) {
    await turn();
    const ended = { sooner: false };
    const made = call().finally(() => (ended.sooner = true));
    for (let ticks = 0; ticks < 100; ticks++) await Promise.resolve();
    const { sooner } = ended;
    await made;
    if (sooner) return true;
  }
  return false;
};
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const file = (bytes: number): string => {
  writeFileSync(join(dir, 'file'), Buffer.alloc(bytes, 'x'));
  return join(dir, 'file');
};
const reading = (path: string) =>
  withFile(path, constants.O_RDONLY, 0, async (opened) => (await readAll(opened)).length);

test('a look at a file needs no turn of the event loop, and one that fails rejects as that of Node does', async () => {
  expect(await atOnce(() => lstat(file(1)))).toBe(true);
  expect(await atOnce(() => reading(file(200_000)))).toBe(true);
  const missing = lstat(join(dir, 'missing'));
  await expect(missing).rejects.toMatchObject({ code: 'ENOENT', syscall: 'lstat', path: join(dir, 'missing') });
});

test('many bytes, and every sync, are for the pool', async () => {
  expect(await atOnce(() => reading(file(600_000)))).toBe(false);
  await turn();
  const writing = (bytes: number) => () =>
    withFile(join(dir, 'new'), constants.O_WRONLY | constants.O_CREAT, 0o600, (made) =>
      writeAll(made, Buffer.alloc(bytes)),
    );
  expect(await atOnce(writing(600_000))).toBe(false);
  expect(await atOnce(writing(6))).toBe(true);
  expect(await atOnce(() => withFile(file(1), constants.O_RDONLY, 0, fsync))).toBe(false);
});

test('the event loop goes on while somebody looks at many files', async () => {
  const path = file(1);
  let turns = 0;
  const count = (): void => {
    turns += 1;
    again = setImmediate(count);
  };
  let again = setImmediate(count);
  for (let n = 0; n < 20_000; n++) await lstat(path);
  clearImmediate(again);
  expect(turns).toBeGreaterThan(2);
});

test('after a call that took long the pool does the work for a while', async () => {
  const pipe = join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const reader = spawn('sh', ['-c', 'sleep 1; exec cat "$0"', pipe], { stdio: ['ignore', 'ignore', 'inherit'] });
  // It opens when somebody reads: as slow as a disk that must start first.
  await withFile(pipe, constants.O_WRONLY, 0, () => Promise.resolve());
  expect(await atOnce(() => lstat(pipe))).toBe(false);
  await sleep(1_100);
  expect(await atOnce(() => lstat(pipe))).toBe(true);
  reader.kill();
});
