/** What a worker process logs: one JSON line per event on standard error, also what Temporal's SDK says, and nothing on standard output. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import type { DevServer } from '../../src/temporal/dev-server.js';
import { bareEnvironment, newHome, startServer } from '../temporal/support/server.js';
import { sampled } from '../support/seeded.js';
import { scene, type Scene } from './support.js';

let place: Awaited<ReturnType<typeof newHome>>;
let server: DevServer | null = null;
let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
  await server?.stop(0);
  server = null;
  await place.remove();
});

interface Line {
  readonly level: number;
  readonly name: string;
  readonly msg: string;
  readonly sdkComponent?: string;
}

test('a worker whose server is gone logs the warnings of the SDK as JSON on standard error', async () => {
  place = await newHome();
  const started = (server = await startServer(place.home, 'memory'));
  const s = (open = await scene({ 'a.js': 'let a = 1;\n' }, [], { address: started.address }));
  const client = join(process.cwd(), 'dist/client.js');
  const worker = spawn(process.execPath, [client, 'worker', '--quiet'], {
    env: { ...s.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(worker, 'exit');
  const text = { out: '', err: '' };
  worker.stdout.setEncoding('utf8').on('data', (piece: string) => (text.out += piece));
  worker.stderr.setEncoding('utf8').on('data', (piece: string) => (text.err += piece));
  try {
    while (!(await s.emend.runs?.polled(s.emend.queues.host))) await sleep(200);
    await started.stop(0);
    await s.until(() => /temporalio_sdk_core|temporalio_client/.test(text.err + text.out), 60);
  } finally {
    worker.kill('SIGKILL');
    await ended;
  }
  expect(text.out).toBe('');
  const lines = text.err
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const core = lines.filter(({ sdkComponent }) => sdkComponent === 'core');
  expect(core.length).toBeGreaterThan(0);
  for (const { level, name, msg } of core)
    expect({ level, name, msg }).toEqual({
      level: expect.any(Number),
      name: 'emend-worker',
      msg: expect.stringMatching(/./),
    });
});

const FLAGS: readonly [flags: string[]][] = [[[]], [['--metrics', '127.0.0.1:0']]];
test.each(sampled('flags of a worker without a server', FLAGS, 1))(
  'a worker that finds no server says so and ends: emend worker %j',
  async (flags) => {
    place = await newHome();
    const client = join(process.cwd(), 'dist/client.js');
    const run = spawnSync(process.execPath, [client, 'worker', ...flags], {
      env: { ...bareEnvironment(place.home), NODE_OPTIONS: '' },
      encoding: 'utf8',
      timeout: 30_000,
    });
    expect({ status: run.status, signal: run.signal }).toEqual({ status: 7, signal: null });
    expect(run.stderr).toContain('No Temporal server is configured');
  },
);
