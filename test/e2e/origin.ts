/** What tests of runs on repositories share: a bare repository, homes that go with all that they hold, a git that waits before a push. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { RehearsalScript } from '../../src/model/rehearsal/script.js';
import { scene, type Scene } from './support.js';

export interface Origin {
  readonly s: Scene;
  readonly url: string;
  readonly git: (...args: string[]) => string;
  /** Names of its references. */
  readonly refs: () => readonly string[];
  /** Over `git daemon`, which serves no commit by its id. */
  readonly serve: () => Promise<string>;
  readonly close: () => Promise<void>;
}

/** A scene with a bare repository, `origin.git`, and no working tree of it: what is edited is not the scene's own. `isGroup`: homes share a store. */
export const originScene = async (
  files: Record<string, string>,
  rules: RehearsalScript['rules'],
  isGroup = false,
): Promise<Origin> => {
  const store = isGroup ? realpathSync(mkdtempSync(join(tmpdir(), 'emend-group-'))) : null;
  const s = await scene(files, rules, { env: store === null ? {} : { EMEND_STORE: store } });
  const root = dirname(s.repo);
  const path = join(root, 'origin.git');
  s.git('clone', '-q', '--bare', s.repo, path);
  rmSync(s.repo, { recursive: true });
  for (const dir of [join(root, 'jobs'), s.repo]) mkdirSync(dir, { recursive: true });
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: path, encoding: 'utf8' }).trim();
  let daemon: ChildProcess | null = null;
  return {
    ...{ s, url: `file://${path}`, git },
    refs: () => git('for-each-ref', '--format=%(refname)').split('\n').sort(),
    serve: async () => {
      const port = await freePort();
      const of = ['--export-all', '--enable=receive-pack', '--listen=127.0.0.1', `--base-path=${root}`];
      daemon = spawn('git', ['daemon', ...of, `--port=${port}`], { stdio: 'ignore' });
      return `git://127.0.0.1:${port}/origin.git`;
    },
    close: async () => {
      daemon?.kill();
      await s.close();
      if (store !== null) rmSync(store, { recursive: true });
    },
  };
};

/** A home of its own; whose commits are told apart. */
export const homeOf = (s: Scene, name: string): Record<string, string> => ({
  EMEND_HOME: join(dirname(s.repo), name),
  ...{ GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'user.name', GIT_CONFIG_VALUE_0: name },
});
export const bury = (s: Scene, name: string): void => {
  for (const each of ['', '-repositories', '-worktrees'])
    rmSync(join(dirname(s.repo), name + each), { recursive: true, force: true });
};

/** A `git` that holds the first push of a branch until the file `go` is there, and says then how it ended. `subject`: of a commit like that. */
export const holdingGit = (dir: string, subject = ''): string => {
  const real = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const lines = [
    '#!/bin/sh',
    `case "$*" in *" push "*:refs/heads/emend/*) [ -e '${dir}/held' ] || {`,
    `tip=$(printf '%s\\n' "$@" | sed -n 's,:refs/heads/emend/.*,,p' | tail -1)`,
    `case "$('${real}' log -1 --format=%s "$tip")" in '${subject}'*)`,
    `: > '${dir}/held'; while [ ! -e '${dir}/go' ]; do sleep 0.1; done`,
    `'${real}' "$@"; echo $? > '${dir}/code'; mv '${dir}/code' '${dir}/ended'; exit 1; ;; esac; };; esac`,
    `exec '${real}' "$@"`,
  ];
  mkdirSync(dir);
  writeFileSync(join(dir, 'git'), `${lines.join('\n')}\n`, { mode: 0o755 });
  return dir;
};

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        resolve(port);
      });
    });
  });
