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

let place: Awaited<ReturnType<typeof newHome>> | null = null;
let server: DevServer | null = null;
let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
  await server?.stop(0);
  server = null;
  await place?.remove();
  place = null;
});

interface Line {
  readonly level: number;
  readonly name: string;
  readonly msg: string;
  readonly sdkComponent?: string;
}
const linesOf = (text: string): readonly Line[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

/** A worker process of the scene, and what it has written so far. */
const startWorker = (s: Scene, env: Record<string, string>, ...flags: readonly string[]) => {
  const client = join(process.cwd(), 'dist/client.js');
  const worker = spawn(process.execPath, [client, 'worker', ...flags], {
    env: { ...s.env, NODE_OPTIONS: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(worker, 'exit');
  const text = { out: '', err: '' };
  worker.stdout.setEncoding('utf8').on('data', (piece: string) => (text.out += piece));
  worker.stderr.setEncoding('utf8').on('data', (piece: string) => (text.err += piece));
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    worker.kill(signal);
    await ended;
  };
  return { text, end };
};

test('a worker whose server is gone logs the warnings of the SDK as JSON on standard error', async () => {
  place = await newHome();
  const started = (server = await startServer(place.home, 'memory'));
  const s = (open = await scene({ 'a.js': 'let a = 1;\n' }, [], { address: started.address }));
  const noModel = { ANTHROPIC_API_KEY: '', ANTHROPIC_AUTH_TOKEN: '', ANTHROPIC_BASE_URL: '' };
  const worker = startWorker(s, noModel, '--quiet');
  const { text } = worker;
  try {
    while (!(await s.emend.runs?.polled(s.emend.queues.host))) await sleep(200);
    await started.stop(0);
    await s.until(() => /temporalio_sdk_core|temporalio_client/.test(text.err + text.out), 60);
  } finally {
    await worker.end('SIGKILL');
  }
  expect(text.out).toBe('');
  const lines = linesOf(text.err);
  expect(lines).toContainEqual(
    expect.objectContaining({ level: 40, msg: expect.stringContaining('no model can be called') }),
  );
  const core = lines.filter(({ sdkComponent }) => sdkComponent === 'core');
  expect(core.length).toBeGreaterThan(0);
  for (const { level, name, msg } of core)
    expect({ level, name, msg }).toEqual({
      level: expect.any(Number),
      name: 'emend-worker',
      msg: expect.stringMatching(/./),
    });
});

const SECRET = 'Zx81-qRt7-hunter22-mN4';

test('each line of a worker is JSON, and one about an activity names workflow, run and step, without secrets', async () => {
  const s = (open = await scene({ 'a.js': 'let a = 1;\n' }, []));
  s.git('config', 'filter.broken.clean', `echo 'no such key ${SECRET}' >&2; false`);
  s.git('config', 'filter.broken.required', 'true');
  s.write('.git/info/attributes', 'a.js filter=broken\n');
  s.write('a.js', 'let a = 9;\n');
  const worker = startWorker(s, { DEPLOY_TOKEN: SECRET });
  const { text } = worker;
  let run;
  try {
    run = await s.start('job.md', '---\ntarget_files: [a.js]\ncommit: true\n---\n# A\n\nRaise.\n');
    await s.until(() => text.err.includes('Activity failed'), 60);
  } finally {
    await worker.end('SIGTERM');
  }
  expect(text.out).toBe('');
  expect(text.err).not.toContain(SECRET);
  const lines = linesOf(text.err);
  expect(lines.map(({ msg }) => msg)).toEqual(
    expect.arrayContaining(['worker ready', expect.stringContaining('Ctrl-C stops the worker')]),
  );
  const failed = lines.filter(({ msg }) => msg === 'Activity failed');
  const { workflowId, status } = await s.show(run);
  for (const line of failed) {
    expect(line).toMatchObject({
      level: 40,
      workflowId,
      workflowRunId: expect.stringMatching(/^[\da-f-]{36}$/),
      stepKey: status.stepKey,
      activityType: 'preflight',
      attempt: expect.any(Number),
      err: { message: expect.stringContaining('no such key') },
    });
    expect(line).not.toHaveProperty('taskToken');
  }
});

const FLAGS: readonly [flags: string[]][] = [[[]], [['--metrics', '127.0.0.1:0']]];
test.each(sampled('flags of a worker without a server', FLAGS, 1))(
  'a worker that finds no server says so and ends: emend worker %j',
  async (flags) => {
    const { home } = (place = await newHome());
    const client = join(process.cwd(), 'dist/client.js');
    const run = spawnSync(process.execPath, [client, 'worker', ...flags], {
      env: { ...bareEnvironment(home), NODE_OPTIONS: '' },
      encoding: 'utf8',
      timeout: 30_000,
    });
    expect({ status: run.status, signal: run.signal }).toEqual({ status: 7, signal: null });
    expect(run.stdout).toBe('');
    expect(linesOf(run.stderr)).toContainEqual(
      expect.objectContaining({
        level: 60,
        code: 'no_server',
        msg: expect.stringContaining('No Temporal server is configured'),
      }),
    );
  },
);
