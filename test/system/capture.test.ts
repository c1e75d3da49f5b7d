/** Child processes and what they write, by real ones. */
import { tmpdir } from 'node:os';
import { expect, test } from '@jest/globals';
import { captureProcess } from '../../src/system/capture.js';

const node = (script: string, more: { input?: string; max_bytes?: number; cwd?: string } = {}) =>
  captureProcess(process.execPath, ['-e', script], {
    cwd: tmpdir(),
    env: { ONLY: 'this' },
    max_bytes: 1_000_000,
    timeout_ms: 30_000,
    ...more,
  });

test('bytes of both outputs, the exit code, the whole environment', async () => {
  const run = await node(
    'process.stdout.write(Buffer.from([0, 255, 10])); process.stderr.write(Object.keys(process.env).join()); process.exitCode = 3',
  );
  expect(run).toMatchObject({ code: 3, signal: null, failure: null });
  expect([...run.stdout]).toEqual([0, 255, 10]);
  expect(run.stderr.toString()).toBe('ONLY');
});

test('input is given whole; one that does not read it ends as it likes', async () => {
  const text = 'a line\n'.repeat(100_000);
  expect((await node('process.stdin.pipe(process.stdout)', { input: text })).stdout.toString()).toBe(text);
  expect(await node('process.exit(4)', { input: text })).toMatchObject({ code: 4, failure: null });
});

test('one that writes too much is ended, and that is said', async () => {
  const run = await node('setInterval(() => process.stdout.write("x".repeat(10_000)), 1)', { max_bytes: 20_000 });
  expect(run).toMatchObject({ code: null, failure: 'it wrote more than 20000 bytes to its standard output' });
  expect(run.stdout.length).toBeLessThanOrEqual(20_000);
});

test('what ends by a signal or cannot be started has no exit code', async () => {
  expect(await node("process.kill(process.pid, 'SIGKILL')")).toMatchObject({ code: null, signal: 'SIGKILL' });
  for (const [file, args, says] of [
    ['/no/such/program', [], /^spawn \/no\/such\/program ENOENT$/],
    ['git', ['a\0b'], /null bytes/],
  ] as const)
    expect(
      await captureProcess(file, args, { cwd: tmpdir(), env: {}, max_bytes: 10, timeout_ms: 30_000 }),
    ).toMatchObject({
      code: null,
      failure: expect.stringMatching(says),
    });
  expect(await node('', { cwd: '/no/such/place' })).toMatchObject({
    code: null,
    failure: expect.stringMatching(/ENOENT/),
  });
});
