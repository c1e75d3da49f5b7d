import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';

import {
  createLocalRunner,
  redact,
  type CommandOutcome,
  type CommandRequest,
} from '../../../src/workspace/commands/index.js';
import type { Environment } from '../../../src/system/environment.js';
import { useLauncher } from '../../../src/system/launcher.js';
import { alive } from '../../support/alive.js';
import { transpile } from '../../support/transpile.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'emend run-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const run = (
  command: string,
  { from = process.env, ...more }: Partial<CommandRequest> & { readonly from?: Environment } = {},
): Promise<CommandOutcome> =>
  createLocalRunner(from).run({
    command,
    env: [],
    cwd: dir,
    timeout_s: 30,
    maxOutput_bytes: 100_000,
    killGrace_ms: 200,
    sandbox: 'off',
    ...more,
  });

/** Waits for a fact that must come; the test's own time limit is the bound. */
const until = async (fact: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await fact())) await new Promise((go) => setTimeout(go, 20));
};
const pidIn = async (file: string): Promise<number> => {
  const text = (): Promise<string> => readFile(join(dir, file), 'utf8').catch(() => '');
  await until(async () => /^\d+\n$/.test(await text()));
  return Number(await text());
};

describe.each(['this process', 'a launcher'])('started by %s', (by) => {
  let launcher: ReturnType<typeof transpile> | null = null;
  beforeAll(() => {
    launcher =
      by === 'a launcher'
        ? transpile('launcher-of-commands', 'src/system/launcher-process.ts')
        : null;
    useLauncher(launcher && pathToFileURL(launcher.path));
  });
  afterAll(() => {
    useLauncher(null);
    launcher?.remove();
  });

  describe('how a command ends', () => {
    test('exit code, both streams, working directory, no input', async () => {
      expect(await run('pwd; echo err >&2; cat; exit 3')).toMatchObject({
        exit: 3,
        signal: null,
        timedOut: false,
        aborted: false,
        output: `${dir}\nerr\n`,
      });
    });

    test('a signal; a shell word that is not there; a directory that is not there', async () => {
      expect(await run('kill -s KILL $$')).toMatchObject({ exit: null, signal: 'SIGKILL' });
      expect(await run('no-such-command-here')).toMatchObject({ exit: 127 });
      const nowhere = await run('true', { cwd: join(dir, 'nowhere') });
      expect(nowhere).toMatchObject({ exit: 127 });
      expect(nowhere.output).toContain('nowhere');
    });

    test('a long output keeps its head and its tail and says how much was cut', async () => {
      const ran = await run('echo first; yes x | head -c 500000; echo; echo last', {
        maxOutput_bytes: 2_000,
      });
      expect(ran.output.startsWith('first\n')).toBe(true);
      expect(ran.output.endsWith('\nlast\n')).toBe(true);
      expect(ran.output).toContain(`[... ${6 + 500_000 + 1 + 5 - 2_000} bytes cut ...]`);
      expect(ran.output.length).toBeLessThan(2_100);
    });
  });

  describe('the group', () => {
    const family =
      'sh -c \'echo $$ > child; trap "" TERM; while :; do sleep 1; done\' & echo $$ > parent; wait';

    test('at time-out every process of it is killed, also one that ignores SIGTERM', async () => {
      const running = run(family, { timeout_s: 1 });
      const [child, parent] = [await pidIn('child'), await pidIn('parent')];
      expect(alive(child)).toBe(true);
      expect(await running).toMatchObject({ timedOut: true, aborted: false, exit: null });
      await until(() => !alive(child) && !alive(parent));
    });

    test('at abort too; aborted before the start, nothing runs', async () => {
      const abort = new AbortController();
      const running = run(family, { signal: abort.signal });
      const [child, parent] = [await pidIn('child'), await pidIn('parent')];
      abort.abort();
      expect(await running).toMatchObject({ aborted: true, timedOut: false });
      await until(() => !alive(child) && !alive(parent));
      expect(await run('touch ran', { signal: abort.signal })).toMatchObject({ aborted: true });
      await expect(readFile(join(dir, 'ran'))).rejects.toThrow('ENOENT');
    });

    test('what a command leaves behind when it ends is killed, and does not hold the result up', async () => {
      const ran = await run(
        "sh -c 'echo $$ > left; sleep 1000' & while [ ! -s left ]; do sleep 0.02; done; echo done",
      );
      expect(ran).toMatchObject({ exit: 0, output: 'done\n' });
      const left = await pidIn('left');
      await until(() => !alive(left));
    });

    test('it does not outlive the process that started it, killed with SIGKILL', async () => {
      const built = pathToFileURL(join(process.cwd(), 'dist/src/workspace/commands/index.js')).href;
      const request = {
        command: family,
        sandbox: 'off',
        cwd: dir,
        env: [],
        timeout_s: 600,
        maxOutput_bytes: 1000,
      };
      const source = `import { createLocalRunner } from '${built}'; await createLocalRunner(process.env).run(${JSON.stringify(request)});`;
      const worker = spawn(process.execPath, ['--input-type=module', '--eval', source], {
        stdio: 'ignore',
        env: { PATH: process.env.PATH },
      });
      const [child, parent] = [await pidIn('child'), await pidIn('parent')];
      expect(alive(child)).toBe(true);
      worker.kill('SIGKILL');
      await until(() => !alive(child) && !alive(parent));
    });
  });
});

describe('secrets', () => {
  const from = {
    PATH: process.env.PATH,
    ANTHROPIC_API_KEY: 'sk-ant-12345678',
    GITHUB_TOKEN: 'ghp_12345678',
    DB_PASSWORD: 'hunter2hunter2',
    TEMPORAL_ADDRESS: 'localhost:7233',
  };

  test("kept output holds no secret value, wherever the command got it; settings' values are no secrets", async () => {
    await writeFile(join(dir, '.env'), 'sk-ant-12345678 ghp_12345678\n');
    expect(
      (
        await run('cat .env; echo "$DB_PASSWORD"; echo localhost:7233', {
          from,
          env: ['DB_PASSWORD'],
        })
      ).output,
    ).toBe('[redacted] [redacted]\n[redacted]\nlocalhost:7233\n');
    expect(redact('a short one stays: 1', { A_TOKEN: '1' })).toBe('a short one stays: 1');
    expect(redact('longest first: abcdefgh', { A_TOKEN: 'abcdef', B_TOKEN: 'abcdefgh' })).toBe(
      'longest first: [redacted]',
    );
  });
});

describe('F3: values of variables that `env:` lists', () => {
  const from = {
    PATH: process.env.PATH,
    LICENSE: 'Zq8rT2vLk0Xn',
    PEM: 'first-line-of-a-value\nsecond-line-of-a-value\n',
    DSN: 'postgres://app:Zq8rT2vL@db.example/app',
    MODE: 'production',
    DEBUG: '1',
    ENABLED: 'true',
    CASE: 'test',
    RELEASE: '20.11.1',
    WHERE: '/usr/lib/jvm/default',
    API_URL: 'http://localhost:3000/v1',
    CITY: 'Bern',
  };
  const env = Object.keys(from).filter((name) => name !== 'PATH');

  test.each([
    ['LICENSE', '[redacted]'],
    ['DSN', '[redacted]'],
    ['MODE', 'production'],
    ['DEBUG', '1'],
    ['ENABLED', 'true'],
    ['CASE', 'test'],
    ['RELEASE', '20.11.1'],
    ['WHERE', '/usr/lib/jvm/default'],
    ['API_URL', 'http://localhost:3000/v1'],
    ['CITY', 'Bern'],
  ])('F3: the value of %s is printed as %s', async (name, shown) => {
    expect((await run(`printf '<%s>' "$${name}"`, { from, env })).output).toBe(`<${shown}>`);
  });

  test('F3: also line by line, in JSON, and where the command reads it elsewhere', async () => {
    const script = `echo "$PEM" | head -1; node -p 'JSON.stringify(process.env.PEM.trim())'; echo Zq8rT2vLk0Xn`;
    const { output } = await run(script, { from, env });
    expect(output).toBe('[redacted]\n"[redacted]"\n[redacted]\n');
  });

  test('F3: a variable that is not listed is not hidden by its value', async () => {
    expect((await run('echo Zq8rT2vLk0Xn', { from, env: [] })).output).toBe('Zq8rT2vLk0Xn\n');
  });
});

test('a working directory that is a link, with a blank in its name', async () => {
  await symlink(dir, `${dir} link`);
  expect((await run('pwd -P', { cwd: `${dir} link` })).output).toBe(`${dir}\n`);
  await rm(`${dir} link`);
});
