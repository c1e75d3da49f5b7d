/** Temporal actions a step, and of a terminal that watches a run which does not change. */
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { decide, resolveRun, startStep } from '../../dist/src/client/index.js';
import { commandQueueOf } from '../../dist/src/shared/names.js';
import { findTemporalCli } from '../../dist/src/temporal/cli-binary.js';
import { actionsBetween, sumOf } from '../actions.js';
import { row } from '../numbers.js';
import { appendAnswer, jobText, ruleFor, runStep, writeJob } from '../runs.js';

const FILES = ['action-1.txt', 'action-2.txt', 'action-3.txt', 'action-4.txt'];
const LINES = 40;
const WATCHED_MS = 15_000;
const LIMIT_MS = 60_000;
const rules = () => FILES.map((path) => ruleFor(path, appendAnswer(path)));

const settings = (files, more) => ({
  target_files: FILES.slice(0, files),
  format: 'structured-edit',
  ...more,
});
const PLAIN = { commit: false, test: false };
const FULL = { commit: true, test: 'exit 0' };

const measure = async (stage, { testMinutes }) => {
  const content = 'a line that stays as it is\n'.repeat(LINES);
  const repo = await stage.repository(
    'actions',
    Object.fromEntries(FILES.map((path) => [path, content])),
  );
  let last = await stage.actions();
  /** The actions since the last count. */
  const counted = async (work) => {
    await work();
    const now = await stage.actions();
    const between = actionsBetween(last, now);
    last = now;
    return between;
  };
  const job = (name, shape) => writeJob(repo, `${name}.md`, jobText(shape));
  const full = await job('full', settings(1, { ...FULL, approval: 'ask' }));
  const seen = {
    full: await counted(() => approveUnseen(stage, full)),
    fullFollowed: await counted(() => runStep(stage, full, 'committed')),
  };
  for (const [name, files] of [
    ['two', 2],
    ['four', 4],
  ]) {
    const many = await job(name, settings(files, { ...FULL, approval: 'auto' }));
    seen[name] = await counted(() => runUnseen(stage, many, 'committed'));
  }
  const unasked = await job('unasked', settings(1, { ...FULL, approval: 'ask', baseline: 'off' }));
  seen.unasked = await counted(() => approveUnseen(stage, unasked));
  const minutes = { ...FULL, test: `sleep ${testMinutes * 60}`, approval: 'ask' };
  const long = await job('long', settings(1, { ...minutes, limits: { testTimeout_s: 3600 } }));
  seen.long = await counted(() => approveUnseen(stage, long, 2 * testMinutes * 60_000 + LIMIT_MS));
  // It leaves a change without a commit, so the jobs with one come before it.
  const plain = await job('plain', settings(1, { ...PLAIN, approval: 'ask' }));
  seen.plain = await counted(() => approveUnseen(stage, plain));
  return {
    ...seen,
    testMinutes,
    waiting: await waiting(stage, repo),
    watched: await watched(
      stage,
      repo,
      await job('watch', settings(1, { ...PLAIN, approval: 'ask' })),
    ),
  };
};

const until = async (what, look, limit_ms = LIMIT_MS) => {
  for (const end = Date.now() + limit_ms; Date.now() < end; await sleep(200)) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`${what} did not come within ${limit_ms} ms`);
};

const start = async ({ emend, client }, job) => {
  const { stepKey, workflowId, runId } = await startStep(emend, { job });
  return { stepKey, handle: client.workflow.getHandle(workflowId, runId) };
};

/** Nobody looks at the run meanwhile: its result is waited for on the history, which is no action. */
const runUnseen = async (stage, job, expected) => {
  const { outcome } = await (await start(stage, job)).handle.result();
  if (outcome !== expected) throw new Error(`ended ${outcome}`);
};

/** As somebody who was sent the decision's id: the archive on disk says it. */
const approveUnseen = async (stage, job, limit_ms = LIMIT_MS) => {
  const { emend } = stage;
  const { stepKey, handle } = await start(stage, job);
  const paused = async () => {
    const entries = await emend.archive.read(stepKey);
    return entries.find(({ data }) => data.type === 'edit_step_paused')?.data.decision;
  };
  const decision = await until('the pause', paused, limit_ms);
  const run = await resolveRun(emend, stepKey);
  await decide(emend, run, { answer: 'approve', decision, by: { name: 'bench', from: 'api' } });
  await handle.result();
};

/** `emend run --wait` in a process of its own, at a run that waits: what it costs to look on. */
const watched = async (stage, repo, job) => {
  const { handle } = await start(stage, job);
  const cli = fileURLToPath(new URL('../../dist/client.js', import.meta.url));
  const args = [cli, 'run', join(repo, job.jobPath), '--wait', '--workspace', repo];
  const child = spawn(process.execPath, args, {
    env: stage.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let said = '';
    child.stdout.on('data', (bytes) => (said += bytes));
    await until('the decision on the terminal', () => said.includes('approve'));
    const before = await stage.actions();
    await sleep(WATCHED_MS);
    const between = actionsBetween(before, await stage.actions());
    if (child.exitCode !== null) throw new Error(`emend run ended: ${said}`);
    return between;
  } finally {
    const gone = once(child, 'exit');
    child.kill('SIGINT');
    await gone;
    await handle.signal('abort');
    await handle.result();
  }
};

const COMMANDS = 500;
const WAIT_MS = 15_000;

/**
 * Five hundred runs of the tests on a host whose slots are taken: what they cost while they wait, and what `temporal` says of their queue.
 * The first ones take the slots, for longer than is measured.
 */
const waiting = async ({ emend, client, baselineQueue, actions }, workspace) => {
  const taskQueue = commandQueueOf(emend.queues.host);
  const input = {
    v: 2,
    stepKey: randomUUID().replaceAll('-', ''),
    log: [],
    workspace,
    on: { kind: 'workspace' },
    commands: ['sleep 300'],
    timeout_s: 600,
    maxOutput_bytes: 1000,
  };
  const args = [{ taskQueue, count: COMMANDS, activity: 'runTests', input }];
  const workflowId = `waiting-${randomUUID()}`;
  const begin = { taskQueue: baselineQueue, workflowId, args };
  const handle = await client.workflow.start('waitingCommands', begin);
  const cli = await findTemporalCli({ env: process.env });
  const describe = ['task-queue', 'describe', '--task-queue', taskQueue];
  const options = ['--task-queue-type', 'activity', '--address', emend.address, '-o', 'json'];
  const backlog = async () => {
    const { stdout } = await promisify(execFile)(cli.path, [...describe, ...options]);
    return Number(/"approximateBacklogCount": "?(\d+)/.exec(stdout)?.[1] ?? 0);
  };
  try {
    await until('the backlog', async () => (await backlog()) >= COMMANDS - availableParallelism());
    const before = await actions();
    await sleep(WAIT_MS);
    const between = actionsBetween(before, await actions());
    return { between, backlog: await backlog() };
  } finally {
    await handle.terminate();
  }
};

const byType = (counts) => {
  const types = Object.entries(counts).sort((a, b) => b[1] - a[1]);
  return types.length === 0
    ? '0'
    : `${sumOf(counts)}: ${types.map(([type, n]) => `${type} ${n}`).join(', ')}`;
};

/** Of the server's counter, whatever it calls them. */
const heartbeatsOf = (counts) =>
  sumOf(Object.fromEntries(Object.entries(counts).filter(([type]) => /heartbeat/i.test(type))));
const LONG_MINUTES = 10;

const rowsOf = ({ full, fullFollowed, unasked, plain, two, four, watched: onlooker, ...more }) => {
  const { long, testMinutes, waiting: queue } = more;
  const heartbeats = heartbeatsOf(long);
  const ofLong = Math.round(sumOf(long) - heartbeats + (heartbeats * LONG_MINUTES) / testMinutes);
  const perFile = (sumOf(four) - sumOf(two)) / 2;
  return [
    row('one file, reviewed, with tests and commit', byType(full), sumOf(full), { atMost: 12 }),
    row('the same with `baseline: off`', byType(unasked), sumOf(unasked), { atMost: 12 }),
    row('one file, reviewed, without tests and commit', byType(plain), sumOf(plain), {
      atMost: 10,
    }),
    row(
      `the first with two test runs of ${testMinutes} min each`,
      `${byType(long)}; ${heartbeats} heartbeats, ${heartbeats / (2 * testMinutes)} for each minute of tests`,
    ),
    row(
      `the same with two test runs of ${LONG_MINUTES} min${testMinutes === LONG_MINUTES ? '' : ', by the heartbeats a minute'}`,
      String(ofLong),
      ofLong,
      { atMost: 60 },
    ),
    row(
      `${COMMANDS} commands without a slot, ${WAIT_MS / 1000} s: heartbeats beyond those of the ${availableParallelism()} that run`,
      `${byType(queue.between)}; backlog by \`temporal task-queue describe\`: ${queue.backlog}`,
      heartbeatsOf(queue.between),
      { atMost: availableParallelism() },
    ),
    row('per further file (from 2 to 4)', String(perFile), perFile, { atMost: 1 }),
    row(
      `a terminal (emend run --wait) at an unchanged run, ${WATCHED_MS / 1000} s`,
      byType(onlooker),
      sumOf(onlooker),
      { atMost: 0 },
    ),
    row(
      'the first again, followed to its pause and its end by a client (queries are its)',
      byType(fullFollowed),
    ),
  ];
};

export const actions = { title: 'Temporal actions', rules, measure, rowsOf };
