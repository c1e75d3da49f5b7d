/** The scratch copy of a task: a git repository of its own, what it holds afterwards, and whether the task is done. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { check_ms, checkOutput_chars } from './limits.js';
import type { Files, Task } from './task.js';

const git = (dir: string, ...args: string[]): string =>
  execFileSync(
    'git',
    [
      '-c',
      'user.name=Exam',
      '-c',
      'user.email=exam@example.org',
      '-c',
      'core.autocrlf=false',
      ...args,
    ],
    {
      cwd: dir,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );

export const layOut = (dir: string, files: Files): string => {
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), bytes);
  }
  return realpathSync(dir);
};

/** A repository with one commit: the task's files and `extra` (the configuration of the exam). Returns its real path. */
export const makeScratch = (dir: string, task: Task, extra: Files): string => {
  mkdirSync(dir, { recursive: true });
  git(dir, 'init', '-q', '-b', 'main');
  git(dir, 'config', 'user.name', 'Exam');
  git(dir, 'config', 'user.email', 'exam@example.org');
  git(dir, 'config', 'core.autocrlf', 'false');
  const real = layOut(dir, new Map([...task.base, ...extra]));
  git(dir, 'add', '-A', '-f');
  git(dir, 'commit', '-q', '--allow-empty', '-m', 'before');
  return real;
};

/** Every file outside `.git`. */
export const filesOf = (dir: string): Files =>
  new Map(
    readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !relative(dir, path).startsWith('.git/'))
      .sort()
      .map((path): [string, Buffer] => [relative(dir, path), readFileSync(path)]),
  );

/** Paths whose bytes differ, or that only one side has, other than those that may. */
export const changedOutside = (
  before: Files,
  after: Files,
  allowed: readonly string[],
): readonly string[] =>
  [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => !allowed.includes(path))
    .filter((path) => {
      const [was, is] = [before.get(path), after.get(path)];
      return was === undefined || is === undefined || !was.equals(is);
    })
    .sort();

export interface Checked {
  readonly passed: boolean;
  /** Why not, in a line or two; empty where it passed. */
  readonly why: string;
}

/** Runs the task's check in `dir`, with nothing of our environment that a program does not need. */
export const check = (task: Task, dir: string): Checked => {
  if (task.check === null) return sameBytes(task, filesOf(dir));
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [task.check], {
    cwd: dir,
    timeout: check_ms,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: dir },
  });
  if (status === 0) return { passed: true, why: '' };
  const said = `${stdout}${stderr}`.trim().slice(-checkOutput_chars);
  return {
    passed: false,
    why: said === '' ? `the check ended with ${status ?? signal ?? 'nothing'}` : said,
  };
};

/** What a workspace came to, whoever edited it. `otherwise`: the outcome where nothing was `applied`. */
export const judged = (
  task: Task,
  {
    workspace,
    files,
    applied,
    otherwise,
  }: {
    readonly workspace: string;
    readonly files: Files;
    readonly applied: boolean;
    readonly otherwise: string;
  },
) => {
  const after = check(task, workspace);
  const outside = changedOutside(files, filesOf(workspace), applied ? task.changes : []);
  // A file that nobody asked for is a wrong edit, whatever the check says.
  const right = after.passed && outside.length === 0;
  return { outcome: applied ? (right ? 'solved' : 'wrong') : otherwise, after, outside };
};

const sameBytes = (task: Task, files: Files): Checked => {
  const differ = [...task.solved].filter(
    ([path, bytes]) => files.get(path)?.equals(bytes) !== true,
  );
  return differ.length === 0
    ? { passed: true, why: '' }
    : { passed: false, why: `not the expected bytes: ${differ.map(([path]) => path).join(', ')}` };
};
