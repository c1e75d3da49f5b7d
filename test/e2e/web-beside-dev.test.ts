/** `emend web` next to `emend dev`, as real processes: links of the home lead where they led before, however the page ends. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { liveDevServer, recordPath } from '../../src/temporal/dev-record.js';
import { serverSettings } from '../../src/temporal/settings.js';

jest.setTimeout(240_000);

let home: string;
let running: ChildProcess[];
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'emend-web-')));
  running = [];
});
afterEach(async () => {
  // The last one first: `emend dev` ends its server.
  for (const child of running.toReversed()) await end(child);
  rmSync(home, { recursive: true, force: true });
});

const environment = (): Record<string, string | undefined> => ({
  ...process.env,
  NODE_OPTIONS: '',
  EMEND_HOME: home,
  EMEND_QUEUE: `t-web-${process.pid}`,
  TEMPORAL_ADDRESS: undefined,
  EMEND_TEMPORAL_CLI: process.env.EMEND_TEST_CLI,
  ANTHROPIC_API_KEY: 'none',
});

/** Starts a service and waits until it says how to end it. */
const start = (args: readonly string[]): Promise<ChildProcess> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(process.cwd(), 'dist/client.js'), ...args], {
      cwd: home,
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.push(child);
    let output = '';
    const read = (part: Buffer): void => {
      output += part.toString();
      if (output.includes('Ctrl-C stops')) resolve(child);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', (code) =>
      reject(new Error(`${args.join(' ')} ended with ${code}: ${output}`)),
    );
  });

const end = async (child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
};

/** The addresses that commands of this home print, and the record of its server, byte for byte. */
const links = async (): Promise<object> => ({
  page: (await liveDevServer(home))?.pageUrl ?? null,
  temporalUi: (await serverSettings(environment(), home)).uiUrl,
  record: readFileSync(recordPath(home), 'utf8'),
});

test('a page that starts next to `emend dev`, and ends or is killed, leaves the addresses of `emend dev` as they were', async () => {
  await start(['dev']);
  const before = await links();
  expect(before).toMatchObject({
    page: expect.stringContaining('http://127.0.0.1:'),
    temporalUi: expect.stringContaining('http://127.0.0.1:'),
  });
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const page = await start(['web', '--port', '0']);
    expect(await links()).toEqual(before);
    await end(page, signal);
    expect(await links()).toEqual(before);
  }
});

test('a page that outlives an `emend dev` leaves the record of the next one alone when it ends', async () => {
  const first = await start(['dev']);
  const page = await start(['web', '--port', '0']);
  await end(first);
  await start(['dev']);
  const before = await links();
  expect(before).toMatchObject({ page: expect.stringContaining('http://') });
  await end(page);
  expect(await links()).toEqual(before);
});

test('next to `emend dev --no-web` links lead to the page of `emend web` until it ends, also when it is killed', async () => {
  await start(['dev', '--no-web']);
  const before = await links();
  expect(before).toMatchObject({ page: null, temporalUi: null });
  const page = await start(['web', '--port', '0']);
  expect(await links()).toMatchObject({
    page: expect.stringContaining('http://127.0.0.1:'),
    temporalUi: expect.stringContaining('http://127.0.0.1:'),
  });
  await end(page, 'SIGKILL');
  expect(await links()).toEqual(before);
});
