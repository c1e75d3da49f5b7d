/**
 * A laptop's lid: server, worker and model stand still together for longer than every time-out, and go on. Nobody is asked, whatever they
 * were at. The server is one of its own; the model holds its answer, as one that stands still does.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { runEvents, type ResolvedRun } from '../../src/client/index.js';
import { startDevServer, type DevServer } from '../../src/temporal/dev-server.js';
import { findTemporalCli } from '../../src/temporal/cli-binary.js';
import { buildWorker, endBuildWorkers } from './builds.js';
import { check } from './check-history.js';
import { scene, whole, type Scene } from './support.js';

const SHORT = {
  EMEND_HOSTACTIVITYTIMEOUT_MS: '3000',
  EMEND_MODELCALLTIMEOUT_MS: '3000',
  EMEND_MODELCALLTOTAL_MS: '4000',
  EMEND_SCHEDULETOSTART_MS: '2000',
  EMEND_STREAMIDLE_MS: '2000',
};
/** Longer than each of them. */
const SLEEP_MS = 8_000;

let dir: string;
let server: DevServer;
let open: Scene | null = null;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'emend sleep '));
  const cli = await findTemporalCli({ env: process.env, log: () => undefined });
  server = await startDevServer({
    home: dir,
    cli,
    port: 0,
    dbFile: null,
    logFile: join(dir, 'server.log'),
  });
}, 60_000);
afterEach(async () => {
  await endBuildWorkers();
  await open?.close();
  open = null;
});
afterAll(async () => {
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

const sceneHere = async (
  rules: Parameters<typeof scene>[1],
  env: Record<string, string> = {},
): Promise<Scene> =>
  (open = await scene({ 'a.js': 'const a = 1;\n' }, rules, {
    address: server.address,
    env: { ...SHORT, ...env },
  }));
/** The launcher of a worker (src/system/launcher.ts), which sleeps with it. */
const launcherOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number);
const standStill = async (pids: readonly number[], sleep_ms = SLEEP_MS): Promise<void> => {
  const asleep = [server.pid, ...pids, ...pids.flatMap(launcherOf)];
  for (const pid of asleep) process.kill(pid, 'SIGSTOP');
  await sleep(sleep_ms);
  for (const pid of asleep) process.kill(pid, 'SIGCONT');
};
const GOOD = {
  name: 'a',
  match: { contains: '- a.js' },
  answer: whole({ 'a.js': 'const a = 2;\n' }),
};
/** Tests that take a second in which they run. */
const TICKS =
  "require('fs').appendFileSync('.git/begun', process.pid + ' '); let n = 0; setInterval(() => ++n === 10 && process.exit(), 100)";
const job = (...keys: string[]): string =>
  [
    '---',
    'target_files: [a.js]',
    'commit: true',
    'approval: auto',
    ...keys,
    '---',
    '# Raise',
    '',
    'Raise it.',
    '',
  ].join('\n');
const expectNobodyAsked = async (s: Scene, run: ResolvedRun): Promise<void> => {
  expect((await runEvents(s.emend, run)).filter(({ type }) => type === 'edit_step_paused')).toEqual(
    [],
  );
  expect(s.read('a.js')).toBe('const a = 2;\n');
  await check(s, run.live!.workflowId, 'edit-step-committed-after-sleep');
};

test('in the middle of a model call, three times: each call is counted, none against maxUnknownCalls', async () => {
  const held = (n: number) => ({
    ...GOOD,
    name: `held ${n}`,
    match: { contains: '- a.js', times: 1 },
    fault: { kind: 'hold' as const, after_bytes: 400 },
  });
  const s = await sceneHere([held(1), held(2), held(3), GOOD]);
  const worker = await s.worker();
  const run = await s.start('job.md', job());
  for (const n of [1, 2, 3]) {
    await s.until(() => s.rehearsal.requests().some(({ rule }) => rule === `held ${n}`));
    await standStill([worker.pid]);
  }
  expect(await s.end(run)).toMatchObject({
    outcome: 'committed',
    usage: { calls: 4, unknownCalls: 3 },
  });
  expect(s.rehearsal.requests().map(({ rule }) => rule)).toEqual([
    'held 1',
    'held 2',
    'held 3',
    'a',
  ]);
  await expectNobodyAsked(s, run);
}, 120_000);

test('while its tests run: their time limit counts the time in which they could run', async () => {
  // The attempt itself is not given up.
  const s = await sceneHere([GOOD], {
    EMEND_HOSTHEARTBEATTIMEOUT_MS: '60000',
    EMEND_COMMANDHEARTBEATTIMEOUT_MS: '60000',
    EMEND_HOSTACTIVITYTIMEOUT_MS: '60000',
  });
  const worker = await s.worker();
  // What it writes beside the workspace's files, and the id that it tells, want no sandbox.
  const keys = [
    'sandbox: off',
    'baseline: off',
    `test: node -e "${TICKS}"`,
    'limits: { testTimeout_s: 3 }',
  ];
  const run = await s.start('job.md', job(...keys));
  const begun = join(s.repo, '.git', 'begun');
  await s.until(() => existsSync(begun));
  await standStill([worker.pid, Number(readFileSync(begun, 'utf8'))]);
  expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
  // A time-out would have been taken for passing trouble, and the tests run once more.
  expect(readFileSync(begun, 'utf8').trim().split(' ')).toHaveLength(1);
  await expectNobodyAsked(s, run);
}, 60_000);

test('while an activity waits for its host: the time-out that fired late says nothing of the host', async () => {
  // Asked for anew, it waits as long again for a worker that is only just started.
  const s = await sceneHere([GOOD], { EMEND_SCHEDULETOSTART_MS: '12000' });
  const flow = await buildWorker(s, { parts: 'workflows' });
  const run = await s.start('job.md', job());
  while ((await s.show(run)).status.stage === 'begin') await sleep(100);
  await standStill([flow.pid], 2 * 12_000);
  await buildWorker(s, { parts: 'activities' });
  expect(await s.end(run, 100)).toMatchObject({ outcome: 'committed' });
  await expectNobodyAsked(s, run);
}, 150_000);
