/** What was tested is what is committed, byte for byte: tests that write to the files of the proposal. Without a sandbox, too. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { check } from './check-history.js';
import { sampled } from '../support/seeded.js';
import { lockOf } from './ends.js';
import { scene, whole, type Scene } from './support.js';
import { longOnly } from '../support/skipped.js';

const long = longOnly('each starts a run of its own; the tests that stay show the promise');

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const PROPOSED = 'const a = 2;\n';
const RULE = { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': PROPOSED }) };
const begin = async (
  test: string,
  more = 'approval: auto\ncommit: true',
  files: Record<string, string> = {},
) => {
  const s = (open = await scene({ 'a.js': 'const a = 1;\n', 'b.js': 'b\n', ...files }, [RULE]));
  await s.worker();
  const front = `target_files: [a.js]\nbaseline: off\n${more}\ntest: ${JSON.stringify(test)}`;
  return { s, run: await s.start('job.md', `---\n${front}\n---\n# Two\n\nTwo, please.\n`) };
};

/** Is there a process with this word in its command? */
const running = (word: string): boolean =>
  readdirSync('/proc').some((pid) => {
    try {
      return (
        /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word)
      );
    } catch {
      return false;
    }
  });

describe.each(sampled('sandboxes', ['on', 'off'], 0, ['on']))('sandbox: %s', (sandbox) => {
  const more = `approval: auto\ncommit: true\nsandbox: ${sandbox}`;

  long(
    'a worker that is killed over them: they die with it, what they wrote is put back, and they run again',
    async () => {
      const seconds = `300.${process.pid}${Date.now()}`;
      const command = `[ -e hung ] || { echo "// evil" >> a.js; touch hung; sleep ${seconds}; }; ! grep -q evil a.js`;
      const s = (open = await scene({ 'a.js': 'const a = 1;\n', 'b.js': 'b\n' }, [RULE]));
      const dying = await s.worker();
      const front = `target_files: [a.js]\nbaseline: off\n${more}\ntest: ${JSON.stringify(command)}`;
      const run = await s.start('job.md', `---\n${front}\n---\n# Two\n\nTwo, please.\n`);
      await s.until(() => running(seconds));
      expect(existsSync(join(s.repo, 'hung'))).toBe(true);
      await dying.kill('SIGKILL');
      await s.until(() => !running(seconds));
      expect(s.read('a.js')).toContain('evil');
      await s.worker();
      expect(await s.end(run)).toMatchObject({
        outcome: 'committed',
        verification: 'pass',
        usage: { calls: 1 },
      });
      expect(s.git('show', 'HEAD:a.js')).toBe(PROPOSED);
    },
  );

  test('bytes that passing tests wrote are put back, and asked about; adopt shows them, tests and commits them', async () => {
    const { s, run } = await begin(
      'grep -q evil a.js || echo "// evil" >> a.js',
      more.replace('auto', 'ask'),
    );
    expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'approval' });
    await s.answer(run, 'approve');
    const { decision } = (await s.settle(run)).status;
    expect(decision).toMatchObject({
      reason: 'tests_changed_files',
      accepts: ['retry', 'adopt', 'skip', 'abort'],
    });
    expect(decision?.message).toContain('a.js');
    expect(s.read('a.js')).toBe(PROPOSED);
    await s.answer(run, 'adopt');
    // Nobody has reviewed it yet.
    expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'approval' });
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    expect(s.git('show', 'HEAD:a.js')).toBe(`${PROPOSED}// evil\n`);
    expect(await lockOf(s)).toBeNull();
  });

  long('retry tests again: what they leave alone then is committed', async () => {
    const { s, run } = await begin(
      'test -e .git/../done || { rm a.js; mkdir a.js; touch done; }',
      more,
    );
    expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'tests_changed_files' });
    expect(s.read('a.js')).toBe(PROPOSED);
    await s.answer(run, 'retry');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    expect(s.git('show', 'HEAD:a.js')).toBe(PROPOSED);
  });

  long(
    'failing tests that wrote to them: the base comes back whole; skip does the same',
    async () => {
      const { s, run } = await begin(
        'echo x >> a.js; exit 1',
        `${more}\nlimits: { maxFailedVerifications: 1 }`,
      );
      expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'tests_failed' });
      expect(s.read('a.js')).toBe('const a = 1;\n');
      await s.answer(run, 'abort');
      await s.end(run);
    },
  );

  long('other files are told, and not committed', async () => {
    const { s, run } = await begin('echo x >> b.js; echo y > new.txt', more);
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    const told = (await s.events(run))
      .filter((event) => event.type === 'warning')
      .map((event) => event.message);
    expect(told.join()).toMatch(/the tests also changed other files: b\.js, new\.txt/);
    expect(s.git('show', 'HEAD', '--name-only', '--format=').trim()).toBe('a.js');
  });
});

long('skip rolls back', async () => {
  const { s, run } = await begin('echo x >> a.js');
  expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'tests_changed_files' });
  await check(s, run.live!.workflowId, 'edit-step-paused-tests-changed-files');
  await s.answer(run, 'skip');
  expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
  expect(s.read('a.js')).toBe('const a = 1;\n');
});

long.each(['git stash', 'git reset --hard', 'git checkout a.js'])(
  '%s in a test changes nothing',
  async (command) => {
    const { s, run } = await begin(`${command} >/dev/null 2>&1; true`);
    const view = await s.settle(run);
    if (view.status.decision !== null) {
      expect(view.status.decision).toMatchObject({ reason: 'tests_changed_files' });
      expect(s.read('a.js')).toBe(PROPOSED);
      return;
    }
    expect(s.git('show', 'HEAD:a.js')).toBe(PROPOSED);
  },
);
