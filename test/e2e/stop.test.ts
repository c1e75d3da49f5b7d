/** Steps that are stopped: cancelled from Temporal, aborted, terminated; and workers that are asked to stop. Real processes throughout. */
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import { closedOf, emendCommand, eventually, lockOf, pidsIn, withHandle } from './ends.js';
import { alive, isRunning } from '../support/alive.js';
import { testIf } from '../support/skipped.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const BEFORE = 'const a = 1;\n';
const AFTER = 'const a = 2;\n';
const EDIT = { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': AFTER }) };
const OTHER = { name: 'b', match: { contains: '- b.js' }, answer: whole({ 'b.js': AFTER }) };
const HELD = {
  ...EDIT,
  name: 'a-held',
  match: { contains: 'Take your time' },
  fault: { kind: 'hold' as const, after_bytes: 400 },
};
const job = (title: string, ...keys: readonly string[]): string =>
  ['---', 'target_files: [a.js]', ...keys, '---', `# ${title}`, '', 'Two, please.', ''].join('\n');
/** A test command that notes the ids of its shell and of a grandchild, and goes on until `go` exists. */
const sleeper = (pids: string, go: string): string =>
  `sleep 300 & echo $$ $! >> '${pids}'; while [ ! -e '${go}' ]; do sleep 0.1; done; kill $!`;
/** Ids that the machine knows, in a file beside the workspace, want no sandbox. */
const testedBy = (command: string): string =>
  `sandbox: off\nbaseline: off\ntest: ${JSON.stringify(command)}`;
const held = (s: Scene) =>
  s.rehearsal.requests().some(({ rule, state }) => rule === 'a-held' && state === 'held');

const STOPS = {
  'cancel from Temporal': {
    live: (s: Scene, run: ResolvedRun) => withHandle(s, run, (handle) => handle.cancel()),
    unattended: (s: Scene, run: ResolvedRun) => withHandle(s, run, (handle) => handle.cancel()),
    end: { status: 'CANCELLED', result: null },
  },
  abort: {
    live: (s: Scene, run: ResolvedRun) => s.answer(run, 'abort'),
    unattended: (s: Scene, run: ResolvedRun) =>
      withHandle(s, run, (handle) => handle.signal('abort')),
    end: { status: 'COMPLETED', result: { outcome: 'aborted', files: [], commit: null } },
  },
} as const;

/** Nothing applied, nothing committed, nothing held. */
async function expectUntouched(s: Scene): Promise<void> {
  expect(s.read('a.js')).toBe(BEFORE);
  expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('1');
  expect(await lockOf(s)).toBeNull();
  const left = s.git('status', '--porcelain', '--ignored').trim().split('\n');
  expect(left.filter((line) => !/^\?\? \w+\.md$/.test(line))).toEqual([]);
}

test('a worker with an activity that does not listen ends all the same, and the next one takes its work over', async () => {
  const s = (open = await scene({ 'a.js': BEFORE }, [EDIT]));
  const deaf = await s.worker('buildProposal:mute-before:1', { EMEND_SHUTDOWNGRACE_MS: '500' });
  const run = await s.start('job.md', job('Raise it', 'approval: auto', 'commit: true'));
  await s.until(() => deaf.fired());
  deaf.child.kill('SIGTERM');
  // Grace time, the time for those that do not listen, the end; then it has said why and is gone.
  await s.until(() => deaf.child.exitCode !== null || deaf.child.signalCode !== null);
  expect([deaf.child.exitCode, deaf.child.signalCode]).toEqual([1, null]);
  expect(deaf.said()).toContain('worker_stuck');
  await s.worker();
  expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
}, 120_000);

describe.each(['cancel from Temporal', 'abort'] as const)('%s', (how) => {
  const stop = STOPS[how];

  test('while paused, in a model call, during verify: nothing stays, calls and tests are really stopped', async () => {
    const s = (open = await scene({ 'a.js': BEFORE, 'b.js': BEFORE }, [HELD, EDIT, OTHER]));
    await s.worker();

    const paused = await s.start('paused.md', job('Raise it'));
    expect((await s.settle(paused)).status.decision?.reason).toBe('approval');
    await stop.live(s, paused);
    expect(await closedOf(s, paused)).toMatchObject(stop.end);
    await expectUntouched(s);

    const calling = await s.start('calling.md', job('Take your time'));
    await s.until(() => held(s));
    await stop.live(s, calling);
    expect(await closedOf(s, calling)).toMatchObject(stop.end);
    await s.until(
      () => s.rehearsal.requests().find(({ rule }) => rule === 'a-held')?.state === 'cut',
    );
    await expectUntouched(s);

    const pids = join(s.home, '..', 'pids');
    const testing = await s.start(
      'testing.md',
      job('Raise it', 'approval: auto', 'commit: true', testedBy(sleeper(pids, `${pids}-go`))),
    );
    await s.until(() => pidsIn(pids).length === 2);
    expect(s.read('a.js')).toBe(AFTER);
    // A second step waits for the workspace meanwhile: stopping it leaves the first one's files and lock alone.
    const waiting = await s.start(
      'waiting.md',
      job('Raise it', 'approval: auto').replace('a.js', 'b.js'),
    );
    await eventually('the wait for the workspace', async () =>
      (await s.events(waiting)).some(({ type }) => type === 'apply_busy'),
    );
    await stop.live(s, waiting);
    expect(await closedOf(s, waiting)).toMatchObject(stop.end);
    expect((await lockOf(s))?.stepKey).toBe(testing.stepKey);

    await stop.live(s, testing);
    expect(await closedOf(s, testing)).toMatchObject(stop.end);
    await eventually('the end of the tests', () => Promise.resolve(!pidsIn(pids).some(alive)));
    await expectUntouched(s);
    const said = (await s.events(testing)).map(({ type }) => type);
    expect(said).toContain('rolled_back');
    // Tests that were stopped have not failed, and have not passed.
    expect(said).not.toContain('verified');
    expect(s.rehearsal.requests().map(({ rule }) => rule)).toEqual(['a', 'a-held', 'a', 'b']);
  });

  testIf(process.env.EMEND_BWRAP !== undefined, 'there is no sandbox here')(
    'during the tests of a proposal: nothing was applied, nobody was kept waiting, and they are really stopped',
    async () => {
      const s = (open = await scene({ 'a.js': BEFORE, 'b.js': BEFORE }, [EDIT, OTHER]));
      await s.worker();
      const seconds = `300.${process.pid}${Date.now()}`;
      const command = `echo x > built; echo x >> a.js; sleep ${seconds}`;
      const testing = await s.start(
        'testing.md',
        job('Raise it', 'approval: auto', 'commit: true', 'baseline: off', `test: ${command}`),
      );
      await s.until(() => isRunning(seconds));
      await expectUntouched(s);
      // Another step does not wait for the workspace, which is not locked.
      const other = await s.start(
        'other.md',
        job('Raise it', 'approval: auto', 'commit: true').replace('a.js', 'b.js'),
      );
      expect(await s.end(other)).toMatchObject({ outcome: 'committed' });
      expect(isRunning(seconds)).toBe(true);
      expect((await s.events(other)).map(({ type }) => type)).not.toContain('apply_busy');

      await stop.live(s, testing);
      expect(await closedOf(s, testing)).toMatchObject(stop.end);
      await eventually('the end of the tests', () => Promise.resolve(!isRunning(seconds)));
      expect([s.read('a.js'), existsSync(join(s.repo, 'built')), await lockOf(s)]).toEqual([
        BEFORE,
        false,
        null,
      ]);
      expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('2');
      const types = (await s.events(testing)).map(({ type }) => type);
      expect(types.filter((type) => ['applied', 'rolled_back', 'verified'].includes(type))).toEqual(
        [],
      );
    },
  );

  test('while files are being written: they are written to the end, then put back', async () => {
    const s = (open = await scene({ 'a.js': BEFORE }, [EDIT]));
    const dying = await s.worker('applyProposal:after:1');
    const run = await s.start('job.md', job('Raise it', 'approval: auto', 'commit: true'));
    await dying.exited;
    expect(dying.fired()).toBe(true);
    expect(s.read('a.js')).toBe(AFTER);
    await stop.unattended(s, run);
    await s.worker();
    expect(await closedOf(s, run)).toMatchObject(stop.end);
    await expectUntouched(s);
  });

  test('while the commit is being made: it comes too late', async () => {
    const s = (open = await scene({ 'a.js': BEFORE }, [EDIT]));
    const dying = await s.worker('commit:before:1');
    const run = await s.start('job.md', job('Raise it', 'approval: auto', 'commit: true'));
    await dying.exited;
    expect(dying.fired()).toBe(true);
    await stop.unattended(s, run);
    await s.worker();
    expect(await closedOf(s, run)).toMatchObject({
      status: 'COMPLETED',
      result: { outcome: 'committed' },
    });
    expect(s.read('a.js')).toBe(AFTER);
    expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('2');
    expect(await lockOf(s)).toBeNull();
  });
});

describe('terminated in the Temporal UI', () => {
  test('paused: nothing to recover; held in verify: shown, undone or kept', async () => {
    const s = (open = await scene({ 'a.js': BEFORE }, [EDIT]));
    await s.worker();
    const terminate = async (run: ResolvedRun): Promise<void> => {
      await withHandle(s, run, (handle) => handle.terminate('enough'));
      expect(await closedOf(s, run)).toMatchObject({ status: 'TERMINATED', result: null });
    };

    const paused = await s.start('paused.md', job('Raise it'));
    await s.settle(paused);
    await terminate(paused);
    expect(await emendCommand(s, 'recover')).toMatchObject({
      code: 0,
      out: 'No interrupted change found.\n',
    });
    const shown = await emendCommand(s, 'show', paused.stepKey);
    expect(shown.out).toMatch(/state +aborted/);
    expect(shown.out).not.toMatch(/waiting for|emend decide|emend approve/);
    await expectUntouched(s);

    const pids = join(s.home, '..', 'pids');
    const applied = async (path: string): Promise<ResolvedRun> => {
      const before = pidsIn(pids).length;
      const run = await s.start(
        path,
        job('Raise it', 'approval: auto', 'commit: true', testedBy(sleeper(pids, `${pids}-go`))),
      );
      await s.until(() => pidsIn(pids).length === before + 2);
      await terminate(run);
      // The run is gone; its worker hears of it with the next heartbeat.
      await s.until(() => !pidsIn(pids).some(alive));
      return run;
    };

    const first = await applied('first.md');
    const id = first.stepKey.slice(0, 8);
    expect(s.read('a.js')).toBe(AFTER);
    const found = await emendCommand(s, 'recover');
    expect(found.out).toContain(`${id}  has ended (terminated) and still locks`);
    expect(found.out).toContain('a.js');
    expect((await emendCommand(s, 'list')).out).toMatch(
      new RegExp(`${id} .*terminated, 1 file applied`),
    );
    const seen = await emendCommand(s, 'show', id);
    expect(seen.out).toContain(`terminated, 1 file applied (emend recover --undo ${id}): a.js`);
    const recovery = await emendCommand(s, 'recover', '--undo', id);
    expect(recovery).toMatchObject({ code: 0 });
    expect(recovery.out).toContain('1 file restored');
    await expectUntouched(s);
    expect((await emendCommand(s, 'recover', '--undo', id)).code).toBe(2);

    const second = await applied('second.md');
    const kept = await emendCommand(s, 'recover', '--keep', second.stepKey.slice(0, 8));
    expect(kept).toMatchObject({ code: 0 });
    expect(s.read('a.js')).toBe(AFTER);
    expect(await lockOf(s)).toBeNull();
  });
});

/** With one attempt only, whoever counted what is handed back would ask a person. */
const ONE_ATTEMPT = {
  EMEND_SHUTDOWNGRACE_MS: '300',
  EMEND_MODELCALLATTEMPTS: '1',
  EMEND_HOSTACTIVITYATTEMPTS: '1',
};

describe('a worker that is asked to stop (SIGTERM) in the middle of a model call', () => {
  test('with grace enough the call is finished: one request, and the next worker goes on', async () => {
    const s = (open = await scene({ 'a.js': BEFORE }, [HELD], {
      env: { EMEND_SHUTDOWNGRACE_MS: '30000' },
    }));
    const stopping = await s.worker();
    const run = await s.start('job.md', job('Take your time', 'approval: auto', 'commit: true'));
    await s.until(() => held(s));
    const ended = stopping.kill('SIGTERM');
    await s.worker();
    s.rehearsal.release();
    await ended;
    expect(stopping.child.exitCode).toBe(0);
    expect(await s.end(run)).toMatchObject({
      outcome: 'committed',
      usage: { calls: 1, unknownCalls: 0 },
    });
    expect(s.rehearsal.requests()).toMatchObject([{ rule: 'a-held', finished: true }]);
  });

  test('with a short grace it is handed back: counted as cut off but no attempt, asked for once more, the same end', async () => {
    const first = { ...HELD, match: { ...HELD.match, times: 1 } };
    const s = (open = await scene({ 'a.js': BEFORE }, [first, EDIT], { env: ONE_ATTEMPT }));
    const stopping = await s.worker();
    const run = await s.start('job.md', job('Take your time', 'approval: auto', 'commit: true'));
    await s.until(() => held(s));
    await stopping.kill('SIGTERM');
    expect(stopping.child.exitCode).toBe(0);
    await s.worker();
    expect(await s.end(run)).toMatchObject({
      outcome: 'committed',
      usage: { calls: 2, unknownCalls: 1 },
    });
    expect(s.rehearsal.requests()).toMatchObject([
      { rule: 'a-held', state: 'cut' },
      { rule: 'a', finished: true },
    ]);
  });

  test.each(['the tests', 'a commit hook'])(
    'during %s: stopped with its group and run again, it has not failed',
    async (what) => {
      const s = (open = await scene({ 'a.js': BEFORE }, [EDIT], { env: ONE_ATTEMPT }));
      const stopping = await s.worker();
      const pids = join(s.home, '..', 'pids');
      const lines = ['approval: auto', 'commit: true'];
      if (what === 'the tests') lines.push(testedBy(sleeper(pids, `${pids}-go`)));
      else {
        lines.push('sandbox: off');
        s.write('.git/hooks/pre-commit', `#!/bin/sh\n${sleeper(pids, `${pids}-go`)}\n`);
        chmodSync(join(s.repo, '.git/hooks/pre-commit'), 0o755);
      }
      const run = await s.start('job.md', job('Raise it', ...lines));
      await s.until(() => pidsIn(pids).length === 2);
      await stopping.kill('SIGTERM');
      await eventually('the end of its processes', () =>
        Promise.resolve(!pidsIn(pids).some(alive)),
      );
      writeFileSync(`${pids}-go`, '');
      await s.worker();
      expect(await s.end(run)).toMatchObject({ outcome: 'committed', usage: { calls: 1 } });
      expect(pidsIn(pids)).toHaveLength(4);
      const told = (await s.events(run)).map(({ type }) => type);
      expect(told.filter((type) => type === 'verified')).toHaveLength(what === 'the tests' ? 1 : 0);
      expect(
        told.filter((type) =>
          ['rolled_back', 'edit_step_paused', 'activity_failed'].includes(type),
        ),
      ).toEqual([]);
    },
  );
});
