/** The exam over a small repository made here: it picks the right commits, hides file names, and can tell what is not found. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modelAt, rule, withRehearsal } from '../../model/support.js';
import { exam, share, tasksOf, withoutNames } from './exam.js';

let repo: string;
const git = (...args: string[]): void =>
  void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], {
    cwd: repo,
  });
const commit = (message: string, files: Record<string, string>): void => {
  for (const [path, text] of Object.entries(files)) writeFileSync(join(repo, path), text);
  git('add', '-A');
  git('commit', '-qm', message);
};
beforeAll(() => {
  repo = mkdtempSync(join(tmpdir(), 'exam pick '));
  git('init', '-q');
  mkdirSync(join(repo, 'test'));
  const many = Array.from(
    { length: 80 },
    (_, i) => [`filler${i}.js`, `export const filler${i} = "lorem";\n`] as const,
  );
  commit('first', {
    ...Object.fromEntries(many),
    'kettle.js': 'export const boil = 1;\n',
    'zzz.js': 'export const q = 1;\n',
  });
  commit('A new file', { 'new.js': '1;\n' });
  commit('Boil longer in kettle.js', {
    'kettle.js': 'export const boil = 2;\n',
    'test/kettle.js': '1;\n',
  });
  commit('Words alone', { 'README.md': 'x\n' });
  commit('Lorem', { 'zzz.js': 'export const q = 2;\n' });
});
afterAll(() => {
  rmSync(repo, { recursive: true, force: true });
});

test('commits of modified code, tests and prose beside; found and not found', async () => {
  const tasks = tasksOf(repo, 'HEAD', 10);
  expect(tasks.map(({ message, changed }) => [message.trim(), changed])).toEqual([
    ['Lorem', ['zzz.js']],
    ['Boil longer in kettle.js', ['kettle.js']],
  ]);
  const all = await exam(repo, tasks, {}, () => undefined);
  expect(all.map(({ rank }) => rank)).toEqual([Infinity, 1]);
  expect(share(all, ({ rank }) => rank, 10)).toBe(50);
  expect(all[1]).toMatchObject({ plainRank: 1 });
  expect(all[1]?.tokens).toBeGreaterThan(100);
});

test('a model picks from the list, asks for other words once, and is no good where it names what is not there', async () => {
  const picks = (body: string): string => `${body}\nEMEND-COMPLETE {{nonce}} 0 0\n`;
  const rules = [
    rule(picks('{"files": [{"path": "zzz.js", "why": "q"}]}'), {
      name: 'again',
      match: { contains: 'What was looked for' },
    }),
    rule(picks('{"look_for": ["zzz"]}'), { name: 'look', match: { contains: '\nLorem' } }),
    rule(picks('{"files": [{"path": "lid.js", "why": "?"}]}')),
  ];
  const all = await withRehearsal(rules, ({ url }) =>
    exam(
      repo,
      tasksOf(repo, 'HEAD', 10),
      { model: { name: 'm', port: modelAt(url) } },
      () => undefined,
    ),
  );
  expect(all.map(({ model }) => model)).toMatchObject([
    { files: ['zzz.js'], calls: 2 },
    { files: null, why: expect.stringContaining('lid.js'), calls: 1 },
  ]);
});

test('names of files are taken out, other words stay', () => {
  expect(withoutNames('See `src/a.ts:12`, a.ts. And b.ts', ['src/a.ts'])).toBe('See ``,  And b.ts');
});
