/** Runs real child processes, started here and by a launcher, and reads what they write. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ProcessCall } from '../../src/system/capture.js';
import { captureProcess, useLauncher } from '../../src/system/launcher.js';
import { alive } from '../support/alive.js';
import { transpile } from '../support/transpile.js';

let launcher: ReturnType<typeof transpile>;
beforeAll(() => {
  launcher = transpile('launcher', 'src/system/launcher-process.ts');
});
afterAll(() => {
  useLauncher(null);
  launcher.remove();
});

const node = (script: string, more: Partial<ProcessCall> = {}) =>
  captureProcess(process.execPath, ['-e', script], {
    cwd: tmpdir(),
    env: { ONLY: 'this' },
    max_bytes: 1_000_000,
    timeout_ms: 30_000,
    ...more,
  });

describe.each(['this process', 'a launcher'])('started by %s', (starter) => {
  beforeAll(() => useLauncher(starter === 'a launcher' ? pathToFileURL(launcher.path) : null));

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
    expect(
      (await node('process.stdin.pipe(process.stdout)', { input: text })).stdout.toString(),
    ).toBe(text);
    expect(await node('process.exit(4)', { input: text })).toMatchObject({
      code: 4,
      failure: null,
    });
  });

  test('one that writes too much is ended, and that is said', async () => {
    const run = await node('setInterval(() => process.stdout.write("x".repeat(10_000)), 1)', {
      max_bytes: 20_000,
    });
    expect(run).toMatchObject({
      code: null,
      failure: 'it wrote more than 20000 bytes to its standard output',
    });
    expect(run.stdout.length).toBeLessThanOrEqual(20_000);
  });

  test('what ends by a signal or cannot be started has no exit code', async () => {
    expect(await node("process.kill(process.pid, 'SIGKILL')")).toMatchObject({
      code: null,
      signal: 'SIGKILL',
    });
    for (const [file, args, says] of [
      ['/no/such/program', [], /^spawn \/no\/such\/program ENOENT$/],
      ['git', ['a\0b'], /null bytes/],
    ] as const)
      expect(
        await captureProcess(file, args, {
          cwd: tmpdir(),
          env: {},
          max_bytes: 10,
          timeout_ms: 30_000,
        }),
      ).toMatchObject({
        code: null,
        failure: expect.stringMatching(says),
      });
    expect(await node('', { cwd: '/no/such/place' })).toMatchObject({
      code: null,
      failure: expect.stringMatching(/ENOENT/),
    });
  });

  test('one that takes too long is ended with all that it started', async () => {
    const script =
      "require('child_process').spawn('sleep', ['1000'], { stdio: 'inherit' }); setInterval(() => 0, 1000)";
    expect(await node(script, { timeout_ms: 500 })).toMatchObject({
      code: null,
      failure: 'it took longer than 0.5 s and was stopped',
    });
  });
});

/** Returns the pid of this process's launcher: the parent of the processes that it starts. */
const launcherPid = async (): Promise<number> =>
  Number((await node('process.stdout.write(String(process.ppid))')).stdout.toString());

describe('a launcher', () => {
  beforeAll(() => useLauncher(pathToFileURL(launcher.path)));

  test('is one small process, of which nothing is inherited, and which a signal to end does not end', async () => {
    const pid = await launcherPid();
    expect(pid).not.toBe(process.pid);
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toMatch(/PATH|HOME|EMEND/);
    process.kill(pid, 'SIGTERM');
    expect(await launcherPid()).toBe(pid);
  });

  test('that was killed: who waits hears of it, and the next process has a new one', async () => {
    const pid = await launcherPid();
    const waits = node('setInterval(() => 0, 1000)');
    await node('');
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .map(Number);
    expect(children).toHaveLength(1);
    process.kill(pid, 'SIGKILL');
    for (const child of children) process.kill(child, 'SIGKILL');
    await expect(waits).rejects.toThrow('the process that starts others ended: SIGKILL');
    expect(await launcherPid()).not.toBe(pid);
  });

  test('ends with the process that it works for, however that ends', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'emend launcher-'));
    transpile('launcher', 'src/system/launcher.ts');
    const source = `
      import { captureProcess, useLauncher } from ${JSON.stringify(pathToFileURL(join(launcher.path, '../launcher.js')).href)};
      useLauncher();
      const run = await captureProcess('/bin/sh', ['-c', 'echo $PPID'], { cwd: '/', env: {}, max_bytes: 100, timeout_ms: 30_000 });
      process.stdout.write(run.stdout);
      setInterval(() => 0, 1000);`;
    const worker = spawn(process.execPath, ['--input-type=module', '--eval', source], { cwd: dir });
    const pid = Number(await new Promise((resolve) => worker.stdout.once('data', resolve)));
    expect(alive(pid)).toBe(true);
    worker.kill('SIGKILL');
    while (alive(pid)) await new Promise((go) => setTimeout(go, 20));
    rmSync(dir, { recursive: true });
  });
});
