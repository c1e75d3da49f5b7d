/** A git that hangs is ended, with all that it started, and named. Real git; what hangs is a program of its configuration, or git itself. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { git, repositoryOf } from '../../src/workspace/git/git.js';
import { useLauncher } from '../../src/system/launcher.js';
import { withTimeLimit } from '../../src/system/time-limit.js';
import { longOnly } from '../support/skipped.js';
import { transpile } from '../support/transpile.js';

const { PATH } = process.env;
let dir: string;
let repo: string;
const inRepo = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: repo, encoding: 'utf8' });

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'emend-git-hangs-')));
  repo = join(dir, 'repo');
  await mkdir(repo);
  inRepo('init', '-q', '-b', 'main');
});
afterEach(async () => {
  process.env.PATH = PATH;
  await rm(dir, { recursive: true, force: true });
});

/** Notes its pid and a child's, and neither ends nor heeds SIGTERM; the child holds its outputs open. */
const hanging = async (name: string): Promise<string> => {
  const path = join(dir, name);
  const script = `#!/bin/sh\ntrap '' TERM\nsleep 1000 &\necho "$$ $!" > '${dir}/pids'\nwhile :; do sleep 1000; done\n`;
  await writeFile(path, script, { mode: 0o755 });
  return path;
};
const pids = (): readonly number[] =>
  readFileSync(join(dir, 'pids'), 'utf8').trim().split(' ').map(Number);
const lives = (pid: number): boolean =>
  existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
const gone = async (): Promise<boolean> => {
  for (let tries = 0; tries < 100 && pids().some(lives); tries++) await sleep(20);
  return !pids().some(lives);
};

test('a filter that hangs, and does not listen to SIGTERM: ended with what it started, and the command is named', async () => {
  inRepo('config', 'filter.slow.smudge', await hanging('smudge'));
  await writeFile(join(repo, '.gitattributes'), '*.txt filter=slow\n');
  const id = execFileSync('git', ['hash-object', '-w', '--stdin'], {
    cwd: repo,
    input: 'x\n',
    encoding: 'utf8',
  }).trim();
  const asked = await git(['cat-file', '--filters', '--path=a.txt', id], {
    cwd: repo,
    timeout_ms: 500,
  });
  expect(asked).toMatchObject({
    ok: false,
    problem: {
      code: 'git_failed',
      message: expect.stringContaining(
        `git cat-file in ${repo}: it took longer than 0.5 s and was stopped`,
      ),
    },
  });
  expect(await gone()).toBe(true);
});

describe('74: a git that waits for a named pipe is ended, and the pipe is named', () => {
  const expectNamed = async (path: string, args: readonly string[]): Promise<void> => {
    inRepo('-c', 'user.name=a', '-c', 'user.email=a', 'commit', '-q', '--allow-empty', '-m', 'a');
    const pipe = join(repo, path);
    await mkdir(dirname(pipe), { recursive: true });
    execFileSync('mkfifo', [pipe]);
    expect(await git(args, { cwd: repo, input: '', timeout_ms: 30_000 })).toEqual({
      ok: false,
      problem: {
        code: 'git_failed',
        message: `git ${args[0]} in ${repo} waited for ${pipe}, which is a named pipe. Emend stopped it.`,
        next: `Type: rm '${pipe}'. A command may have made it.`,
      },
    });
  };
  test('.gitignore in a folder', () =>
    expectNamed('deep/below/.gitignore', ['ls-files', '--others', '--exclude-standard']));
  test('.gitignore, by a launcher', async () => {
    const launcher = transpile('git-hangs', 'src/system/launcher-process.ts');
    useLauncher(pathToFileURL(launcher.path));
    try {
      await expectNamed('.gitignore', ['status', '--porcelain']);
    } finally {
      useLauncher(null);
      launcher.remove();
    }
  });
  longOnly('`.gitignore` shows it')('.gitattributes', () =>
    expectNamed('.gitattributes', ['hash-object', '--path=a.txt', '--stdin']),
  );
  longOnly('`.gitignore` shows it')('.mailmap', () => expectNamed('.mailmap', ['log', '-1']));
});

test('in an activity every git ends before the activity does, whatever its own limit is', async () => {
  await writeFile(join(dir, 'git'), `#!/bin/sh\necho $$ > '${dir}/pids'\nexec sleep 1000\n`, {
    mode: 0o755,
  });
  process.env.PATH = `${dir}:${PATH ?? ''}`;
  // A quarter of the limit is kept back for the end and its report. How late a busy machine gets to it is not looked at.
  await expect(withTimeLimit(2_000, () => repositoryOf(repo))).rejects.toThrow(
    /^git rev-parse in .*: it took longer than (?:1(?:\.5|\.[0-4]\d*)?|0\.\d+) s and was stopped$/,
  );
  expect(await gone()).toBe(true);
});

test('a file-system monitor is not asked', async () => {
  inRepo('config', 'core.fsmonitor', await hanging('monitor'));
  await writeFile(join(repo, 'a.txt'), 'a\n');
  const asked = await git(['status', '--porcelain'], { cwd: repo, timeout_ms: 10_000 });
  expect(asked).toMatchObject({ ok: true, value: { text: '?? a.txt\n' } });
  expect(existsSync(join(dir, 'pids'))).toBe(false);
});

test('nobody is asked for a password, neither by git nor by a helper with a window', async () => {
  inRepo('config', 'core.askPass', await hanging('window'));
  const input = 'protocol=https\nhost=git.example.org\n\n';
  const asked = await git(['-c', 'credential.helper=', 'credential', 'fill'], {
    cwd: repo,
    input,
    timeout_ms: 10_000,
  });
  expect(asked).toMatchObject({
    ok: false,
    problem: { message: expect.stringMatching(/terminal prompts disabled/) },
  });
  expect(existsSync(join(dir, 'pids'))).toBe(false);
});

test('no editor and no pager', async () => {
  for (const name of ['GIT_EDITOR', 'GIT_PAGER'])
    expect(await git(['var', name], { cwd: repo, env: { TERM: 'xterm' } })).toMatchObject({
      ok: true,
      value: { text: name === 'GIT_PAGER' ? 'cat\n' : ':\n' },
    });
});
