/** What comes of the demo's plan, as texts without ids and times, and what is expected of them. */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTwoFilesPatch } from 'diff';
import { eventText } from '../dist/src/cli/render/text.js';

export const EXPECTED = fileURLToPath(new URL('plan/expected', import.meta.url));
/** Folders of the repository whose every file is compared. */
const FOLDERS = ['plans', 'summaries'];
/** Of phases side by side these come in an order of their own. */
const TOLD = [
  'second_score',
  'phase_failed',
  'phase_fallback',
  'trigger_checked',
  'replan_triggered',
  'replanned',
  'plan_finished',
];

/**
 * Map of name -> text: each commit of the branch with what it changed, what the plan's run tells of scores, failures and replans, every
 * file of plan and summary, and what is left over beside them.
 */
export const resultOf = async (repo, events) => {
  const log = [
    'log',
    '--first-parent',
    '-m',
    '--reverse',
    '--name-status',
    '--no-renames',
    '--format=%n%s',
    'HEAD',
    '^:/as npm delivers it',
  ];
  const eventLines = events
    .filter(({ type }) => TOLD.includes(type))
    .map((event) => `${eventText(event)}\n`);
  const result = new Map([
    ['git-log.txt', normal(git(repo, log).trimStart())],
    ['told.txt', normal(eventLines.join(''))],
  ]);
  for (const folder of FOLDERS)
    for (const path of await filesOf(join(repo, folder)))
      result.set(relative(repo, path), normal(await readFile(path, 'utf8')));
  const status = git(repo, ['status', '--porcelain']);
  const worktrees = git(repo, ['worktree', 'list']).trim().split('\n').slice(1);
  const branches = git(repo, ['branch', '--format=%(refname:short)']);
  return result.set(
    'left-over.txt',
    [`branches: ${branches.trim()}`, ...worktrees, status].join('\n').trimEnd() + '\n',
  );
};

const git = (cwd, args) => execFileSync('git', args, { cwd, encoding: 'utf8' });

const filesOf = async (folder) => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
};

/** A date that a person wrote stays: ours stand alone on their line, or have a time. */
const normal = (text) =>
  text
    .replaceAll(/\b[0-9a-f]{12}\b/g, 'COMMIT')
    .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
    // What follows is Node's own wording, which differs from version to version.
    .replaceAll(/^(Phase \d+: tests failed \([^)]*\)): .*$/gm, '$1')
    .replaceAll(/^(\*\*Date\*\*: )\d{4}-\d\d-\d\d$/gm, '$1DATE');

export const compare = async (result) => {
  const expected = new Map();
  for (const path of await filesOf(EXPECTED))
    expected.set(relative(EXPECTED, path), await readFile(path, 'utf8'));
  const names = [...new Set([...expected.keys(), ...result.keys()])];
  const same = names.filter((name) => expected.get(name) === result.get(name));
  const differences = names
    .filter((name) => !same.includes(name))
    .map((name) =>
      createTwoFilesPatch(
        name,
        name,
        expected.get(name) ?? '',
        result.get(name) ?? '',
        'expected',
        'found',
      ),
    );
  return { same, differences };
};

export const write = async (result) => {
  await rm(EXPECTED, { recursive: true, force: true });
  for (const [name, text] of result) {
    const path = join(EXPECTED, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
};
