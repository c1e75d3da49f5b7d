/** A model that is down: how often it is asked, who is asked, and what is shown meanwhile. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { runEvents } from '../../src/client/index.js';
import { check } from './check-history.js';
import { emendCommand, eventually, withHandle } from './ends.js';
import { scene, whole, type Scene } from './support.js';

const MANY = 1_000;
const one = (n: number): string => `const one = ${n};\n`;
const paths = Array.from({ length: MANY }, (_, n) => `many/f${String(n).padStart(4, '0')}.js`);
const FEW = ['short.js', 'cut.js', 'long.js', 'key.js', 'other.js', 'away.js'];
const good = (path: string) => ({
  name: path,
  match: { contains: `- ${path}` },
  answer: whole({ [path]: one(2) }),
});
const fails = (path: string, times: number, kind: 'overload' | 'server_error' | 'rate_limit') => ({
  name: `${path} down`,
  match: { contains: `- ${path}`, times },
  answer: '',
  fault: kind === 'rate_limit' ? { kind, retry_after_ms: 700 } : { kind },
});
/** An address where nobody listens any more. */
const nobodyAt = async (): Promise<string> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
};
const job = (...keys: string[]): string =>
  ['---', ...keys, '---', '# Grow', '', 'Raise it.', ''].join('\n');

let s: Scene;
beforeAll(async () => {
  s = await scene(Object.fromEntries([...paths, ...FEW].map((path) => [path, one(1)])), [
    {
      name: 'brief',
      match: { contains: 'Now write the brief' },
      answer: 'Up.\nEMEND-COMPLETE {{nonce}} 0 0\n',
    },
    { name: 'many', match: { contains: 'many/f' }, answer: '', fault: { kind: 'overload' } },
    fails('short.js', 1, 'overload'),
    fails('short.js', 1, 'server_error'),
    fails('short.js', 1, 'rate_limit'),
    { ...fails('cut.js', 1, 'overload'), fault: { kind: 'drop' as const, after_bytes: 500 } },
    fails('long.js', 1, 'overload'),
    {
      ...fails('key.js', 1, 'overload'),
      fault: { kind: 'status', status: 401, type: 'authentication_error' },
    },
    ...FEW.map(good),
  ]);
}, 60_000);
afterEach(async () => {
  await Promise.all(s.workers().map((worker) => worker.kill()));
});
afterAll(async () => {
  await s.close();
});
const asked = (part: string): number =>
  s.rehearsal.requests().filter(({ rule }) => rule?.startsWith(part)).length;

test('529 throughout a job of 1,000 files: at most 10 requests, all for one file, then one question for the run', async () => {
  await s.worker();
  const run = await s.start(
    'many.md',
    job(`target_files: [${paths.join(', ')}]`, 'limits: { modelOutage_s: 3 }'),
  );
  const outage = await eventually(
    'the wait',
    async () => (await s.show(run)).status.outage ?? null,
    90,
  );
  expect(outage).toMatchObject({ file: paths[0], message: expect.stringContaining('529') });
  const view = await s.settle(run, 120);
  expect(view.status.decision).toMatchObject({
    reason: 'model_unavailable',
    message: expect.stringContaining('529 overloaded_error'),
  });
  expect(view.status.decision?.files).toHaveLength(MANY);
  expect(asked('many')).toBeGreaterThanOrEqual(4);
  expect(asked('many')).toBeLessThanOrEqual(10);
  // After the 1,000 events of the first look.
  const events = await runEvents(s.emend, run, MANY);
  expect(events.filter(({ type }) => type === 'edit_step_paused')).toHaveLength(1);
  expect(
    new Set(events.flatMap((event) => (event.type === 'edit_chunk_started' ? [event.file] : []))),
  ).toEqual(new Set([paths[0]]));
  await s.answer(run, 'skip');
  expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
}, 240_000);

test('an outage that ends within the limit asks nobody, and a broken connection is waited for as well', async () => {
  await s.worker();
  const run = await s.start('short.md', job('target_files: [short.js]', 'approval: auto'));
  const lost = await s.start('cut.md', job('target_files: [cut.js]', 'approval: auto'));
  expect(await s.end(run)).toMatchObject({
    outcome: 'applied',
    usage: { calls: 1, unknownCalls: 0 },
  });
  expect(asked('short.js')).toBe(4);
  const told = (await s.events(run)).filter(({ type }) => type === 'model_down');
  expect(told.map((event) => ('message' in event ? event.message : ''))).toEqual([
    expect.stringContaining('529'),
    expect.stringContaining('500'),
    expect.stringContaining('429'),
  ]);
  // The server's wish is kept.
  const third = s.rehearsal
    .requests()
    .filter(({ rule }) => rule?.startsWith('short.js'))
    .slice(2);
  expect(Date.parse(third[1]!.at) - Date.parse(third[0]!.at)).toBeGreaterThanOrEqual(700);
  await check(s, run.live!.workflowId, 'edit-step-applied-model-down');
  expect(await s.end(lost)).toMatchObject({
    outcome: 'applied',
    usage: { calls: 2, unknownCalls: 1 },
  });
}, 120_000);

test('retry of a wait: the next try comes at once, nobody was asked and nothing is approved', async () => {
  await s.worker(undefined, { EMEND_OUTAGEWAIT_MS: '600000', EMEND_OUTAGEMAXWAIT_MS: '600000' });
  const run = await s.start('long.md', job('target_files: [long.js]'));
  const outage = await eventually(
    'the wait',
    async () => (await s.show(run)).status.outage ?? null,
    60,
  );
  expect(outage.next).toBeGreaterThan(Date.now() + 300_000);
  const shown = await emendCommand(s, 'show', run.stepKey);
  expect(shown.out).toContain('529 overloaded_error');
  expect(shown.out).toMatch(/try 2 at \d\d:\d\d:\d\d UTC/);
  expect((await emendCommand(s, 'events', run.stepKey)).out).toContain('the model is down (try 1)');
  const { currentDetails } = await withHandle(s, run, (handle) =>
    handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata'),
  );
  expect(currentDetails).toContain(outage.id);
  const retried = await emendCommand(s, 'retry', run.stepKey);
  expect(retried).toMatchObject({ code: 0 });
  const view = await s.settle(run);
  expect(view.status.decision).toMatchObject({ reason: 'approval', n: 1 });
  expect(asked('long.js')).toBe(2);
  await s.answer(run, 'abort');
}, 120_000);

test('a refused key, and an address where nobody answers, are asked about at once, for the run', async () => {
  await s.worker();
  const key = await s.start('key.md', job('target_files: [key.js, other.js]', 'approval: auto'));
  const refused = (await s.settle(key)).status.decision!;
  expect(refused).toMatchObject({
    reason: 'model_unavailable',
    message: expect.stringContaining('401'),
  });
  expect(refused.files.map(({ path }) => path)).toEqual(['key.js', 'other.js']);
  expect([asked('key.js'), asked('other.js')]).toEqual([1, 0]);
  await s.answer(key, 'retry');
  expect(await s.end(key)).toMatchObject({ outcome: 'applied', files: ['key.js', 'other.js'] });
  await s.workers().at(-1)!.kill();
  await s.worker(undefined, { ANTHROPIC_BASE_URL: await nobodyAt() });
  const away = await s.start('away.md', job('target_files: [away.js]'));
  expect((await s.settle(away)).status.decision).toMatchObject({
    reason: 'model_unavailable',
    message: expect.stringContaining('could not be reached'),
  });
  expect((await s.events(away)).filter(({ type }) => type === 'edit_chunk_started')).toHaveLength(
    1,
  );
}, 120_000);
