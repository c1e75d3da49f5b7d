/** A person's commands on a model's bytes: in the sandbox, or without one by a consent that is recorded. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { describeIf } from '../support/skipped.js';
import { scene, whole, type Scene } from './support.js';

const KEY = 'test-key-that-must-not-leak';
const works = process.env.EMEND_BWRAP !== undefined;
let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const RULE = { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) };
const job = (front: string): string => `---\ntarget_files: [a.js]\n${front}\n---\n# Two\n\nTwo, please.\n`;
const begin = async (front: string, files: Record<string, string> = {}, env: Record<string, string> = {}) => {
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

describeIf(works, 'there is no sandbox here')('with a sandbox', () => {
  test("tests see no key of the worker's, cannot move a ref, and what they write outside is nowhere", async () => {
    const attack = [
      `cat /proc/*/environ | tr '\\0' '\\n' | grep -q ${KEY} && exit 3`,
      'git update-ref refs/heads/moved HEAD 2>/dev/null && exit 4',
      'echo x > ../outside 2>/dev/null; echo x > built; exit 0',
    ].join('\n');
    const { s, run } = await begin('approval: auto\ncommit: true\ntest: sh attack.sh', { 'attack.sh': attack });
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    expect(existsSync(join(s.repo, '../outside'))).toBe(false);
    expect(s.read('built')).toBe('x\n');
  });

  test('a hook adds to the index it is given, reads no key, and reaches nothing else of the repository', async () => {
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
  });

  test('`sandbox: off` is a consent', async () => {
    const { s, run } = await begin('approval: auto\nsandbox: off\ntest: echo x > ../outside');
    expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
    expect(existsSync(join(s.repo, '../outside'))).toBe(true);
  });
});

describe('without a sandbox', () => {
  const NONE = { EMEND_BWRAP: '/nonexistent/bwrap' };

  test('the approval says so, and is the consent for tests and hooks', async () => {
    const { s, run } = await begin('commit: true\ntest: echo x > ../outside', {}, NONE);
    hook(s, ['echo x > ../hooked']);
    const { decision } = (await s.settle(run)).status;
    expect(decision).toMatchObject({ reason: 'approval' });
    expect(decision?.message).toContain('tests will run without a sandbox (/nonexistent/bwrap does not exist)');
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    for (const name of ['outside', 'hooked']) expect(existsSync(join(s.repo, '..', name))).toBe(true);
  });

  test('under auto nothing runs before a person said so: once for the tests, and again for the hooks', async () => {
    const { s, run } = await begin('approval: auto\ncommit: true\ntest: echo x > ../outside', {}, NONE);
    hook(s, ['echo x > ../hooked']);
    const { decision } = (await s.settle(run)).status;
    expect(decision).toMatchObject({
      reason: 'sandbox_unavailable',
      accepts: ['run_once', 'run_without', 'skip', 'abort'],
    });
    expect(existsSync(join(s.repo, '../outside'))).toBe(false);
    await s.answer(run, 'run_once');
    expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'sandbox_unavailable' });
    expect(existsSync(join(s.repo, '../outside'))).toBe(true);
    expect(existsSync(join(s.repo, '../hooked'))).toBe(false);
    await s.answer(run, 'run_without');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
  });

  test('skip puts back what was applied', async () => {
    const { s, run } = await begin('approval: auto\ntest: echo x > ../outside', {}, NONE);
    expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'sandbox_unavailable' });
    expect(s.read('a.js')).toBe('const a = 2;\n');
    await s.answer(run, 'skip');
    expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
    expect(s.read('a.js')).toBe('const a = 1;\n');
    expect(existsSync(join(s.repo, '../outside'))).toBe(false);
  });
});
