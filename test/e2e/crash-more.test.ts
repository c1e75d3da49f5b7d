/**
 * More of what dies: workers at the boundaries of tests, rollback, rebase and pick and in the middle of tests, the server in the middle of a
 * model call; runs that are reset; two steps that want one workspace. EMEND_LONG=1 runs the whole matrix, else a printed, seeded sample.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { resolveRun, type ResolvedRun } from '../../src/client/index.js';
import { findTemporalCli } from '../../src/temporal/cli-binary.js';
import { startDevServer, type DevServer } from '../../src/temporal/dev-server.js';
import { listLayers } from '../../src/workspace/layers/index.js';
import { found, whyNone } from '../support/box-users.js';
import { sampled } from '../support/seeded.js';
import { eventually, lockOf, pidsIn, withHandle } from './ends.js';
import { alive, isRunning } from '../support/alive.js';
import { testIf } from '../support/skipped.js';
import { numbered, portsOf, scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
let server: DevServer | null = null;
afterEach(async () => {
  await open?.close();
  await server?.stop();
  open = null;
  server = null;
});

const job = (text: string, ...keys: readonly string[]): string =>
  ['---', ...keys, '---', '# Raise it', '', text, ''].join('\n');
const rulesOf = (s: Scene) => s.rehearsal.requests().map(({ rule }) => rule);

/** One commit, the files as they should be, nothing of ours left lying about, nothing held. */
async function expectWholeEnd(s: Scene, files: Record<string, string>, commits = 1): Promise<void> {
  for (const [path, content] of Object.entries(files)) expect(s.read(path)).toBe(content);
  expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe(String(1 + commits));
  const left = s.git('status', '--porcelain', '--ignored').trim().split('\n');
  expect(left.filter((line) => !/^\?\? \w+\.md$/.test(line))).toEqual([]);
  expect(await lockOf(s)).toBeNull();
}

interface Boundary {
  readonly files: Record<string, string>;
  readonly rules: Parameters<typeof scene>[1];
  readonly job: string;
  /** What a person does up to the crash, and after it. */
  readonly lead: (s: Scene, run: ResolvedRun) => Promise<unknown>;
  readonly after: (s: Scene, run: ResolvedRun) => Promise<unknown>;
  readonly asked: readonly string[];
  readonly end: Record<string, string>;
}
const nobody = () => Promise.resolve();
const MERGED = numbered(40).replace('line 2\n', 'line two\n').replace('line 30\n', 'line thirty\n');
const ANSWERS = [
  {
    name: 'wrong',
    match: { contains: '- n.js', times: 1 },
    answer: whole({ 'n.js': 'module.exports = 2;\n' }),
  },
  {
    name: 'right',
    match: { contains: '- n.js' },
    answer: whole({ 'n.js': 'module.exports = 3;\n' }),
  },
];
const WANTS_THREE = [
  'target_files: [n.js]',
  'baseline: off',
  `test: node -e "require('assert').strictEqual(require('./n.js'), 3)"`,
  'commit: true',
  'approval: auto',
];
const CASES: Record<string, Boundary> = {
  // The tests, after the apply, refuse the first answer: it is rolled back, and the second one is committed.
  rollBack: {
    files: { 'n.js': 'module.exports = 1;\n' },
    rules: ANSWERS,
    job: job('Three, please.', 'sandbox: off', ...WANTS_THREE),
    lead: nobody,
    after: nobody,
    asked: ['wrong', 'right'],
    end: { 'n.js': 'module.exports = 3;\n' },
  },
  // The tests refuse the first answer before it is applied, and the second one is committed.
  runTests: {
    files: { 'n.js': 'module.exports = 1;\n' },
    rules: ANSWERS,
    job: job('Three, please.', ...WANTS_THREE),
    lead: nobody,
    after: nobody,
    asked: ['wrong', 'right'],
    end: { 'n.js': 'module.exports = 3;\n' },
  },
  // Somebody saves another line between proposal and approval: both changes are in the commit.
  rebaseProposal: {
    files: { 'n.txt': numbered(40) },
    rules: [
      {
        name: 'n',
        match: { contains: '- n.txt' },
        answer: whole({ 'n.txt': numbered(40).replace('line 30\n', 'line thirty\n') }),
      },
    ],
    job: job('Thirty in words, please.', 'target_files: [n.txt]', 'commit: true'),
    lead: async (s, run) => {
      await s.settle(run);
      s.write('n.txt', numbered(40).replace('line 2\n', 'line two\n'));
      s.git('commit', '-q', '-a', '-m', 'Two in words');
      await s.answer(run, 'approve');
      expect((await s.settle(run)).status.decision?.reason).toBe('conflict');
      await s.answer(run, 'rebase');
    },
    after: async (s, run) => {
      const paused = await eventually('the approval of the merged file', async () => {
        const { decision } = (await s.show(run)).status;
        return decision?.reason === 'approval' && decision;
      });
      await s.answer(run, 'approve', { decision: paused.id });
    },
    asked: ['n'],
    end: { 'n.txt': MERGED },
  },
  pickFiles: {
    files: { 'x.js': 'const x = 1;\n', 'y.js': 'const y = 1;\n' },
    rules: [
      {
        name: 'pick',
        match: { contains: 'Files of the project' },
        answer: '{"files": [{"path": "y.js", "why": "holds it"}]}\nEMEND-COMPLETE {{nonce}} 0 0\n',
      },
      { name: 'y', match: { contains: '- y.js' }, answer: whole({ 'y.js': 'const y = 2;\n' }) },
    ],
    job: job('The second constant shall be two.', 'commit: true', 'approval: auto'),
    lead: nobody,
    after: nobody,
    asked: ['pick', 'y'],
    end: { 'x.js': 'const x = 1;\n', 'y.js': 'const y = 2;\n' },
  },
};
const BOUNDARIES = Object.keys(CASES).flatMap((name) => [`${name}:before:1`, `${name}:after:1`]);

describe('SIGKILL at the rarer boundaries', () => {
  test.each(sampled('rarer boundaries', BOUNDARIES, 1))('%s', async (crash) => {
    const name = crash.split(':')[0]!;
    const { files, rules, job: text, lead, after, asked, end } = CASES[name]!;
    const s = (open = await scene(files, rules));
    const dying = await s.worker(crash);
    const run = await s.start('job.md', text);
    await lead(s, run);
    await dying.exited;
    expect(dying.fired()).toBe(true);
    await s.worker();
    await after(s, run);
    expect(await s.end(run)).toMatchObject({
      outcome: 'committed',
      files: [Object.keys(end).at(-1)],
    });
    await expectWholeEnd(s, end, name === 'rebaseProposal' ? 2 : 1);
    expect(rulesOf(s)).toEqual(asked);
    const types = (await s.events(run)).map(({ type }) => type);
    const count = (type: string): number => types.filter((each) => each === type).length;
    const rolledBack = name === 'rollBack' ? 1 : 0;
    expect([count('rolled_back'), count('applied')]).toEqual([rolledBack, rolledBack + 1]);
  });
});

const A = { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) };
/** The tests of these runs tell ids that the machine knows, in a file beside the workspace. */
const UNBOXED = 'sandbox: off\nbaseline: off';
const A_FILES = { 'a.js': 'const a = 1;\n' };
const A_END = { 'a.js': 'const a = 2;\n' };

test('SIGKILL in the middle of the tests: they die with the worker and run again', async () => {
  const s = (open = await scene(A_FILES, [A]));
  const pids = join(s.home, '..', 'pids');
  // Only the first run of it hangs.
  const command = `sleep 300 & echo $$ $! >> '${pids}'; [ $(wc -l < '${pids}') -gt 1 ] || wait; kill $!`;
  const dying = await s.worker();
  const run = await s.start(
    'job.md',
    job(
      'Two.',
      'target_files: [a.js]',
      UNBOXED,
      `test: ${JSON.stringify(command)}`,
      'commit: true',
      'approval: auto',
    ),
  );
  await s.until(() => pidsIn(pids).length === 2);
  await dying.kill('SIGKILL');
  await s.until(() => !pidsIn(pids).some(alive));
  await s.worker();
  expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
  expect(pidsIn(pids)).toHaveLength(4);
  await expectWholeEnd(s, A_END);
  expect(rulesOf(s)).toEqual(['a']);
});

testIf(found.works, whyNone)(
  'SIGKILL in the middle of tests on a layer: they die with the worker, and the next one removes the layer',
  async () => {
    const s = (open = await scene({ ...A_FILES, '.gitignore': 'hang\n' }, [A]));
    const hang = join(s.repo, 'hang');
    writeFileSync(hang, '');
    const seconds = `300.${process.pid}`;
    const command = `mkdir -m 000 locked; [ ! -e hang ] || sleep ${seconds}`;
    const dying = await s.worker();
    const keys = ['target_files: [a.js]', 'baseline: off', 'commit: true', 'approval: auto'];
    const run = await s.start('job.md', job('Two.', ...keys, `test: ${JSON.stringify(command)}`));
    await s.until(() => isRunning(`sleep ${seconds}`));
    await dying.kill('SIGKILL');
    await s.until(() => !isRunning(`sleep ${seconds}`));
    const dead = (await listLayers(s.home)).flatMap((layers) => layers.dead);
    expect(dead).toHaveLength(1);
    expect([s.read('a.js'), await lockOf(s)]).toEqual([A_FILES['a.js'], null]);
    rmSync(hang);
    await s.worker();
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
    await eventually('the layer is removed', async () => !existsSync(dead[0] ?? ''));
    await expectWholeEnd(s, A_END);
    const types = (await s.events(run)).map(({ type }) => type);
    expect(types.filter((type) => /^(?:verified|applied|rolled_back)$/.test(type))).toEqual([
      'verified',
      'applied',
    ]);
    expect(rulesOf(s)).toEqual(['a']);
  },
);

test('the server is killed and restarted in the middle of a model call: one payment, the same end', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'emend-server-'));
  try {
    const env = { ...process.env, EMEND_TEMPORAL_CLI: process.env.EMEND_TEST_CLI };
    const cli = await findTemporalCli({ env, log: () => undefined });
    const files = { dbFile: join(dir, 'temporal.db'), logFile: join(dir, 'server.log') };
    const options = { home: dir, cli, port: 0, ...files };
    const first = (server = await startDevServer(options));
    const held = { ...A, fault: { kind: 'hold' as const, after_bytes: 400 } };
    const s = (open = await scene(A_FILES, [held], { address: server.address }));
    await s.worker();
    const run = await s.start(
      'job.md',
      job('Two.', 'target_files: [a.js]', 'commit: true', 'approval: auto'),
    );
    await s.until(() => s.rehearsal.requests().some(({ state }) => state === 'held'));
    const { pid } = server;
    process.kill(pid, 'SIGKILL');
    await s.until(() => !alive(pid));
    server = await startDevServer({ ...options, ...portsOf(first) });
    s.rehearsal.release();
    expect(await s.end(run, 90)).toMatchObject({
      outcome: 'committed',
      usage: { calls: 1, unknownCalls: 0 },
    });
    await expectWholeEnd(s, A_END);
    expect(s.rehearsal.requests()).toMatchObject([{ rule: 'a', finished: true }]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

/** As the Temporal UI's Reset button does it: back to the first workflow task. The newest run of the id. */
const reset = (s: Scene, run: ResolvedRun): Promise<ResolvedRun> =>
  withHandle(s, run, async (handle, client) => {
    const { events } = await handle.fetchHistory();
    const first = events?.find((event) => event.workflowTaskCompletedEventAttributes != null);
    const { runId } = await handle.describe();
    const done = await client.workflowService.resetWorkflowExecution({
      namespace: s.emend.namespace,
      workflowExecution: { workflowId: run.live!.workflowId, runId },
      reason: 'test',
      requestId: `reset-${runId}`,
      workflowTaskFinishEventId: first!.eventId!,
    });
    expect(done.runId).not.toBe(runId);
    return resolveRun(s.emend, run.stepKey);
  });

describe('reset to the first workflow task', () => {
  test('of a paused run, and of the finished one: nothing is paid for, applied or committed twice', async () => {
    const s = (open = await scene(A_FILES, [A]));
    await s.worker();
    const run = await s.start(
      'job.md',
      job('Two.', 'target_files: [a.js]', 'commit: true', 'test: node --check a.js'),
    );
    const { decision } = (await s.settle(run)).status;

    const again = await reset(s, run);
    expect(again.live?.runId).not.toBe(run.live?.runId);
    expect((await s.settle(again)).status.decision?.id).toBe(decision?.id);
    await s.answer(again, 'approve');
    const first = await s.end(again);
    expect(first).toMatchObject({
      outcome: 'committed',
      verification: 'pass',
      usage: { calls: 1 },
    });
    await expectWholeEnd(s, A_END);
    const head = s.git('rev-parse', 'HEAD');

    const third = await reset(s, again);
    // The decision is asked for anew: the approval of the run before it is no part of this one.
    expect((await s.settle(third)).status.decision?.id).toBe(decision?.id);
    await s.answer(third, 'approve');
    expect(await s.end(third)).toMatchObject({
      outcome: 'committed',
      commit: head.trim(),
      usage: { calls: 1 },
    });
    expect(s.git('rev-parse', 'HEAD')).toBe(head);
    await expectWholeEnd(s, A_END);
    expect(rulesOf(s)).toEqual(['a']);
  });
});

test('two steps on one workspace, each with tests that fail when they see the other: one after the other, both right', async () => {
  const s = (open = await scene(
    { 'a.js': 'module.exports = 1;\n', 'b.js': 'module.exports = 1;\n' },
    ['a', 'b'].map((x) => ({
      name: x,
      match: { contains: `- ${x}.js` },
      answer: whole({ [`${x}.js`]: 'module.exports = 2;\n' }),
    })),
  ));
  await s.worker();
  const pids = join(s.home, '..', 'pids');
  // The tests of one hold the workspace until the other has met it; neither may see the other's file changed but not committed.
  const step = (x: string, other: string): Promise<ResolvedRun> => {
    const alone = `git diff --quiet HEAD -- ${other}.js`;
    const command = `${alone} && echo $$ >> '${pids}' && while [ ! -e '${pids}-go' ]; do sleep 0.1; done && ${alone}`;
    return s.start(
      `${x}.md`,
      job(
        'Two.',
        `target_files: [${x}.js]`,
        UNBOXED,
        `test: ${JSON.stringify(command)}`,
        'commit: true',
        'approval: auto',
      ),
    );
  };
  const runs = [await step('a', 'b'), await step('b', 'a')];
  await eventually('one of them waiting for the other', async () => {
    const seen = await Promise.all(runs.map((run) => s.events(run)));
    return seen.flat().some(({ type }) => type === 'apply_busy');
  });
  await s.until(() => pidsIn(pids).length === 1);
  writeFileSync(`${pids}-go`, '');
  // The second one's base commit has moved on by then; its own file has not.
  for (const run of runs)
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
  await expectWholeEnd(s, { 'a.js': 'module.exports = 2;\n', 'b.js': 'module.exports = 2;\n' }, 2);
  expect(pidsIn(pids)).toHaveLength(2);
  expect([...rulesOf(s)].sort()).toEqual(['a', 'b']);
});
