/** What tests of runs on repositories share: a bare repository, homes that go with all that they hold, a git that waits before a push. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RehearsalScript } from '../../src/model/rehearsal/script.js';
import { shownKey } from '../../src/shared/ids.js';
import { hostId } from '../../src/stores/home.js';
import { freePort } from '../../src/temporal/dev-server.js';
import { freshStore } from './bucket-store.js';
import { eventually } from './ends.js';
import { scene, type Scene } from './support.js';

interface Daemon {
  readonly url: string;
  readonly end: () => void;
}
/** `git daemon` over the repositories below a directory. `takes`: pushes, too. */
export const serveBelow = async (root: string, takes = true): Promise<Daemon> => {
  const port = await freePort(0);
  const own = ['--export-all', '--listen=127.0.0.1', `--base-path=${root}`, `--port=${port}`];
  const of = [...own, `--${takes ? 'enable' : 'disable'}=receive-pack`];
  const git = spawn('git', ['daemon', ...of], { stdio: 'ignore', detached: true });
  const isUp = (): boolean =>
    spawnSync('git', ['ls-remote', `git://127.0.0.1:${port}/`], {
      encoding: 'utf8',
    }).stderr.includes('not exported');
  for (const end = Date.now() + 10_000; !isUp() && Date.now() < end;) await sleep(20);
  // `git` waits for the daemon, which is a process of its own.
  return { url: `git://127.0.0.1:${port}`, end: () => void process.kill(-git.pid!, 'SIGKILL') };
};

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
  const s = await scene(files, rules, { env: isGroup ? await freshStore() : {} });
  const root = dirname(s.repo);
  const path = join(root, 'origin.git');
  s.git('clone', '-q', '--bare', s.repo, path);
  rmSync(s.repo, { recursive: true });
  for (const dir of [join(root, 'jobs'), s.repo]) mkdirSync(dir, { recursive: true });
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: path, encoding: 'utf8' }).trim();
  let daemon: Daemon | null = null;
  return {
    s,
    url: `file://${path}`,
    git,
    refs: () => git('for-each-ref', '--format=%(refname)').split('\n').sort(),
    serve: async () => {
      daemon = await serveBelow(root);
      return `${daemon.url}/origin.git`;
    },
    close: async () => {
      daemon?.end();
      await s.close();
    },
  };
};

/** A home of its own, whose commits have its name as their author. Its runs look for a host that is gone every 2 s. */
export const homeOf = (s: Scene, name: string): Record<string, string> => ({
  EMEND_HOME: join(dirname(s.repo), name),
  EMEND_SCHEDULETOSTART_MS: '40000',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'user.name',
  GIT_CONFIG_VALUE_0: name,
});
/** Starts a worker that dies at a point, and waits for its first beat: a worker that died before counts as alive for 90 s. */
export const doomedWorker = async (s: Scene, point: string, name: string) => {
  const env = homeOf(s, name);
  const worker = await s.worker(point, env);
  const host = shownKey(await hostId(env.EMEND_HOME ?? ''));
  const { runs, queues } = s.emend;
  await eventually('the first beat', async () => {
    const { workers = [] } = (await runs?.seenAt(queues.workflow, [])) ?? {};
    return workers.some((seen) => seen.host === host && seen.is === 'live');
  });
  return worker;
};
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
