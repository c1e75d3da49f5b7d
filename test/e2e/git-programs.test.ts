/** Rows C1 and C7, end to end: a filter that a model may write. The run refuses files that need it, and commits others without running it. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { publish } from '../../src/cli/headless/approve.js';
import { fakeIo } from '../cli/io.js';
import { emendCommand } from './ends.js';
import { answerFor, planText, startDemo, type DemoPhase } from './plan-support.js';
import { scene, whole, type Scene } from './support.js';

const job = (path: string, ...keys: readonly string[]): string =>
  [
    '---',
    `target_files: [${path}]`,
    'approval: auto',
    ...keys,
    '---',
    '# Grow',
    '',
    'Add a line.',
    '',
  ].join('\n');

let s: Scene;
beforeAll(async () => {
  const files = ['a.x', 'free.js', 'undo.js', 'push.js', 'tools/clean'];
  s = await scene(
    {
      ...Object.fromEntries(files.map((path) => [path, 'one\n'])),
      '.gitattributes': '*.x filter=x\n',
    },
    files.map((path) => ({
      name: path,
      match: { contains: path },
      answer: whole({ [path]: 'one\ntwo\n' }),
    })),
  );
  await s.worker();
}, 60_000);
afterAll(() => s.close());

test('C1: a filter in config.worktree does not run; its files are refused before anything is paid, others are committed', async () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: s.repo, encoding: 'utf8' });
  const mark = join(s.repo, '.git/ran');
  git('config', 'extensions.worktreeConfig', 'true');
  git('config', '--worktree', 'filter.x.clean', `sh ./tools/build; touch ${mark}`);

  const refused = await s.start('refused.md', job('a.x', 'commit: true'));
  const key = `needs filter.x.clean (${join(s.repo, '.git/config.worktree')}:2)`;
  expect(await s.end(refused)).toMatchObject({
    outcome: 'refused',
    problem: { code: 'git_program', message: expect.stringContaining(key) },
  });

  const free = await s.start('free.md', job('free.js', 'commit: true', 'test: test -f free.js'));
  expect(await s.end(free)).toMatchObject({ outcome: 'committed' });
  expect(existsSync(mark)).toBe(false);

  // The program is protected: your own git runs it.
  git('config', '--worktree', 'filter.x.clean', 'cd tools && sh tools/clean');
  const protectedRun = await s.start('protected.md', job('tools/clean'));
  expect((await s.settle(protectedRun)).proposal?.mustAsk).toEqual([
    "protected path tools/clean: git's configuration uses it",
  ]);
  await s.answer(protectedRun, 'skip');
  await s.end(protectedRun);
  expect(readFileSync(join(s.repo, 'free.js'), 'utf8')).toBe('one\ntwo\n');
}, 120_000);

/** Makes a program in the workspace that leaves a mark. `then`: what it does after that. Returns whether it ran. */
const hostileProgram = ({ repo }: Scene, then = 'cat'): (() => boolean) => {
  const mark = join(repo, '.git/ran');
  rmSync(mark, { force: true });
  mkdirSync(join(repo, 'tools'), { recursive: true });
  writeFileSync(join(repo, 'tools/build'), `#!/bin/sh\ntouch '${mark}'\n${then}\n`, {
    mode: 0o755,
  });
  return () => existsSync(mark);
};

test('C15: neither an undo nor a push runs a program of the workspace', async () => {
  const hasFilterRun = hostileProgram(s);
  const applied = await s.start('undo.md', job('undo.js'));
  expect(await s.end(applied)).toMatchObject({ outcome: 'applied' });
  writeFileSync(join(s.repo, '.git/info/attributes'), '*.js filter=y\n');
  for (const name of ['clean', 'smudge']) s.git('config', `filter.y.${name}`, './tools/build');
  expect(await emendCommand(s, 'undo')).toMatchObject({ code: 0 });
  expect(s.read('undo.js')).toBe('one\n');
  expect(hasFilterRun()).toBe(false);
  writeFileSync(join(s.repo, '.git/info/attributes'), '');

  // Git waits for an answer of this program, so it must end.
  const hasRun = hostileProgram(s, 'exit 1');
  const committed = await s.start('push.md', job('push.js', 'commit: true'));
  const result = await s.end(committed);
  expect(result).toMatchObject({ outcome: 'committed' });
  s.git('remote', 'add', 'origin', 'ssh://host.invalid/x');
  s.git('config', 'core.sshCommand', './tools/build');
  const how = { branch: 'emend/push', remote: 'origin', pullRequest: false };
  const about = { workspace: s.repo, title: 'Push', run: committed.stepKey };
  await expect(
    publish(fakeIo({ cwd: s.repo, env: s.env }), result, how, about),
  ).rejects.toMatchObject({
    problem: {
      code: 'git_program',
      message: expect.stringContaining('needs core.sshcommand'),
      next: expect.not.stringContaining('git push'),
    },
  });
  expect(hasRun()).toBe(false);
  expect(() => s.git('push', 'origin', 'main')).toThrow('Could not read from remote');
  expect(hasRun()).toBe(true);
}, 120_000);

test('a merge of phases does not run a driver of the workspace', async () => {
  const both: readonly DemoPhase[] = [
    { name: 'One', file: 'src/same.js', dependencies: [] },
    { name: 'Two', file: 'src/same.js', dependencies: [] },
  ];
  const plan = await scene(
    { 'plans/010_demo.md': planText(both), 'emend.yaml': 'test: false\n' },
    both.map((phase, index) => ({
      ...answerFor(phase, `export const made = [${index}];\n`),
      match: { contains: ['- src/same.js', `Phase ${index + 1}: ${phase.name}`] },
    })),
  );
  try {
    const hasRun = hostileProgram(plan);
    mkdirSync(join(plan.repo, '.git/info'), { recursive: true });
    writeFileSync(join(plan.repo, '.git/info/attributes'), 'src/*.js merge=y\n');
    plan.git('config', 'merge.y.driver', `${plan.repo}/tools/build`);
    await plan.worker();
    const run = await startDemo(plan, { approval: 'auto' });
    const { status } = await plan.settle(run, 150);
    expect(JSON.stringify(status)).toContain('merge.y.driver');
    expect(hasRun()).toBe(false);
  } finally {
    await plan.close();
  }
}, 200_000);
