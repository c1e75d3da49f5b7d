/** Calls on files are made at once, and the event loop still turns. */
import { execFileSync, spawn } from 'node:child_process';
import { constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import {
  fsync,
  lstat,
  readAll,
  readdir,
  readFile,
  withFile,
  writeAll,
} from '../../src/system/fs.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'emend fs-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const turn = () => new Promise((resolve) => setImmediate(resolve));
/** Returns whether a call ends without the event loop. The result of the thread pool arrives in a later turn of it. */
const atOnce = async (call: () => Promise<unknown>): Promise<boolean> => {
  await turn();
  const ended = { sooner: false };
  const result = call().finally(() => (ended.sooner = true));
  for (let ticks = 0; ticks < 100; ticks++) await Promise.resolve();
  const { sooner } = ended;
  await result;
  return sooner;
};
const TRIES = 100;
const PAUSE_MS = 50;
/** Repeats a check: on a busy machine a call may take long by chance, and the pool makes the calls of the next second. */
const sometime = async (call: () => Promise<unknown>): Promise<boolean> => {
  for (let n = 0; n < TRIES; n++) {
    if (await atOnce(call)) return true;
    await sleep(PAUSE_MS);
  }
  return false;
};
const FEW = [1, 2, 3, 4, 5];
const never = async (call: () => Promise<unknown>): Promise<boolean> => {
  for (const _ of FEW) if (await atOnce(call)) return false;
  return true;
};

const file = (bytes: number): string => {
  writeFileSync(join(dir, 'file'), Buffer.alloc(bytes, 'x'));
  return join(dir, 'file');
};
const opened = <T>(path: string, flags: number, use: (file: number) => Promise<T>) =>
  withFile(path, flags, 0o600, use);

test('a look at a file needs no turn of the event loop, and one that fails rejects as that of Node does', async () => {
  expect(await sometime(() => lstat(file(1)))).toBe(true);
  expect(await sometime(() => readFile(file(200_000)))).toBe(true);
  const missing = { code: 'ENOENT', path: join(dir, 'missing') };
  await expect(lstat(missing.path)).rejects.toMatchObject({ ...missing, syscall: 'lstat' });
  await expect(readFile(missing.path)).rejects.toMatchObject({ ...missing, syscall: 'open' });
  const below = join(file(1), 'below');
  await expect(readFile(below)).rejects.toMatchObject({
    code: 'ENOTDIR',
    syscall: 'open',
    path: below,
  });
});

test('many bytes, directories and every sync are for the pool', async () => {
  expect(await never(() => opened(file(600_000), constants.O_RDONLY, readAll))).toBe(true);
  expect(await never(() => readFile(file(600_000)))).toBe(true);
  const writing = (bytes: number) => () =>
    opened(join(dir, 'new'), constants.O_WRONLY | constants.O_CREAT, (fd) =>
      writeAll(fd, Buffer.alloc(bytes)),
    );
  expect(await never(writing(600_000))).toBe(true);
  expect(await sometime(writing(6))).toBe(true);
  expect(await never(() => opened(file(1), constants.O_RDONLY, fsync))).toBe(true);
  expect(await never(() => readdir(dir))).toBe(true);
});

test.each([
  ['many files', 20_000, () => undefined],
  // The work between the calls counts also: a thousand manifests are read and parsed.
  [
    'some files, and works with each',
    100,
    () => {
      for (const from = performance.now(); performance.now() - from < 1;);
    },
  ],
])('the event loop goes on while somebody looks at %s', async (_, count, work) => {
  const path = file(1);
  let turns = 0;
  const again = (): void => {
    turns += 1;
    next = setImmediate(again);
  };
  let next = setImmediate(again);
  for (let n = 0; n < count; n++) {
    await lstat(path);
    work();
  }
  clearImmediate(next);
  expect(turns).toBeGreaterThan(5);
});

test('after a call that took long the pool does the work for a while', async () => {
  const pipe = join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  expect(await sometime(() => lstat(pipe))).toBe(true);
  const reader = spawn('sh', ['-c', 'sleep 1; exec cat "$0"', pipe], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await turn();
  // The open call returns when a reader opens the pipe: as slow as a disk that must start first.
  await opened(pipe, constants.O_WRONLY, () => Promise.resolve());
  expect(await atOnce(() => lstat(pipe))).toBe(false);
  expect(await sometime(() => lstat(pipe))).toBe(true);
  reader.kill();
});

test('what stands in the place of a file, and is none, is waited for by nobody', async () => {
  const pipe = join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  await expect(readFile(pipe)).rejects.toThrow(`${pipe} is a named pipe, expected a file.`);
  await expect(readFile('/dev/zero')).rejects.toThrow('/dev/zero is a device, expected a file.');
  await expect(readFile(dir)).rejects.toMatchObject({
    problem: {
      code: 'disk',
      message: `${dir} is a directory, expected a file.`,
      next: expect.stringContaining('remove'),
    },
  });
});
