/** Temporal actions a step, and of a terminal that watches a run which does not change. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { decide, resolveRun, startStep } from '../../dist/src/client/index.js';
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

const measure = async (stage) => {
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
  const plain = await job('plain', settings(1, { ...PLAIN, approval: 'ask' }));
  seen.plain = await counted(() => approveUnseen(stage, plain));
  return {
    ...seen,
    watched: await watched(
      stage,
      repo,
      await job('watch', settings(1, { ...PLAIN, approval: 'ask' })),
    ),
  };
};

const until = async (what, look) => {
  for (const end = Date.now() + LIMIT_MS; Date.now() < end; await sleep(200)) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`${what} did not come within ${LIMIT_MS} ms`);
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
const approveUnseen = async (stage, job) => {
  const { emend } = stage;
  const { stepKey, handle } = await start(stage, job);
  const decision = await until('the pause', async () => {
    const entries = await emend.archive.read(stepKey);
    return entries.find(({ data }) => data.type === 'edit_step_paused')?.data.decision;
  });
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

const byType = (counts) => {
  const types = Object.entries(counts).sort((a, b) => b[1] - a[1]);
  return types.length === 0
    ? '0'
    : `${sumOf(counts)}: ${types.map(([type, n]) => `${type} ${n}`).join(', ')}`;
};

const rowsOf = ({ full, fullFollowed, unasked, plain, two, four, watched: onlooker }) => {
  const perFile = (sumOf(four) - sumOf(two)) / 2;
  return [
    row('one file, reviewed, with tests and commit', byType(full), sumOf(full), { atMost: 10 }),
    row('the same with `baseline: off`', byType(unasked), sumOf(unasked), { atMost: 10 }),
    row('one file, reviewed, without tests and commit', byType(plain), sumOf(plain), {
      atMost: 8,
    }),
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
