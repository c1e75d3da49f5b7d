/** Rows C1 and C7, end to end: a filter that a model may write. The run refuses files that need it, and commits others without running it. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
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
  const files = ['a.x', 'free.js', 'tools/clean'];
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
