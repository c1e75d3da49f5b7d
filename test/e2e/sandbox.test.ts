/** A person's commands on a model's bytes: in the sandbox, or without one by a consent that is recorded. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { describeIf, longOnly } from '../support/skipped.js';
import { check } from './check-history.js';
import { answerFor, phaseRun, planText, startDemo, TWO_WAVES } from './plan-support.js';
import { scene, whole, type Scene } from './support.js';

const KEY = 'test-key-that-must-not-leak';
const works = process.env.EMEND_BWRAP !== undefined;
let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const RULE = {
  name: 'a',
  match: { contains: '- a.js' },
  answer: whole({ 'a.js': 'const a = 2;\n' }),
};
const job = (front: string): string =>
  `---\ntarget_files: [a.js]\n${front}\n---\n# Two\n\nTwo, please.\n`;
const begin = async (
  front: string,
  files: Record<string, string> = {},
  env: Record<string, string> = {},
) => {
  const s = (open = await scene({ 'a.js': 'const a = 1;\n', ...files }, [RULE], { env }));
  await s.worker();
  return { s, run: await s.start('job.md', job(front)) };
};
const hook = (s: Scene, lines: readonly string[]): void => {
  const path = join(s.repo, '.git/hooks/pre-commit');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, ['#!/bin/sh', ...lines, ''].join('\n'));
  chmodSync(path, 0o755);
};

const long = longOnly('each starts a run of its own: two minutes in all');

describeIf(works, 'there is no sandbox here')('with a sandbox', () => {
  test("tests see no key of the worker's, cannot move a ref, and nothing that they write is kept", async () => {
    const attack = [
      `cat /proc/*/environ | tr '\\0' '\\n' | grep -q ${KEY} && exit 3`,
      'git update-ref refs/heads/moved HEAD 2>/dev/null && exit 4',
      'echo x > ../outside 2>/dev/null; echo x > built; exit 0',
    ].join('\n');
    const { s, run } = await begin('approval: auto\ncommit: true\ntest: sh attack.sh', {
      'attack.sh': attack,
    });
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    expect(existsSync(join(s.repo, '../outside'))).toBe(false);
    expect(s.git('for-each-ref', '--format=%(refname)').trim()).toBe('refs/heads/main');
    expect(s.git('status', '--porcelain', '--ignored').trim()).toBe('?? job.md');
    const warnings = (await s.events(run)).filter(({ type }) => type === 'warning');
    expect(warnings).toMatchObject([
      { message: 'the tests also wrote other files, which are not kept: built' },
    ]);
  });

  long(
    'a hook adds to the index it is given, reads no key, and reaches nothing else of the repository',
    async () => {
      const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, [RULE]));
      hook(s, [
        `cat /proc/*/environ | tr '\\0' '\\n' | grep -q ${KEY} && exit 3`,
        'git update-ref refs/heads/moved HEAD 2>/dev/null && exit 4',
        'echo "// hooked" >> a.js; git add a.js || exit 5',
      ]);
      await s.worker();
      const run = await s.start('job.md', job('approval: auto\ncommit: true'));
      expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'hook_changed' });
      expect(s.git('branch').trim()).toBe('* main');
      await s.answer(run, 'abort');
      expect(await s.end(run)).toMatchObject({ outcome: 'aborted' });
    },
  );

  long('`sandbox: off` is a consent', async () => {
    const { s, run } = await begin('approval: auto\nsandbox: off\ntest: echo x > ../outside');
    expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
    expect(existsSync(join(s.repo, '../outside'))).toBe(true);
  });
});

describeIf(works, 'there is no sandbox here')('commands that fail in the sandbox alone', () => {
  /** A file that is not there inside. */
  const needed = (s: Scene): string => join(s.repo, '../needed');
  const blocked = async (more = '', hooks: readonly string[] = []) => {
    const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, [RULE]));
    writeFileSync(needed(s), '');
    if (hooks.length > 0) hook(s, hooks);
    await s.worker();
    const front = `approval: auto\ncommit: true\n${more.replaceAll('NEEDED', needed(s))}`;
    const run = await s.start('job.md', job(front));
    return { s, run, decision: (await s.settle(run)).status.decision };
  };
  /** Tests of the base failed in the sandbox; a person allows them to run outside it. */
  const allowed = async (more = '') => {
    const { s, run, decision } = await blocked(more);
    expect(decision).toMatchObject({ reason: 'baseline' });
    expect(decision?.accepts).toContain('outside');
    expect(existsSync(join(s.repo, 'ran'))).toBe(false);
    await s.answer(run, 'outside');
    return { s, run, decision: (await s.settle(run)).status.decision };
  };
  const TESTS = 'test: ls NEEDED && touch ran';

  test('tests of the base do not run outside before a person allows it, under `approval: auto` too', async () => {
    const { s, run, decision } = await blocked('test: ls NEEDED && touch NEEDED-2');
    expect(decision).toMatchObject({
      reason: 'baseline',
      accepts: ['fix', 'known', 'retry', 'other', 'no_tests', 'outside', 'abort'],
    });
    expect(existsSync(`${needed(s)}-2`)).toBe(false);
    await s.answer(run, 'known');
    await s.settle(run);
    expect(existsSync(`${needed(s)}-2`)).toBe(false);
  });

  const STASH = ['git stash store -m x "$(git stash create)" || exit 1'];

  long(
    'tests: the untouched base tells, and what is missing is named; with the key in emend.yaml they pass',
    async () => {
      const { s, run, decision: first } = await blocked(TESTS);
      expect(first?.message).toContain(`it hides ${needed(s)} (\`read: [${needed(s)}]\`)`);
      expect(first?.accepts).toContain('outside');
      expect(existsSync(join(s.repo, 'ran'))).toBe(false);
      await s.answer(run, 'outside');
      const { decision } = (await s.settle(run)).status;
      expect(decision).toMatchObject({
        reason: 'sandbox_blocks_tests',
        accepts: ['retry', 'run_without', 'skip', 'abort'],
      });
      expect(decision?.message).toContain(`it hides ${needed(s)} (\`read: [${needed(s)}]\`)`);
      expect(decision?.message).toContain(`${s.repo}/emend.yaml, then answer retry`);
      // Of the base nothing was left behind.
      expect([s.read('a.js'), existsSync(join(s.repo, 'ran'))]).toEqual(['const a = 1;\n', false]);
      expect((await s.show(run)).status.usage.calls).toBe(0);
      s.write('emend.yaml', `sandbox: { read: [${needed(s)}] }\n`);
      await s.answer(run, 'retry');
      expect(await s.end(run)).toMatchObject({
        outcome: 'committed',
        verification: 'pass',
        usage: { calls: 1 },
      });
      await check(s, run.live!.workflowId, 'edit-step-paused-sandbox-blocks-tests');
    },
  );

  long('a person lets them run without it; skip puts back what was applied', async () => {
    const once = await blocked('', STASH);
    await once.s.answer(once.run, 'run_once');
    expect(await once.s.end(once.run)).toMatchObject({ outcome: 'committed' });
    await once.s.close();
    const skipped = await blocked('', STASH);
    await skipped.s.answer(skipped.run, 'skip');
    expect(await skipped.s.end(skipped.run)).toMatchObject({ outcome: 'skipped' });
    expect(skipped.s.read('a.js')).toBe('const a = 1;\n');
  });

  long.each([
    ['pass on the base', 'grep -q "a = 1" a.js'],
    ['fail on the base without it, too', 'ls NEEDED && ls ./missing'],
  ])('tests that %s have failed', async (_, command) => {
    const front = `baseline: fix\ntest: '${command}'\nlimits: { maxFailedVerifications: 1 }`;
    const { s, run, decision } = await (command.includes('NEEDED') ? allowed : blocked)(front);
    expect(decision).toMatchObject({ reason: 'tests_failed' });
    await s.answer(run, 'skip');
    expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
  });

  long('a hook that moves refs, as the stash of lint-staged does', async () => {
    const { s, run, decision } = await blocked('', STASH);
    expect(decision).toMatchObject({ reason: 'sandbox_blocks_tests' });
    expect(decision?.message).toContain('it blocked a write to the git directory');
    await s.answer(run, 'run_without');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    expect(s.git('stash', 'list')).toContain('x');
  });

  const TWO = TWO_WAVES.slice(0, 2).map((phase, i) => ({
    ...phase,
    dependencies: i === 0 ? [] : [i],
  }));
  const planned = async (command: string, approval: 'ask' | 'auto') => {
    const s = (open = await scene(
      { 'plans/010_demo.md': planText(TWO), 'emend.yaml': `test: ${JSON.stringify(command)}\n` },
      TWO.map((phase) => answerFor(phase)),
    ));
    writeFileSync(needed(s), '');
    await s.worker();
    const run = await startDemo(s, { approval });
    return { s, run };
  };

  long('in a plan: the consent for a phase is one for those after it', async () => {
    const { s, run } = await planned('ls ../needed', 'auto');
    const first = await phaseRun(s, run, 'p1-1');
    expect((await s.settle(first)).status.decision).toMatchObject({ reason: 'baseline' });
    await s.answer(first, 'outside');
    expect((await s.settle(first)).status.decision).toMatchObject({
      reason: 'sandbox_blocks_tests',
    });
    await s.answer(first, 'run_without');
    expect(await s.end(run, 100)).toMatchObject({ outcome: 'completed' });
  });

  long(
    'in a plan: what an earlier phase committed does not run without it to find out why tests fail',
    async () => {
      const { s, run } = await planned('[ ! -e second ] || { touch ../outside; exit 1; }', 'ask');
      const first = await phaseRun(s, run, 'p1-1');
      await s.settle(first);
      await s.answer(first, 'approve');
      const second = await phaseRun(s, run, 'p2-1');
      await s.settle(second);
      s.write('second', '');
      await s.answer(second, 'approve');
      expect(await s.end(second)).toMatchObject({ outcome: 'tests_failed' });
      expect(existsSync(join(s.repo, '../outside'))).toBe(false);
      await s.answer(run, 'abort');
      await s.end(run);
    },
  );
});

describe('without a sandbox', () => {
  const NONE = { EMEND_BWRAP: '/nonexistent/bwrap' };

  long('the approval says so, and is the consent for tests and hooks', async () => {
    const { s, run } = await begin('commit: true\ntest: echo x > ../outside', {}, NONE);
    hook(s, ['echo x > ../hooked']);
    const { decision } = (await s.settle(run)).status;
    expect(decision).toMatchObject({ reason: 'approval' });
    expect(decision?.message).toContain(
      'tests will run without a sandbox (/nonexistent/bwrap does not exist)',
    );
    expect(decision?.message).toContain(
      'the tests run in the workspace after the change is applied: ',
    );
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    for (const name of ['outside', 'hooked'])
      expect(existsSync(join(s.repo, '..', name))).toBe(true);
  });

  long(
    'under auto nothing runs before a person said so: once for the tests, and again for the hooks',
    async () => {
      const { s, run } = await begin(
        'approval: auto\ncommit: true\ntest: echo x > ../outside',
        {},
        NONE,
      );
      hook(s, ['echo x > ../hooked']);
      const { decision } = (await s.settle(run)).status;
      expect(decision).toMatchObject({
        reason: 'sandbox_unavailable',
        accepts: ['run_once', 'run_without', 'skip', 'abort'],
      });
      await check(s, run.live!.workflowId, 'edit-step-paused-sandbox-unavailable');
      expect(existsSync(join(s.repo, '../outside'))).toBe(false);
      await s.answer(run, 'run_once');
      expect((await s.settle(run)).status.decision).toMatchObject({
        reason: 'sandbox_unavailable',
      });
      expect(existsSync(join(s.repo, '../outside'))).toBe(true);
      expect(existsSync(join(s.repo, '../hooked'))).toBe(false);
      await s.answer(run, 'run_without');
      expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    },
  );

  long('skip puts back what was applied', async () => {
    const { s, run } = await begin('approval: auto\ntest: echo x > ../outside', {}, NONE);
    expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'sandbox_unavailable' });
    expect(s.read('a.js')).toBe('const a = 2;\n');
    await s.answer(run, 'skip');
    expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
    expect(s.read('a.js')).toBe('const a = 1;\n');
    expect(existsSync(join(s.repo, '../outside'))).toBe(false);
  });

  long(
    "`sandbox: off` in a plan's front matter is the consent for all that the plan runs",
    async () => {
      const phases = TWO_WAVES.slice(0, 2);
      const config = "worktree: { setup: 'echo x >> ../setup' }\ntest: ['echo x >> ../tests']\n";
      const plan = `---\nsandbox: off\n---\n${planText(phases)}`;
      const s = (open = await scene(
        { 'plans/010_demo.md': plan, 'emend.yaml': config },
        phases.map((phase) => answerFor(phase)),
        { env: NONE },
      ));
      hook(s, [`echo x >> ${s.home}/hooked`]);
      await s.worker();
      const run = await startDemo(s, { approval: 'auto' });
      expect(await s.end(run, 150)).toMatchObject({ outcome: 'completed' });
      // After the merges; the others ran in worktrees.
      expect(existsSync(join(s.repo, '../tests'))).toBe(true);
      // Of both phases, and of the one commit of their marks.
      expect(readFileSync(join(s.home, 'hooked'), 'utf8')).toBe('x\n'.repeat(3));
    },
  );
});
