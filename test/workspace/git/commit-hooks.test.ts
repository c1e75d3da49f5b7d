/** The commit's message is tidied as git does it; and hooks are looked for where git would. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hooksDir, commitSettings, stripSpace } from '../../../src/workspace/git/commit-hooks.js';
import { repositoryOf } from '../../../src/workspace/git/git.js';
import { fuzz } from '../../support/fuzz.js';

let dir: string;
const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
    cwd,
    encoding: 'utf8',
  });
beforeAll(() => {
  dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'emend-message-')));
});
afterAll(() => {
  fs.rmSync(dir, { recursive: true, force: true });
});

const byGit = (text: string): string =>
  execFileSync('git', ['stripspace'], { cwd: dir, input: text, encoding: 'utf8' });

test('a message is tidied as git stripspace does it', () => {
  const piece = fc.constantFrom(
    ' ',
    '\t',
    '\r',
    '\n',
    '\n',
    '\n\n',
    'a',
    'ü',
    '#',
    '\v',
    '\f',
    '\u00a0',
    'two words',
  );
  const text = fc.array(piece, { maxLength: 30 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, (message) => {
      expect(stripSpace(message)).toBe(byGit(message));
    }),
    fuzz('stripSpace', 60),
  );
});

const mayHave = async (at: string): Promise<boolean> => {
  const repository = await repositoryOf(at);
  return (
    repository !== null &&
    (await hooksDir(repository, await commitSettings(repository.root))) !== null
  );
};

test('hooks are found where git looks for them: in the repository, from a linked worktree, at a configured place', async () => {
  const repo = join(dir, 'repo');
  fs.mkdirSync(join(repo, 'below'), { recursive: true });
  git(repo, 'init', '-q');
  git(repo, 'commit', '-q', '--allow-empty', '-m', 'base');
  git(repo, 'worktree', 'add', '-q', join(dir, 'linked'));
  const places = [repo, join(repo, 'below'), join(dir, 'linked')];
  const found = (): Promise<boolean[]> => Promise.all(places.map(mayHave));
  fs.rmSync(join(repo, '.git', 'hooks'), { recursive: true, force: true });
  expect(await found()).toEqual([false, false, false]);
  fs.mkdirSync(join(repo, '.git', 'hooks'));
  fs.writeFileSync(join(repo, '.git', 'hooks', 'pre-commit'), '');
  expect(await found()).toEqual([true, true, true]);
  git(repo, 'config', 'core.hooksPath', 'elsewhere');
  expect(await found()).toEqual([false, false, false]);
  for (const top of [repo, join(dir, 'linked')]) {
    fs.mkdirSync(join(top, 'elsewhere'));
    fs.writeFileSync(join(top, 'elsewhere', 'commit-msg'), '');
  }
  expect(await found()).toEqual([true, true, true]);
});
