/** What a worker shows to whoever watches it, as Prometheus and a load balancer would ask: on a real worker, server and store. */
import { afterEach, expect, jest, test } from '@jest/globals';
import { freePort } from '../../src/temporal/dev-server.js';
import { commandOf, commandWorker, endBuildWorkers, TODAY } from './builds.js';
import { scene, whole, type Scene } from './support.js';

jest.setTimeout(200_000);

let open: Scene | null = null;
afterEach(async () => {
  await endBuildWorkers();
  await open?.close();
  open = null;
});

const RULES = [
  {
    name: 'cut',
    match: { contains: '- a.js', times: 1 },
    answer: 'FILE a.js {{nonce}}\nmodule.exports',
    stop_reason: 'max_tokens',
  },
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'module.exports = 2;\n' }) },
  {
    name: 'held',
    match: { contains: '- b.js' },
    answer: whole({ 'b.js': 'module.exports = 2;\n' }),
    fault: { kind: 'hold' as const, after_bytes: 20 },
  },
];
const FILES = { 'a.js': 'module.exports = 1;\n', 'b.js': 'module.exports = 1;\n' };
const JOB = '---\ntarget_files: [a.js]\ncommit: true\n---\n# Grow\n\nGrow.\n';

test('metrics of runs, decisions, calls and refusals next to the SDK’s own; healthy and ready until it stops', async () => {
  const s = (open = await scene(FILES, RULES, {
    env: { EMEND_SHUTDOWNGRACE_MS: '60000' },
  }));
  const address = `127.0.0.1:${await freePort(0)}`;
  const health = `127.0.0.1:${await freePort(0)}`;
  const worker = await commandWorker(s, TODAY, '--metrics', address, '--health', health);
  const get = async (path: string): Promise<readonly [number, string]> => {
    const answer = await fetch(`http://${path === '/metrics' ? address : health}${path}`);
    return [answer.status, await answer.text()];
  };
  const samples = async (): Promise<ReadonlyMap<string, number>> => {
    const [status, text] = await get('/metrics');
    expect(status).toBe(200);
    const found = new Map<string, number>();
    for (const line of text.split('\n').filter((sample) => /^(?:emend|temporal)_/.test(sample))) {
      const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      // What is measured of an activity says which one it was.
      const own = labels
        .split(',')
        .filter((label) => !/^(?:activityType|namespace|taskQueue)=/.test(label));
      const series = `${name}{${own.join()}}`;
      found.set(series, (found.get(series) ?? 0) + Number(value));
    }
    return found;
  };
  const eventually = async (
    check: (found: ReadonlyMap<string, number>) => boolean,
  ): Promise<ReadonlyMap<string, number>> => {
    for (const end = Date.now() + 40_000; ; await new Promise((again) => setTimeout(again, 500))) {
      const found = await samples();
      if (check(found) || Date.now() > end) return found;
    }
  };
  expect(await get('/healthz')).toEqual([200, 'ok\n']);
  expect(await get('/readyz')).toEqual([200, 'ready\n']);
  expect((await get('/'))[0]).toBe(404);

  const run = await s.start('job.md', JOB);
  expect((await s.settle(run, 90)).status.decision?.reason).toBe('approval');
  const paused = await eventually((found) => found.get('emend_runs{state="waiting"}') === 1);
  expect(paused.get('emend_server_up{}')).toBe(1);
  expect(paused.get('emend_runs{state="waiting"}')).toBe(1);
  expect(paused.get('emend_runs{state="running"}')).toBe(0);
  expect(paused.get('emend_decisions_waiting{reason="approval"}')).toBe(1);
  const age_s = paused.get('emend_decision_oldest_seconds{reason="approval"}')!;
  expect(age_s).toBeGreaterThanOrEqual(0);
  expect(age_s).toBeLessThan(60);
  const { usage } = (await s.show(run)).status;
  expect(paused.get('emend_model_calls_total{}')).toBe(usage.calls);
  expect(paused.get('emend_model_tokens_total{kind="output"}')).toBe(usage.output_tokens);
  expect(paused.get('emend_model_usd_sum{}')).toBeCloseTo(usage.usd!, 6);
  expect(paused.get('emend_model_usd_bucket{le="0.1"}')).toBeGreaterThan(0);
  expect([...paused.keys()].filter((name) => name.startsWith('emend_refusals_total'))).not.toEqual(
    [],
  );
  expect([...paused.keys()].filter((name) => name.startsWith('temporal_')).length).toBeGreaterThan(
    10,
  );

  await s.answer(run, 'approve');
  await s.end(run, 90);
  const ended = await eventually((found) => found.get('emend_runs{state="completed"}') === 1);
  expect(ended.get('emend_runs{state="completed"}')).toBe(1);
  expect(ended.get('emend_runs{state="waiting"}')).toBe(0);
  expect(ended.get('emend_decisions_waiting{reason="approval"}')).toBe(0);
  expect(ended.get('emend_decision_oldest_seconds{reason="approval"}')).toBe(0);

  for (const taken of [
    ['--metrics', address],
    ['--health', health],
  ])
    expect((await commandOf(s, TODAY, 'worker', ...taken)).code).toBe(2);
  // While a call runs to its end it takes no more work, and says so.
  await s.start('other.md', JOB.replace('a.js', 'b.js'));
  await s.until(
    () => s.rehearsal.requests().some(({ rule, state }) => rule === 'held' && state === 'held'),
    60,
  );
  const stopped = new Promise((resolve) => worker.once('exit', resolve));
  worker.kill('SIGTERM');
  while ((await get('/readyz'))[0] === 200) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await get('/readyz')).toEqual([503, 'stopping\n']);
  expect(await get('/healthz')).toEqual([200, 'ok\n']);
  s.rehearsal.release();
  await stopped;
  expect(worker.exitCode).toBe(0);
});
