/**
 * A home as `emend dev` leaves it (the database of its server lies in it), with a run in every state, each in a workspace of its own. It
 * can be put back to that moment as often as a test wants, server and workspaces included, and each run can be brought to its end.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  planOfPath,
  readJobFile,
  resolveRun,
  startPlan,
  startStep,
  type ResolvedRun,
} from '../../src/client/index.js';
import { findTemporalCli } from '../../src/temporal/cli-binary.js';
import { startDevServer, type DevServer } from '../../src/temporal/dev-server.js';
import { withHandle } from './ends.js';
import { answerFor, phaseRun, planText, TWO_WAVES } from './plan-support.js';
import { makeRepo, scene, whole, type Scene, type WorkerProcess } from './support.js';

export const STATES = [
  'running',
  'waiting',
  'applied',
  'hooked',
  'committed',
  'aborted',
  'terminated',
  'plan',
] as const;
export type State = (typeof STATES)[number];

/** Runs that go on when they are answered; the others have ended. */
export const OPEN_STATES: readonly State[] = ['running', 'waiting', 'hooked', 'plan'];
const PHASES = TWO_WAVES.slice(0, 2);

export interface EveryState extends Scene {
  /** The home as it was when every run had its state. Nothing is written there. */
  readonly kept: string;
  readonly runs: Readonly<Record<State, ResolvedRun>>;
  repoOf(state: State): string;
  /** Starts one more run, which approves itself and commits `<name>.js`, in a workspace of its own. */
  startIn(name: 'late', text: string): Promise<ResolvedRun>;
  /** Of the server that runs. */
  address(): string;
  /** Commits after the first one. */
  commitsOf(state: State | 'late'): number;
  /** Ends worker and server. */
  stop(): Promise<void>;
  /** Puts home and workspaces back to the moment at which every run had its state. Nothing runs then. */
  restore(): void;
  startServer(): Promise<void>;
}

const job = (file: string, ...keys: readonly string[]): string =>
  [
    '---',
    `target_files: [${file}]`,
    'baseline: off',
    ...keys,
    '---',
    '# Raise it',
    '',
    'Two, please.',
    '',
  ].join('\n');

const KEYS: Readonly<Record<Exclude<State, 'plan'>, readonly string[]>> = {
  running: ['approval: auto', 'commit: true'],
  waiting: ['commit: true'],
  applied: ['approval: auto', 'commit: false'],
  hooked: ['approval: auto', 'commit: true'],
  committed: ['approval: auto', 'commit: true'],
  aborted: ['commit: true'],
  terminated: ['commit: true'],
};

const writeHook = (repo: string, exit: number): void => {
  const path = join(repo, '.git/hooks/pre-commit');
  writeFileSync(path, `#!/bin/sh\nexit ${exit}\n`);
  chmodSync(path, 0o755);
};

/** Commits that a hook refused succeed from now on. */
export const mendHook = (s: EveryState): void => writeHook(s.repoOf('hooked'), 0);

const start = async (
  s: Scene,
  repo: string,
  name: string,
  keys: readonly string[],
): Promise<ResolvedRun> => {
  writeFileSync(join(repo, 'job.md'), job(`${name}.js`, ...keys));
  const found = await readJobFile({ jobPath: join(repo, 'job.md'), workspace: repo, cwd: repo });
  const { stepKey } = await startStep(s.emend, { job: found });
  return resolveRun(s.emend, stepKey);
};

const startPhases = async (s: Scene, repo: string): Promise<ResolvedRun> => {
  const plan = await planOfPath(repo, 'plans/010_demo.md');
  const { stepKey } = await startPlan(s.emend, { plan, options: { estimate: 'approved' } });
  return resolveRun(s.emend, stepKey);
};

const reach = async (s: Scene, repos: ReadonlyMap<State, string>) => {
  const runs = new Map<State, ResolvedRun>();
  const begin = async (state: Exclude<State, 'plan'>): Promise<ResolvedRun> => {
    const run = await start(s, repos.get(state)!, state, KEYS[state]);
    runs.set(state, run);
    return run;
  };
  const worker = await s.worker();
  writeHook(repos.get('hooked')!, 1);
  const plan = await startPhases(s, repos.get('plan')!);
  runs.set('plan', plan);
  for (const state of ['waiting', 'aborted', 'terminated', 'hooked'] as const)
    await s.settle(await begin(state), 90);
  for (const state of ['applied', 'committed'] as const) await s.end(await begin(state));
  await s.answer(runs.get('aborted')!, 'abort');
  await s.end(runs.get('aborted')!);
  await withHandle(s, runs.get('terminated')!, (handle) => handle.terminate('enough'));
  for (const phase of ['p1-1', 'p2-1']) await s.settle(await phaseRun(s, plan, phase), 90);
  await worker.kill('SIGTERM');
  // Dies with a recorded answer that the server has not heard of.
  const killed = await s.worker('proposeEdit:after:1');
  await begin('running');
  await killed.exited;
  if (!killed.fired()) throw new Error('no worker died in the call');
  return Object.fromEntries(runs) as unknown as Record<State, ResolvedRun>;
};

export async function everyState(): Promise<EveryState> {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'emend-states-')));
  const live = join(place, 'live');
  const kept = join(place, 'kept');
  const home = join(live, 'home');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const cli = await findTemporalCli({
    env: { ...process.env, EMEND_TEMPORAL_CLI: process.env.EMEND_TEST_CLI },
  });
  const files = {
    dbFile: join(home, 'server/db/temporal.sqlite'),
    logFile: join(home, 'server/log/server.log'),
  };
  let server: DevServer | null = null;
  let port = 0;
  const startServer = async (): Promise<void> => {
    server = await startDevServer({ home, cli, port, ...files });
    port = Number(server.address.split(':').at(-1));
  };
  await startServer();
  const repos = new Map<State, string>(
    STATES.map((state) => {
      const text = { [`${state}.js`]: 'const a = 1;\n' };
      const plan: Record<string, string> = {
        'plans/010_demo.md': planText(PHASES),
        'emend.yaml': 'test: [node -e 0]\nsandbox: off\n',
      };
      return [state, makeRepo(join(live, state), state === 'plan' ? plan : text)];
    }),
  );
  const rules = [
    ...[...STATES, 'late'].map((state) => ({
      name: state,
      match: { contains: `- ${state}.js` },
      answer: whole({ [`${state}.js`]: 'const a = 2;\n' }),
    })),
    ...PHASES.map((phase) => answerFor(phase)),
  ];
  const env = { TEMPORAL_ADDRESS: '', EMEND_QUEUE: '' };
  const s = await scene({}, rules, { env, home, repo: repos.get('waiting')! });
  const runs = await reach(s, repos);
  const endWorkers = (): Promise<unknown> =>
    Promise.all(s.workers().map((worker: WorkerProcess) => worker.kill()));
  const stop = async (): Promise<void> => {
    await endWorkers();
    await server?.stop();
    server = null;
  };
  await stop();
  execFileSync('cp', ['-a', live, kept]);
  return {
    ...s,
    kept: join(kept, 'home'),
    runs,
    repoOf: (state) => repos.get(state)!,
    commitsOf: (state) =>
      Number(
        execFileSync('git', ['rev-list', '--count', 'HEAD'], {
          cwd: join(live, state),
          encoding: 'utf8',
        }),
      ) - 1,
    stop,
    restore: () => {
      rmSync(live, { recursive: true, force: true });
      execFileSync('cp', ['-a', kept, live]);
    },
    startServer,
    address: () => server?.address ?? '',
    startIn: (name, text) => {
      const repo = makeRepo(join(live, name), { [`${name}.js`]: text });
      return start(s, repo, name, KEYS.running);
    },
    close: async () => {
      await stop();
      await s.close();
      if (existsSync(place)) rmSync(place, { recursive: true, force: true });
    },
  };
}
