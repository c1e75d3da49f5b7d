/**
 * Workspaces that ended runs hold: taken over by the next step where nothing of them is applied, else shown to it with what a person can
 * do; and found by a worker's start, by `emend list` and by `emend recover`. Real server, real workers, runs really terminated.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import { createLocks } from '../../src/workspace/apply/lock.js';
import { closedOf, emendCommand, eventually, lockOf, pidsIn, withHandle } from './ends.js';
import { alive } from '../support/alive.js';
import { printedFaults } from '../support/json-schema.js';
import { testIf } from '../support/skipped.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const BEFORE = 'const a = 1;\n';
const AFTER = 'const a = 2;\n';
const FILES = { 'a.js': BEFORE, 'b.js': BEFORE };
const RULES = [
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': AFTER }) },
  { name: 'b', match: { contains: '- b.js' }, answer: whole({ 'b.js': AFTER }) },
];
const job = (file: string, ...keys: readonly string[]): string =>
  ['---', `target_files: [${file}]`, ...keys, '---', '# Raise it', '', 'Two, please.', ''].join(
    '\n',
  );

const terminate = async (s: Scene, run: ResolvedRun): Promise<void> => {
  await withHandle(s, run, (handle) => handle.terminate('enough'));
  expect(await closedOf(s, run)).toMatchObject({ status: 'TERMINATED', result: null });
};

/** A terminated run that holds the workspace and has applied nothing under its lock. */
const emptyHold = async (s: Scene): Promise<ResolvedRun> => {
  const run = await s.start('first.md', job('a.js'));
  await s.settle(run);
  const holder = { workflowId: run.live!.workflowId, namespace: s.emend.namespace };
  await createLocks({ home: s.home }).take(s.repo, run.stepKey, holder);
  await terminate(s, run);
  return run;
};

describe('nothing applied under the lock of a terminated run', () => {
  test.each([
    ['it applies', []],
    ['its base is tested', ['test: test -f a.js', 'sandbox: off']],
  ])('the next step takes it over by itself: where %s', async (_, front) => {
    const s = (open = await scene(FILES, RULES));
    await s.worker();
    await emptyHold(s);
    const next = await s.start('next.md', job('b.js', 'approval: auto', 'commit: true', ...front));
    expect(await s.end(next)).toMatchObject({ outcome: 'committed', files: ['b.js'] });
    expect((await s.events(next)).map(({ type }) => type)).not.toContain('apply_busy');
    expect([s.read('a.js'), s.read('b.js'), await lockOf(s)]).toEqual([BEFORE, AFTER, null]);
  });

  test("a worker's start and `emend list` free the workspace", async () => {
    const s = (open = await scene(FILES, RULES));
    const first = await s.worker();
    await emptyHold(s);
    await first.kill();
    await s.worker();
    await eventually('the release by the worker', async () => (await lockOf(s)) === null);

    const again = await emptyHold(s);
    const listed = await emendCommand(s, 'list');
    expect(listed.err).toContain(
      `${again.stepKey.slice(0, 8)}  has ended (terminated) and had locked ${s.repo}, which is now unlocked`,
    );
    expect(listed.out).toMatch(
      new RegExp(`${again.stepKey.slice(0, 8)} .*terminated, nothing applied`),
    );
    expect(await lockOf(s)).toBeNull();
  });
});

testIf(process.env.EMEND_BWRAP !== undefined, 'there is no sandbox here')(
  'on an overlay the base and the proposal are tested while another step holds the workspace; only the apply waits',
  async () => {
    const s = (open = await scene(FILES, RULES));
    await s.worker();
    const first = await s.start('first.md', job('a.js'));
    await s.settle(first);
    const locks = createLocks({ home: s.home });
    const holder = { workflowId: first.live!.workflowId, namespace: s.emend.namespace };
    await locks.take(s.repo, first.stepKey, holder);
    const next = await s.start(
      'next.md',
      job('b.js', 'approval: auto', 'commit: true', 'test: test -f a.js'),
    );
    const typesNow = async (): Promise<readonly string[]> => {
      const order = ['base_tested', 'verified', 'apply_busy', 'applied', 'committed'];
      const all = (await s.events(next)).map(({ type }) => type);
      return all.filter((type) => order.includes(type));
    };
    await eventually('the wait', async () => (await typesNow()).includes('apply_busy'));
    expect(await typesNow()).toEqual(['base_tested', 'verified', 'apply_busy']);
    expect((await lockOf(s))?.stepKey).toBe(first.stepKey);
    await locks.release(s.repo, first.stepKey);
    expect(await s.end(next)).toMatchObject({ outcome: 'committed', files: ['b.js'] });
    expect(await typesNow()).toEqual([
      ...['base_tested', 'verified', 'apply_busy'],
      ...['applied', 'committed'],
    ]);
  },
);

test('files of a terminated run: the next step waits and says for whom and what to type, list offers the undo, then it goes on', async () => {
  const s = (open = await scene(FILES, RULES));
  await s.worker();
  const pids = join(s.home, '..', 'pids');
  const sleeper = `test: ${JSON.stringify(`sleep 300 & echo $$ $! >> '${pids}'; wait`)}`;
  const first = await s.start(
    'first.md',
    job('a.js', 'approval: auto', 'commit: true', 'sandbox: off', 'baseline: off', sleeper),
  );
  await s.until(() => pidsIn(pids).length === 2);
  const id = first.stepKey.slice(0, 8);
  await terminate(s, first);
  await s.until(() => !pidsIn(pids).some(alive));

  // Its base is to be tested first: that cannot be while they stand there, and is no other wait.
  const next = await s.start(
    'next.md',
    job('b.js', 'approval: auto', 'commit: true', 'test: test -f a.js', 'sandbox: off'),
  );
  const advice = `run ${id} has ended (terminated) with 1 file applied but not committed: \`emend recover --undo ${id}\``;
  const said = await eventually('the advice', async () => {
    const { status } = await s.show(next);
    return status.doing.includes('emend recover') ? status.doing : null;
  });
  expect(said).toContain(advice);
  expect((await s.events(next)).filter(({ type }) => type === 'apply_busy')).toMatchObject([
    { holder: id, advice: expect.stringContaining(advice) },
  ]);

  const listed = await emendCommand(s, 'list');
  expect(listed.out).toContain(`${id}  has ended (terminated) and still locks ${s.repo}.`);
  expect(listed.out).toContain('  applied: 1 file: a.js');
  expect(listed.out).toContain(`  emend recover --undo ${id}   restores its files`);
  expect((await lockOf(s))?.stepKey).toBe(first.stepKey);

  const undo = ['recover', '--undo', id, '--json'];
  const recovery = await emendCommand(s, ...undo);
  expect(recovery).toMatchObject({ code: 0 });
  expect(printedFaults(undo, recovery.out)).toEqual([]);
  expect(JSON.parse(recovery.out)).toMatchObject({
    stepKey: first.stepKey,
    files: ['a.js'],
    leftAlone: [],
  });
  expect(await s.end(next)).toMatchObject({ outcome: 'committed', files: ['b.js'] });
  expect([s.read('a.js'), s.read('b.js'), await lockOf(s)]).toEqual([BEFORE, AFTER, null]);
});

test('an apply whose run was terminated before it began is not begun, once its worker has heard of it', async () => {
  const s = (open = await scene(FILES, RULES));
  const holding = await s.worker('applyProposal:hold-before:1');
  const run = await s.start('first.md', job('a.js', 'approval: auto', 'commit: true'));
  await s.until(() => holding.fired());
  await terminate(s, run);
  const next = await s.start('next.md', job('a.js', 'approval: auto', 'commit: true'));
  expect(await s.end(next)).toMatchObject({ outcome: 'committed' });
  s.write('a.js', BEFORE);
  await s.until(() => existsSync(`${holding.mark}-cancelled`));
  holding.go();
  await holding.kill('SIGTERM');
  expect([s.read('a.js'), await lockOf(s)]).toEqual([BEFORE, null]);
});

test('killed between the last file and the notice, then terminated: the workspace tells what the archive never heard', async () => {
  const s = (open = await scene(FILES, RULES));
  const dying = await s.worker('applyProposal:after:1');
  const run = await s.start('first.md', job('a.js', 'approval: auto', 'commit: true'));
  await dying.exited;
  expect(dying.fired()).toBe(true);
  await terminate(s, run);
  const id = run.stepKey.slice(0, 8);
  const shown = await emendCommand(s, 'show', id);
  expect(shown.out).toContain(`terminated, 1 file applied (emend recover --undo ${id}): a.js`);
  expect(await emendCommand(s, 'recover', '--undo', id)).toMatchObject({ code: 0 });
  expect([s.read('a.js'), await lockOf(s)]).toEqual([BEFORE, null]);
  expect((await emendCommand(s, 'show', id)).out).toContain('terminated, nothing applied (');
});
