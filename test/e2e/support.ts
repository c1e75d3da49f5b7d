/** What end-to-end tests share: a home, a git workspace, the rehearsal server, worker processes that are really killed, the client. */
import { createTrust, jobOf } from '../../src/workspace/trust/index.js';
import { spawn, execFileSync, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  decide,
  openEmend,
  readJobFile,
  resolveRun,
  runEvents,
  showRun,
  startStep,
  waitForRun,
  type Emend,
  type ResolvedRun,
  type RunView,
  type StepEvent,
  type StepResult,
} from '../../src/client/index.js';
import { openDecision } from '../../src/client/runs/decide.js';
import { type Rehearsal, startRehearsal } from '../../src/model/rehearsal/server.js';
import { answerByFace } from './faces.js';
import { keepServer } from './bucket-store.js';
import { homesOf, noteShares } from './homes.js';
import type { ModelRequest } from '../../src/model/ports.js';
import type { RehearsalScript } from '../../src/model/rehearsal/script.js';

/** Time-outs of seconds, also for an owner of a call that is silent, as crash tests want them. */
const FAST: Record<string, string> = {
  EMEND_HEARTBEAT_MS: '200',
  EMEND_HEARTBEATTIMEOUT_MS: '1500',
  EMEND_HOSTHEARTBEATTIMEOUT_MS: '1500',
  EMEND_COMMANDHEARTBEATTIMEOUT_MS: '1500',
  EMEND_CALLOWNER_MS: '1500',
  EMEND_RETRYINITIAL_MS: '100',
  EMEND_RETRYMAXIMUM_MS: '1000',
  EMEND_OUTAGEWAIT_MS: '100',
  EMEND_OUTAGEMAXWAIT_MS: '1000',
  EMEND_STICKYWAIT_MS: '1000',
  EMEND_LOCKPOLL_MS: '200',
  EMEND_ACCEPTWAIT_MS: '3000',
  EMEND_SHUTDOWNGRACE_MS: '2000',
};

export interface Scene {
  readonly home: string;
  /** Place of blobs, records, calls and archives: the home, or on a cluster a bucket that two homes share (homes.ts). */
  readonly store: string;
  readonly repo: string;
  readonly env: Record<string, string | undefined>;
  readonly rehearsal: Rehearsal;
  readonly emend: Emend;
  /** A worker process; `crash` as crash-worker.js reads it, `env` over the scene's. Resolves when it polls. */
  worker(crash?: string, env?: Record<string, string>): Promise<WorkerProcess>;
  /** All that were started, those that have ended, too. */
  workers(): readonly WorkerProcess[];
  start(
    job: string,
    text: string,
    options?: { again?: boolean; hints?: string[] },
  ): Promise<ResolvedRun>;
  show(run: ResolvedRun): Promise<RunView>;
  /** Until the run pauses or ends; throws after `limit_s`. */
  settle(run: ResolvedRun, limit_s?: number): Promise<RunView>;
  answer(
    run: ResolvedRun,
    answer: string,
    more?: {
      files?: string[];
      note?: string;
      decision?: string;
      set?: NonNullable<Parameters<typeof decide>[2]['set']>;
    },
  ): ReturnType<typeof decide>;
  end(run: ResolvedRun, limit_s?: number): Promise<StepResult>;
  /** Waits for a condition, at most `limit_s`. */
  until(condition: () => boolean, limit_s?: number): Promise<void>;
  events(run: ResolvedRun): Promise<readonly StepEvent[]>;
  git(...args: string[]): string;
  read(path: string): string;
  write(path: string, content: string): void;
  close(): Promise<void>;
}
/** Answers as a model would write them; the rehearsal server fills in nonces and line checks. */
export const whole = (files: Record<string, string>): string => {
  const bodies = Object.entries(files).map(
    ([path, content]) => `FILE ${path} {{nonce}}\n${content}END FILE {{nonce}}\n`,
  );
  return `${bodies.join('')}EMEND-COMPLETE {{nonce}} ${bodies.length} ${bodies.length}\n`;
};
/** `reason`: why there are no operations. */
export const structured = (
  operations: readonly Record<string, unknown>[],
  reason?: string,
): string =>
  JSON.stringify({ summary: 'change', operations, reason, complete: true, nonce: '{{nonce}}' });
export const numbered = (lines: number): string =>
  Array.from({ length: lines }, (_, i) => `line ${i + 1}\n`).join('');

/** Returns the requests that the calls of a scene have recorded, as they were sent. */
export const requestsOf = async ({ emend }: Pick<Scene, 'emend'>) => {
  const { files, store } = emend;
  const calls = (await files.list(`${store}/calls`)).filter(({ path }) =>
    path.endsWith('/call.json'),
  );
  const texts = await Promise.all(calls.map(({ path }) => files.readText(path)));
  return texts.map((text) => {
    const call: unknown = JSON.parse(Buffer.from(text, 'latin1').toString());
    return (call as { readonly request: ModelRequest }).request;
  });
};

export interface WorkerProcess {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly mark: string;
  /** Did the planned fault fire? */
  readonly fired: () => boolean;
  /** What it has written to its standard output. */
  readonly said: () => string;
  /** Lets an execution that the fault holds go on. */
  go(): void;
  exited: Promise<void>;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

const git = (repo: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...args], {
    cwd: repo,
    encoding: 'utf8',
  });

export const makeRepo = (dir: string, files: Record<string, string | Buffer>): string => {
  mkdirSync(dir, { recursive: true });
  git(dir, 'init', '-q', '-b', 'main');
  git(dir, 'config', 'user.name', 'Test');
  git(dir, 'config', 'user.email', 'test@example.org');
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
  git(dir, 'add', '-A');
  git(dir, 'commit', '-q', '-m', 'base');
  return realpathSync(dir);
};

/** Makes the tests' server the dev server of this home, as `emend dev` leaves it: runs get one queue for all roles. EMEND_TEST_OWN=1: for every scene. */
const ownServer = (home: string): Record<string, string> => {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  copyFileSync(
    join(process.env.EMEND_TEST_SERVER_HOME ?? '', 'dev-server.json'),
    join(home, 'dev-server.json'),
  );
  return { TEMPORAL_ADDRESS: '', EMEND_QUEUE: '' };
};

/** The test is the person who wrote the job. A content that a run applied without an approval stays what it is. */
async function trustOwnJob(
  { home, repo }: Pick<Scene, 'home' | 'repo'>,
  path: string,
  text: string,
): Promise<void> {
  const trust = createTrust({ home });
  const job = await jobOf(repo, path, text);
  const doubts = await trust.doubts(repo, [job]).catch(() => []);
  if (doubts.some(({ reason }) => reason.includes('after a command')))
    await trust.accept(repo, [job]);
}

export async function scene(
  files: Record<string, string | Buffer>,
  script: RehearsalScript | RehearsalScript['rules'],
  more: {
    env?: Record<string, string>;
    address?: string;
    repo?: string;
    own?: boolean;
    home?: string;
  } = {},
): Promise<Scene> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend-e2e-')));
  const home = more.home ?? join(dir, 'home');
  // Two homes on one workspace: the second scene is given the first one's.
  const repo = more.repo ?? makeRepo(join(dir, 'a repo'), files);
  const rehearsal = await startRehearsal(Array.isArray(script) ? { v: 1, rules: script } : script);
  const env: Record<string, string | undefined> = {
    ...process.env,
    ...FAST,
    EMEND_HOME: home,
    EMEND_QUEUE: `t-${randomUUID().slice(0, 8)}`,
    TEMPORAL_ADDRESS: more.address ?? process.env.EMEND_TEST_ADDRESS,
    ANTHROPIC_BASE_URL: rehearsal.url,
    ANTHROPIC_API_KEY: 'test-key-that-must-not-leak',
    ...(await homesOf(dir, more.env ?? {})),
    ...((more.own ?? process.env.EMEND_TEST_OWN === '1') ? ownServer(home) : {}),
    ...more.env,
  };
  const emend = await openEmend({ env });
  const letServerGo = keepServer();
  const workers: WorkerProcess[] = [];
  let count = 0;

  const worker: Scene['worker'] = async (crash, over = {}) => {
    const mark = join(dir, `fault-${count++}`);
    const child = spawn(process.execPath, [join(process.cwd(), 'test/support/crash-worker.js')], {
      env: {
        ...env,
        ...over,
        CRASH: crash ?? '',
        CRASH_MARK: mark,
        NODE_OPTIONS: over.NODE_OPTIONS ?? '',
      },
      stdio: [
        'ignore',
        'pipe',
        process.env.EMEND_TEST_VERBOSE === undefined ? 'ignore' : 'inherit',
      ],
    });
    const exited = new Promise<void>((resolve) =>
      child.once('exit', () => {
        resolve();
      }),
    );
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => {
        resolve();
      });
      child.once('exit', (code, signal) => {
        reject(new Error(`worker ended before it was ready: ${String(code)} ${String(signal)}`));
      });
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const running: WorkerProcess = {
      pid: child.pid!,
      child,
      mark,
      fired: () => existsSync(mark),
      said: () => said,
      go: () => {
        writeFileSync(`${mark}-go`, '');
      },
      exited,
      kill: async (signal = 'SIGKILL') => {
        if (child.exitCode === null && child.signalCode === null) child.kill(signal);
        await exited;
      },
    };
    workers.push(running);
    return running;
  };
  const start: Scene['start'] = async (path, text, options = {}) => {
    mkdirSync(dirname(join(repo, path)), { recursive: true });
    writeFileSync(join(repo, path), text);
    const job = await readJobFile({ jobPath: join(repo, path), workspace: repo, cwd: repo });
    await trustOwnJob({ home, repo }, path, text);
    // The server knows a run by its workflow id at once, and by its key when its list of runs has caught up.
    const { workflowId } = await startStep(emend, { job, ...options });
    return resolveRun(emend, workflowId);
  };
  const settle: Scene['settle'] = async (run, limit_s = 40) => {
    const end = Date.now() + limit_s * 1000;
    for (;;) {
      const view = await showRun(emend, run).catch(() => null);
      if (view !== null && (view.status.decision !== null || view.status.result !== null))
        return view;
      if (Date.now() > end)
        throw new Error(
          `not settled in ${limit_s} s: ${JSON.stringify(view?.status.doing ?? view)}`,
        );
      await sleep(100);
    }
  };
  const openPoint = async (run: ResolvedRun, id: string) => {
    const { source, status } = await showRun(emend, run, { full: false });
    return source === 'run' && status.decision?.id === id ? status.decision : null;
  };
  return {
    home,
    store: emend.store,
    repo,
    env,
    rehearsal,
    emend,
    worker,
    workers: () => workers,
    start,
    settle,
    show: (run) => showRun(emend, run),
    answer: async (run, written, more2 = {}) => {
      const answer = written as 'approve';
      const open =
        more2.decision ?? (await openDecision(emend, run, { answer, files: more2.files ?? [] }));
      const decision = open === null || typeof open === 'string' ? open : open.id;
      const point = typeof open === 'string' ? await openPoint(run, open) : open;
      // What is to be refused, and by whom, is the library's own.
      if (
        point?.accepts.includes(answer) === true &&
        (written !== 'revise' || more2.note !== undefined)
      )
        return answerByFace({ emend, env, repo }, run, point, { answer, ...more2 });
      const by = { name: 'tester', from: 'cli' };
      return decide(emend, run, {
        answer,
        by,
        ...more2,
        ...(decision === null ? {} : { decision }),
      });
    },
    end: async (run, limit_s = 120) => {
      const limit = new AbortController();
      const timer = setTimeout(() => {
        limit.abort();
      }, limit_s * 1000);
      try {
        const waited = await waitForRun(emend, run, { throughPauses: true, signal: limit.signal });
        if (waited.outcome !== 'closed' || waited.result === null)
          throw new Error(`did not end: ${JSON.stringify(waited)}`);
        return waited.result;
      } finally {
        clearTimeout(timer);
      }
    },
    until: async (condition, limit_s = 30) => {
      const end = Date.now() + limit_s * 1000;
      while (!condition()) {
        if (Date.now() > end) throw new Error(`did not come within ${limit_s} s`);
        await sleep(50);
      }
    },
    // Where a worker has no time to answer, they come from the archive, as it is now.
    events: async (run) =>
      runEvents(emend, { ...run, archived: (await resolveRun(emend, run.stepKey)).archived }),
    git: (...args) => git(repo, ...args),
    read: (path) => readFileSync(join(repo, path), 'utf8'),
    write: (path, content) => {
      writeFileSync(join(repo, path), content);
    },
    close: async () => {
      await Promise.all(workers.map((each) => each.kill('SIGKILL')));
      await noteShares(emend, env.EMEND_TEST_SECOND_HOME ?? '');
      await emend.close();
      await rehearsal.close();
      await letServerGo();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The port of a server that chose it itself, for one that takes its place. */
export const portsOf = ({ address }: { readonly address: string }) => ({
  port: Number(address.split(':').at(-1)),
});
