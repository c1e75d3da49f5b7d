/** The exam over a small repository made here: what is reported of which commit, and that every path that it draws has a parser. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dataLanguageOf } from '../../../src/syntax/index.js';
import { DATA_PATHS, guardExam } from './exam.js';

let repo: string;
const git = (...args: string[]): void =>
  void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], {
    cwd: repo,
    env: { PATH: process.env.PATH ?? '', HOME: repo, GIT_CONFIG_NOSYSTEM: '1' },
  });
const commit = (files: Readonly<Record<string, string>>): void => {
  for (const [path, text] of Object.entries(files)) writeFileSync(join(repo, path), text);
  git('add', '-A');
  git('commit', '-qm', 'a');
};

beforeAll(() => {
  repo = mkdtempSync(join(tmpdir(), 'exam guards '));
  git('init', '-q');
  commit({ 'a.json': '{"a": 1}\n', 'a.sh': 'a\n', 'b.yml': 'a: 1\n' });
  commit({ 'a.json': '{"a": 2}\n' });
  commit({ 'a.sh': 'a &amp;&amp; b\n' });
  commit({ 'a.json': '{"a": 2,}\n', 'a.sh': 'c\n' });
  commit({ 'b.yml': 'a: b: 1\n' });
});
afterAll(() => {
  rmSync(repo, { recursive: true, force: true });
});

const options = () => ({
  repo,
  ref: 'HEAD',
  count: 10,
  seed: 1,
  guards: new Set(['syntax', 'escaped_text']),
  anyCommit: false,
});

test('commits that touch data files are drawn, and each finding names its commit', async () => {
  const { commits, files, alarms } = await guardExam(options());
  expect([commits, [...files].sort()]).toEqual([
    4,
    [
      ['JSON', 3],
      ['YAML', 2],
    ],
  ]);
  expect(alarms.map(({ guard, path }) => `${guard} ${path}`).sort()).toEqual([
    'syntax a.json',
    'syntax b.yml',
  ]);
  expect(new Set(alarms.map((alarm) => alarm.commit)).size).toBe(2);
});

test('any commit can be drawn, and only the guards that were asked for are reported', async () => {
  const any = await guardExam({ ...options(), anyCommit: true });
  expect([any.commits, any.alarms.length]).toEqual([5, 3]);
  const one = await guardExam({ ...options(), anyCommit: true, guards: new Set(['escaped_text']) });
  expect(one.alarms.map(({ path }) => path)).toEqual(['a.sh']);
});

test('each drawn path has a parser', () => {
  const named = DATA_PATHS.map((path) => path.replace('*', path.startsWith('*.') ? 'a' : 'a/'));
  expect(named.filter((path) => dataLanguageOf(path) === null)).toEqual([]);
});
