/** Decision points from the applied files to the commit: found tests, failed tests, conflicts and hooks; each answer does what it says. */
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import { check } from './check-history.js';
import { OWN_STORE } from './homes.js';
import { numbered, scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const one = (n: number): string => `const one = ${n};\n`;
const good = (path: string) => ({
  name: path,
  match: { contains: `- ${path}` },
  answer: whole({ [path]: one(2) }),
});
const BRIEF = {
  name: 'brief',
  match: { contains: 'Now write the brief' },
  answer: 'Numbers grow.\nEMEND-COMPLETE {{nonce}} 0 0\n',
};
/** A scene in which every file becomes `one(2)`, with a worker. */
const scenery = async (
  paths: readonly string[],
  more: Record<string, string> = {},
  env: Record<string, string> = {},
): Promise<Scene> => {
  const s = (open = await scene(
    { ...Object.fromEntries(paths.map((path) => [path, one(1)])), ...more },
    [BRIEF, ...paths.map(good)],
    { env },
  ));
  await s.worker();
  return s;
};
/** A job for one file that is approved by itself and committed under the file's name. */
const start = (s: Scene, path: string, keys: string): Promise<ResolvedRun> =>
  s.start(
    `${path}.md`,
    `---\ntarget_files: [${path}]\napproval: auto\ncommit: Change ${path}\n${keys}\n---\n# Grow\n\nRaise the number.\n`,
  );
const subjects = (s: Scene, n: number): string[] =>
  s.git('log', `-${n}`, '--format=%s').trim().split('\n');

/** These tests write into `.git`, or commit: the sandbox refuses both. */
const UNBOXED = 'sandbox: off\nbaseline: off';
const FOUND = `test: auto\n${UNBOXED}`;

test('a found test command: run, asked once; asked again when its definition changed; another; none', async () => {
  // npm itself may warn, of settings of the machine.
  const PASSED = expect.stringMatching(/^pass/) as unknown;
  const manifest = (word: string) =>
    `${JSON.stringify({ scripts: { test: `node -e "require('fs').appendFileSync('.git/ran', '${word}')"` } })}\n`;
  const s = await scenery(['a.js', 'b.js', 'c.js', 'd.js', 'e.js'], {
    'package.json': manifest('x'),
  });
  const asks = async (run: ResolvedRun) => {
    const view = await s.settle(run);
    expect(view.status.decision).toMatchObject({
      reason: 'test_command',
      subject: 'npm test',
      files: [],
    });
    return view;
  };

  const first = await start(s, 'a.js', FOUND);
  const paused = await asks(first);
  // Nothing is paid for before it is known how the result will be checked.
  expect(s.rehearsal.requests()).toHaveLength(0);
  await check(s, paused.workflowId!, 'edit-step-paused-test-command');
  await s.answer(first, 'run');
  expect(await s.end(first)).toMatchObject({ outcome: 'committed', verification: PASSED });
  expect(s.read('.git/ran')).toBe('x');

  expect(await s.end(await start(s, 'b.js', FOUND))).toMatchObject({
    outcome: 'committed',
    verification: PASSED,
  });
  expect(s.read('.git/ran')).toBe('xx');

  s.write('package.json', manifest('y'));
  const other = await start(s, 'c.js', FOUND);
  await asks(other);
  await expect(s.answer(other, 'other')).rejects.toThrow(/command/);
  await s.answer(other, 'other', { set: { command: 'printf z >> .git/ran' } });
  expect(await s.end(other)).toMatchObject({ outcome: 'committed', verification: PASSED });
  expect(s.read('.git/ran')).toBe('xxz');

  // Another command was for that run only: what was found is still not approved.
  const none = await start(s, 'd.js', FOUND);
  await asks(none);
  await s.answer(none, 'no_tests');
  expect(await s.end(none)).toMatchObject({ outcome: 'committed', verification: 'no_tests' });
  expect(s.read('.git/ran')).toBe('xxz');
});

test('tests failed: keep commits as [INCOMPLETE], manual takes what a person wrote, skip leaves the file', async () => {
  const s = await scenery(['keep.js', 'hand.js', 'skip.js']);
  const failed = async (path: string) => {
    const run = await start(
      s,
      path,
      `baseline: fix\ntest: grep -q 7 ${path}\nlimits: { maxFailedVerifications: 1 }`,
    );
    expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'tests_failed' });
    expect(s.read(path)).toBe(one(1));
    return run;
  };
  const keep = await failed('keep.js');
  await s.answer(keep, 'keep');
  expect(await s.end(keep)).toMatchObject({ outcome: 'committed', files: ['keep.js'] });
  await check(s, keep.live!.workflowId, 'edit-step-committed-incomplete');
  expect(subjects(s, 1)).toEqual(['[INCOMPLETE] Change keep.js']);
  expect(s.git('show', 'HEAD:keep.js')).toBe(one(2));

  const hand = await failed('hand.js');
  s.write('hand.js', one(7));
  await s.answer(hand, 'manual');
  expect(await s.end(hand)).toMatchObject({
    outcome: 'committed',
    verification: 'pass',
    files: ['hand.js'],
  });
  expect(subjects(s, 1)).toEqual(['Change hand.js']);
  expect(s.git('show', 'HEAD:hand.js')).toBe(one(7));

  const skip = await failed('skip.js');
  await s.answer(skip, 'skip');
  expect(await s.end(skip)).toMatchObject({ outcome: 'skipped', files: [] });
  expect([s.read('skip.js'), ...subjects(s, 1)]).toEqual([one(1), 'Change hand.js']);
  expect(s.rehearsal.requests()).toHaveLength(3);
});

test('after failed tests the next attempt sees the original, the failed edit and what the tests said', async () => {
  const failedWith = (n: number): string => `-${one(1)}+${one(n)}`;
  const told = ['- a.js', 'The tests failed with your last edit', `\n${one(1)}`];
  const rule = (name: string, contains: readonly string[], n: number) => ({
    name,
    match: { contains: [...contains] },
    answer: whole({ 'a.js': one(n) }),
  });
  const s = (open = await scene({ 'a.js': one(1) }, [
    rule('revised', [...told, 'Seven, please.', failedWith(3), 'AssertionError: 3'], 7),
    rule('again', [...told, failedWith(2), 'AssertionError: 2'], 3),
    rule('first', ['- a.js'], 2),
  ]));
  await s.worker();
  const test = `grep -q 7 a.js || { echo "AssertionError: $(tr -dc 0-9 < a.js)"; exit 1; }`;
  const run = await start(s, 'a.js', `baseline: fix\ntest: ${JSON.stringify(test)}`);
  expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'tests_failed' });
  await s.answer(run, 'revise', { note: 'Seven, please.' });
  expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
  expect(s.rehearsal.requests().map((request) => request.rule)).toEqual([
    'first',
    'again',
    'revised',
  ]);
});

test('HEAD moved while tests ran: rebase commits on top, take_theirs rolls back, regenerate starts anew', async () => {
  const s = await scenery(['on-top.js', 'theirs.js', 'anew.js']);
  const conflict = async (path: string) => {
    const command = `test -e .git/${path} || { touch .git/${path} && git commit -q --allow-empty -m "meanwhile ${path}"; }`;
    const run = await start(s, path, `test: ${JSON.stringify(command)}\n${UNBOXED}`);
    const view = await s.settle(run);
    expect(view.status.decision).toMatchObject({
      reason: 'conflict',
      accepts: expect.arrayContaining(['rebase']),
    });
    expect(view.status.decision!.message).toContain('HEAD was');
    return { run, view };
  };
  const onTop = await conflict('on-top.js');
  await check(s, onTop.view.workflowId!, 'edit-step-paused-conflict-at-commit');
  await s.answer(onTop.run, 'rebase');
  expect(await s.end(onTop.run)).toMatchObject({ outcome: 'committed' });
  await check(s, onTop.view.workflowId!, 'edit-step-committed-onto-current');
  expect(subjects(s, 3)).toEqual(['Change on-top.js', 'meanwhile on-top.js', 'base']);

  const theirs = await conflict('theirs.js');
  await s.answer(theirs.run, 'take_theirs');
  expect(await s.end(theirs.run)).toMatchObject({ outcome: 'skipped', files: [] });
  expect([s.read('theirs.js'), ...subjects(s, 1)]).toEqual([one(1), 'meanwhile theirs.js']);

  const anew = await conflict('anew.js');
  const asked = s.rehearsal.requests().length;
  await s.answer(anew.run, 'regenerate');
  expect(await s.end(anew.run)).toMatchObject({ outcome: 'committed' });
  expect(s.rehearsal.requests()).toHaveLength(asked + 1);
  expect(subjects(s, 2)).toEqual(['Change anew.js', 'meanwhile anew.js']);
  expect(s.git('status', '--porcelain', '--', '*.js')).toBe('');
});

test('aborted after a hook refused: what a person added meanwhile stays, and the result names the file', async () => {
  const s = await scenery(['kept.js']);
  s.write('.git/hooks/pre-commit', '#!/bin/sh\nexit 1\n');
  chmodSync(join(s.repo, '.git/hooks/pre-commit'), 0o755);
  const run = await start(s, 'kept.js', '');
  expect((await s.settle(run)).status.decision?.reason).toBe('engine_failed');
  s.write('kept.js', `${one(2)}// mine\n`);
  await s.answer(run, 'abort');
  expect(await s.end(run)).toMatchObject({ outcome: 'aborted', notRestored: ['kept.js'] });
  expect(s.read('kept.js')).toBe(`${one(2)}// mine\n`);
});

test('a commit hook refuses, or changes what was approved: asked, and each answer does what it says', async () => {
  const s = await scenery([
    'retried.js',
    'dropped.js',
    'handed.js',
    'mended.js',
    'undone.js',
    'renewed.js',
    'styled.js',
  ]);
  const hook = (body: string) => {
    s.write('.git/hooks/pre-commit', `#!/bin/sh\n${body}\n`);
    chmodSync(join(s.repo, '.git/hooks/pre-commit'), 0o755);
  };
  const paused = async (path: string, reason: string, says: string) => {
    const run = await start(s, path, '');
    const view = await s.settle(run);
    expect(view.status.decision?.reason).toBe(reason);
    expect(view.status.decision?.message).toContain(says);
    return { run, id: view.workflowId! };
  };
  hook('echo "no commits on sundays"; exit 1');
  const retried = await paused('retried.js', 'engine_failed', 'no commits on sundays');
  await check(s, retried.id, 'edit-step-paused-hook-failed');
  hook('exit 0');
  await s.answer(retried.run, 'retry');
  expect(await s.end(retried.run)).toMatchObject({ outcome: 'committed' });

  hook('exit 1');
  const dropped = await paused('dropped.js', 'engine_failed', 'pre-commit');
  await s.answer(dropped.run, 'skip');
  expect(await s.end(dropped.run)).toMatchObject({ outcome: 'skipped', files: [] });
  expect([s.read('dropped.js'), ...subjects(s, 1)]).toEqual([one(1), 'Change retried.js']);

  hook('grep -q 7 handed.js || { echo "seven, please"; exit 1; }');
  const handed = await paused('handed.js', 'engine_failed', 'seven, please');
  s.write('handed.js', one(7));
  await s.answer(handed.run, 'manual');
  expect(await s.end(handed.run)).toMatchObject({ outcome: 'committed', files: ['handed.js'] });
  expect(s.git('show', 'HEAD:handed.js')).toBe(one(7));

  const ADDS =
    'git update-index --add --cacheinfo "100644,$(echo x | git hash-object -w --stdin),extra.txt"';
  hook(ADDS);
  const mended = await paused('mended.js', 'hook_changed', 'extra.txt');
  await check(s, mended.id, 'edit-step-paused-hook-changed');
  hook('exit 0');
  await s.answer(mended.run, 'rebase');
  expect(await s.end(mended.run)).toMatchObject({ outcome: 'committed' });
  expect(s.git('show', '--format=', '--name-only', 'HEAD').trim()).toBe('mended.js');

  hook(ADDS);
  const undone = await paused('undone.js', 'hook_changed', 'extra.txt');
  await s.answer(undone.run, 'take_theirs');
  expect(await s.end(undone.run)).toMatchObject({ outcome: 'skipped', files: [] });
  expect([s.read('undone.js'), ...subjects(s, 1)]).toEqual([one(1), 'Change mended.js']);

  const renewed = await paused('renewed.js', 'hook_changed', 'extra.txt');
  hook('exit 0');
  await s.answer(renewed.run, 'regenerate');
  expect(await s.end(renewed.run)).toMatchObject({
    outcome: 'committed',
    files: ['renewed.js'],
    usage: { calls: 2 },
  });

  // A formatter, as hooks mostly are: it changes the file and what is to be committed, every time.
  hook("sed -i 's/ *;$/ ;/' styled.js && git add styled.js");
  const styled = await paused('styled.js', 'hook_changed', 'styled.js');
  await s.answer(styled.run, 'rebase');
  expect(await s.end(styled.run)).toMatchObject({ outcome: 'committed', files: ['styled.js'] });
  await check(s, styled.id, 'edit-step-committed-hook-changed');
  // What the hook made of the file is a proposal of its own, and goes through review (here the policy's) like the first.
  const ready = (await s.events(styled.run)).filter(
    (event) => event.type === 'proposal_ready' || event.type === 'decided',
  );
  expect(ready.map((event) => event.type)).toEqual([
    'proposal_ready',
    'decided',
    'decided',
    'proposal_ready',
    'decided',
  ]);
  expect(s.git('show', 'HEAD:styled.js')).toBe('const one = 2 ;\n');
  expect(s.git('status', '--porcelain', '--', '*.js')).toBe('');
});

describe('changed while the run waited for approval', () => {
  test('one file is left to the person, the other is asked for anew from their bytes', async () => {
    const s = await scenery(['mine.js', 'anew.js']);
    const run = await s.start(
      'two.md',
      '---\ntarget_files: [mine.js, anew.js]\n---\n# Grow\n\nRaise the numbers.\n',
    );
    await s.settle(run);
    s.write('mine.js', one(8));
    s.write('anew.js', one(9));
    await s.answer(run, 'approve');
    const conflict = await s.settle(run);
    expect(conflict.status.decision?.reason).toBe('conflict');
    expect(conflict.status.decision?.files.map((file) => file.path).sort()).toEqual([
      'anew.js',
      'mine.js',
    ]);
    const asked = s.rehearsal.requests().length;
    expect(await s.answer(run, 'take_theirs', { files: ['mine.js'] })).toMatchObject({
      outcome: 'recorded',
    });
    await s.answer(run, 'regenerate', { files: ['anew.js'] });
    const again = await s.settle(run);
    expect(again.status.decision).toMatchObject({
      reason: 'approval',
      files: [{ path: 'anew.js' }],
    });
    expect(
      s.rehearsal
        .requests()
        .slice(asked)
        .map((request) => request.rule),
    ).toEqual(['anew.js']);
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['anew.js'] });
    await check(s, again.workflowId!, 'edit-step-applied-regenerated');
    expect([s.read('mine.js'), s.read('anew.js')]).toEqual([one(8), one(2)]);
  });

  test('saved and not committed: regenerate builds on it, and the commit has the hunks of the edit alone', async () => {
    const before = numbered(40);
    const theirs = before.replace('line 30\n', 'line thirty, by hand\n');
    const block =
      'FILE: n.txt\nFIND:\nline 10\nREPLACE:\nline ten\nEND {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n';
    const s = (open = await scene({ 'n.txt': before }, [
      { name: 'n', match: { contains: '- n.txt' }, answer: block },
    ]));
    await s.worker();
    const keys = 'target_files: [n.txt]\nformat: search-replace\ncommit: true\n';
    const run = await s.start('n.md', `---\n${keys}---\n# Ten\n\nIn words.\n`);
    await s.settle(run);
    s.write('n.txt', theirs);
    await s.answer(run, 'approve');
    expect((await s.settle(run)).status.decision?.reason).toBe('conflict');
    await s.answer(run, 'regenerate');
    expect((await s.settle(run)).status.decision?.reason).toBe('approval');
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', files: ['n.txt'] });
    expect(s.git('show', 'HEAD:n.txt')).toBe(before.replace('line 10\n', 'line ten\n'));
    expect(s.read('n.txt')).toBe(theirs.replace('line 10\n', 'line ten\n'));
  }, 150_000);

  test('the proposal is gone from the disk: blob_lost, and regenerate asks for the change anew', async () => {
    const s = await scenery(['a.js'], {}, OWN_STORE);
    const run = await s.start(
      'one.md',
      '---\ntarget_files: [a.js]\n---\n# Grow\n\nRaise the number.\n',
    );
    const first = await s.settle(run);
    const digits = first.proposal!.ref.slice('sha256:'.length);
    rmSync(join(s.store, 'blobs', digits.slice(0, 2), digits));
    await s.answer(run, 'approve');
    const lost = await s.settle(run);
    expect(lost.status.decision).toMatchObject({ reason: 'blob_lost', files: [] });
    expect(s.read('a.js')).toBe(one(1));
    await check(s, lost.workflowId!, 'edit-step-paused-blob-lost');
    await s.answer(run, 'regenerate');
    const second = await s.settle(run);
    expect(second.status.decision?.reason).toBe('approval');
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['a.js'] });
    expect(s.read('a.js')).toBe(one(2));
  });
});
