/**
 * What was tested is what is committed, byte for byte: tests that write to the files of the proposal. On an overlay they run before the
 * approval and the workspace does not change; without a sandbox they run in the workspace, after the apply.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { runDiff, type ResolvedRun } from '../../src/client/index.js';
import { check } from './check-history.js';
import { isRunning } from '../support/alive.js';
import { sampled } from '../support/seeded.js';
import { emendCommand, lockOf } from './ends.js';
import { scene, whole, type Scene } from './support.js';
import { longOnly } from '../support/skipped.js';

const long = longOnly('each starts a run of its own; the tests that stay show the promise');

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const BASE = 'const a = 1;\n';
const PROPOSED = 'const a = 2;\n';
const RULE = { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': PROPOSED }) };
const begin = async (
  test: string,
  more = 'approval: auto\ncommit: true',
  files: Record<string, string> = {},
) => {
  const s = (open = await scene({ 'a.js': BASE, 'b.js': 'b\n', ...files }, [RULE]));
  await s.worker();
  const front = `target_files: [a.js]\nbaseline: off\n${more}\ntest: ${JSON.stringify(test)}`;
  return { s, run: await s.start('job.md', `---\n${front}\n---\n# Two\n\nTwo, please.\n`) };
};

/** How the tests run, and what of them may be seen in the workspace. */
const PLACES = {
  overlay: {
    sandbox: 'on',
    onDisk: BASE,
    others: 'the tests also wrote other files, which are not kept',
  },
  workspace: {
    sandbox: 'off',
    onDisk: PROPOSED,
    others: 'the tests also changed other files',
  },
} as const;

const typesOf = async (s: Scene, run: ResolvedRun): Promise<readonly string[]> =>
  (await s.events(run)).map(({ type }) => type);
/** The workspace, its index and the git directory are as before the run; the job's file is the user's. */
const expectUntouched = (s: Scene): void => {
  expect([s.read('a.js'), s.read('b.js')]).toEqual([BASE, 'b\n']);
  expect(s.git('status', '--porcelain', '--ignored').trim()).toBe('?? job.md');
  expect(s.git('stash', 'list')).toBe('');
  expect(s.git('rev-list', '--count', '--all').trim()).toBe('1');
};

const names = sampled<keyof typeof PLACES>('places of tests', ['overlay', 'workspace'], 0, [
  'overlay',
]);
describe.each(names.map((name) => ({ name, ...PLACES[name] })))(
  'tests on the $name',
  ({ name, ...place }) => {
    const isOverlay = name === 'overlay';
    const keys = `commit: true\nsandbox: ${place.sandbox}`;
    const more = `approval: auto\n${keys}`;

    long(
      'a worker that is killed over them: they die with it, what they wrote does not count, and they run again',
      async () => {
        const seconds = `300.${process.pid}${Date.now()}`;
        const command = `[ -e hung ] || { echo "// evil" >> a.js; touch hung; sleep ${seconds}; }; ! grep -q evil a.js`;
        const s = (open = await scene({ 'a.js': BASE, 'b.js': 'b\n' }, [RULE]));
        const dying = await s.worker();
        const front = `target_files: [a.js]\nbaseline: off\n${more}\ntest: ${JSON.stringify(command)}`;
        const run = await s.start('job.md', `---\n${front}\n---\n# Two\n\nTwo, please.\n`);
        // Without an overlay the workspace shows that the command has written.
        await s.until(() => isRunning(seconds) && (isOverlay || existsSync(join(s.repo, 'hung'))));
        if (isOverlay) expectUntouched(s);
        await dying.kill('SIGKILL');
        await s.until(() => !isRunning(seconds));
        if (isOverlay) {
          expectUntouched(s);
          // Of what they wrote nothing is there any more, so the next ones are to find it.
          s.write('hung', '');
        } else expect(s.read('a.js')).toContain('evil');
        await s.worker();
        expect(await s.end(run)).toMatchObject({
          outcome: 'committed',
          verification: 'pass',
          usage: { calls: 1 },
        });
        expect(s.git('show', 'HEAD:a.js')).toBe(PROPOSED);
        expect(await typesOf(s, run)).not.toContain('rolled_back');
      },
    );

    test('bytes that passing tests wrote are asked about; adopt shows them as a proposal, tests and commits them', async () => {
      const { s, run } = await begin(
        'grep -q evil a.js || echo "// evil" >> a.js',
        `approval: ask\n${keys}`,
      );
      if (!isOverlay) {
        expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'approval' });
        await s.answer(run, 'approve');
      }
      const { decision } = (await s.settle(run)).status;
      expect(decision).toMatchObject({
        reason: 'tests_changed_files',
        accepts: ['retry', 'adopt', 'skip', 'abort'],
      });
      expect(decision?.message).toContain('a.js');
      expect(s.read('a.js')).toBe(place.onDisk);
      if (isOverlay) expect(await lockOf(s)).toBeNull();
      await s.answer(run, 'adopt');
      // Nobody has reviewed it yet.
      const asked = (await s.settle(run)).status.decision;
      expect(asked).toMatchObject({ reason: 'approval' });
      expect((await runDiff(s.emend, run))?.diff).toContain('+// evil\n');
      if (isOverlay) {
        expect(asked?.message).toContain('; tests of the proposal: pass: ');
        expectUntouched(s);
      }
      await s.answer(run, 'approve');
      expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
      expect(s.git('show', 'HEAD:a.js')).toBe(`${PROPOSED}// evil\n`);
      expect(await lockOf(s)).toBeNull();
      if (isOverlay)
        expect((await typesOf(s, run)).filter((type) => type === 'applied')).toHaveLength(1);
    });

    long('retry tests again: what they leave alone then is committed', async () => {
      const { s, run } = await begin('test -e done || { rm a.js; mkdir a.js; touch done; }', more);
      expect((await s.settle(run)).status.decision).toMatchObject({
        reason: 'tests_changed_files',
      });
      expect(s.read('a.js')).toBe(place.onDisk);
      if (isOverlay) {
        expectUntouched(s);
        s.write('done', '');
      }
      await s.answer(run, 'retry');
      expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
      expect(s.git('show', 'HEAD:a.js')).toBe(PROPOSED);
    });

    long('failing tests that wrote to them: the base is on disk, whole', async () => {
      const { s, run } = await begin(
        'echo x >> a.js; exit 1',
        `${more}\nlimits: { maxFailedVerifications: 1 }`,
      );
      expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'tests_failed' });
      expectUntouched(s);
      expect(await lockOf(s)).toBeNull();
      const types = await typesOf(s, run);
      expect(types.filter((type) => ['applied', 'rolled_back'].includes(type))).toEqual(
        isOverlay ? [] : ['applied', 'rolled_back'],
      );
      await s.answer(run, 'abort');
      await s.end(run);
      expectUntouched(s);
    });

    long('other files are reported, and not committed', async () => {
      const { s, run } = await begin('echo x >> b.js; echo y > new.txt', more);
      expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
      const warnings = (await s.events(run))
        .filter((event) => event.type === 'warning')
        .map((event) => event.message);
      expect(warnings).toContain(`${place.others}: b.js, new.txt`);
      expect(s.git('show', 'HEAD', '--name-only', '--format=').trim()).toBe('a.js');
      expect([s.read('b.js'), existsSync(join(s.repo, 'new.txt'))]).toEqual(
        isOverlay ? ['b\n', false] : ['b\nx\n', true],
      );
    });
  },
);

test('E7: a file that is saved while tests run in the workspace: the message says what it has now, and where the saved bytes are', async () => {
  const { s, run } = await begin(
    'touch started; while [ ! -e go ]; do sleep 0.05; done',
    'approval: auto\ncommit: true\nsandbox: off',
  );
  await s.until(() => existsSync(join(s.repo, 'started')));
  s.write('a.js', '// saved\n');
  s.write('go', '');
  const { decision } = (await s.settle(run)).status;
  expect(decision?.reason).toBe('tests_changed_files');
  expect(s.read('a.js')).toBe(PROPOSED);
  expect(decision?.message).toContain(
    'on disk they have the content of the change again: a.js (written during the tests, then set to the change;',
  );
  expect(decision?.message).not.toMatch(/rolled back|restored/);
  const [, key = '', ref = ''] =
    /emend show (\w+) --blob (sha256:[0-9a-f]{64})/.exec(decision?.message ?? '') ?? [];
  const shown = await emendCommand(s, 'show', key, '--blob', ref);
  expect(shown).toMatchObject({ code: 0, out: '// saved\n' });
  await s.answer(run, 'skip');
  expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
  expect(s.read('a.js')).toBe(BASE);
});

long.each([
  ['overlay', 0],
  ['workspace', 1],
] as const)('skip leaves the base on disk, after tests on the %s', async (name, applied) => {
  const { s, run } = await begin(
    'echo x >> a.js',
    `approval: auto\ncommit: true\nsandbox: ${PLACES[name].sandbox}`,
  );
  expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'tests_changed_files' });
  if (name === 'overlay')
    await check(s, run.live!.workflowId, 'edit-step-paused-tests-changed-files');
  await s.answer(run, 'skip');
  expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
  expectUntouched(s);
  const types = await typesOf(s, run);
  expect(types.filter((type) => type === 'rolled_back')).toHaveLength(applied);
});

long.each(['git stash', 'git reset --hard', 'git checkout a.js'])(
  '%s in a test changes nothing',
  async (command) => {
    const { s, run } = await begin(`${command} >/dev/null 2>&1; true`);
    const view = await s.settle(run);
    if (view.status.decision !== null) {
      expect(view.status.decision).toMatchObject({ reason: 'tests_changed_files' });
      expectUntouched(s);
      return;
    }
    expect(s.git('show', 'HEAD:a.js')).toBe(PROPOSED);
    expect([s.read('a.js'), s.git('stash', 'list')]).toEqual([PROPOSED, '']);
    expect(s.git('rev-list', '--count', '--all').trim()).toBe('2');
  },
);
