/** What hosts are lost in: a bare repository behind `git daemon`, an object store, a model, and hosts as docker-compose.yml has them. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
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
import { randomOf } from '../chaos/random.js';
import { startHost, type ComposeHost, type HostsWanted } from '../support/compose-hosts.js';
import type { Seaweed } from '../support/seaweed.js';
import { seed } from '../support/seeded.js';
import { AFTER, BEFORE } from './group.js';
import { serveBelow } from './origin.js';
import { completed, planText } from './plan-support.js';
import { scene, whole, type Scene } from './support.js';

export interface LostHostsWanted {
  /** One of them is a plan. */
  readonly runs: number;
  readonly kills: number;
  readonly hosts: number;
  /** Of docker-compose.yml: what each host runs. */
  readonly services: readonly string[];
  readonly seaweed: Seaweed;
  /** What starts the same once more; the seed is added. */
  readonly again: string;
  readonly limit_ms: number;
}
/** What is started on the repository; a run's number tells it from the others. */
export interface Kind {
  /** Its files in the repository, before (null: there was none) and after. */
  files(n: number): Readonly<Record<string, readonly [before: string | null, after: string]>>;
  /** Those that a model answers with. */
  asked(n: number): readonly string[];
  start(world: World, n: number): Promise<ResolvedRun>;
  readonly outcome: string;
  /** Subjects of its commits over the base, oldest first. */
  commits(n: number): readonly string[];
  /** The run's own key, or those of its phases: of what asked a model. */
  keys(run: ResolvedRun): readonly string[];
  /** Those that its commits name, oldest first. */
  commitKeys(run: ResolvedRun): readonly string[];
}
export interface World {
  readonly s: Scene;
  /** The bare repository. */
  readonly origin: string;
  readonly url: string;
  readonly root: string;
  /** A command that takes its time. */
  readonly tests: string;
  /** Those that live in the end, too. */
  readonly hosts: readonly ComposeHost[];
}

/** Seconds where people have minutes; longer than a busy machine lets a live worker wait. */
const FAST: Readonly<Record<string, string>> = {
  EMEND_HEARTBEAT_MS: '500',
  EMEND_HEARTBEATTIMEOUT_MS: '4000',
  EMEND_HOSTHEARTBEATTIMEOUT_MS: '4000',
  EMEND_COMMANDHEARTBEATTIMEOUT_MS: '4000',
  EMEND_CALLOWNER_MS: '4000',
  EMEND_RETRYINITIAL_MS: '100',
  EMEND_RETRYMAXIMUM_MS: '1000',
  EMEND_STICKYWAIT_MS: '1000',
  EMEND_CHECKOUTWAIT_MS: '2000',
  EMEND_LOCKPOLL_MS: '200',
  EMEND_CONNECT_MS: '60000',
  // What is killed again and again is no reason to ask a person here.
  EMEND_HOSTACTIVITYATTEMPTS: '1000',
  EMEND_MODELCALLATTEMPTS: '100',
};

const JOB: Kind = {
  files: (n) => ({ [`f${n}-.txt`]: [BEFORE, AFTER] }),
  asked: (n) => [`f${n}-.txt`],
  start: async ({ s, url, root, tests }, n) => {
    const lines = [
      `target_files: [f${n}-.txt]`,
      `test: grep -q line f${n}-.txt && ${tests}`,
      'approval: auto',
    ];
    const jobPath = join(root, 'jobs', `job-${n}.md`);
    writeFileSync(jobPath, ['---', ...lines, '---', `# Raise f${n}`, '', 'Words.', ''].join('\n'));
    const job = await readJobFile({
      jobPath,
      workspace: null,
      cwd: root,
      repository: url,
      base: 'main',
    });
    return resolveRun(s.emend, (await startStep(s.emend, { job })).stepKey);
  },
  outcome: 'committed',
  commits: (n) => [`Raise f${n}`],
  keys: ({ stepKey }) => [stepKey],
  commitKeys: ({ stepKey }) => [stepKey],
};
const phasesOf = (n: number) => ['one', 'two'].map((name) => ({ name, file: `f${n}-${name}.txt` }));
const PLAN: Kind = {
  files: (n) => ({
    ...Object.fromEntries(phasesOf(n).map(({ file }) => [file, [null, AFTER]])),
    [`plans/${n}.md`]: [planText(phasesOf(n)), completed(phasesOf(n))],
    [`summaries/${n}_partial.md`]: [null, '# Partial summary: '],
  }),
  asked: (n) => phasesOf(n).map(({ file }) => file),
  start: async ({ s, url, root }, n) => {
    const plan = await planOfPath(root, `plans/${n}.md`, { repository: url, base: 'main' });
    const { stepKey } = await startPlan(s.emend, {
      plan,
      approval: 'auto',
      options: { estimate: 'approved' },
    });
    return resolveRun(s.emend, stepKey);
  },
  outcome: 'completed',
  commits: (n) => ['Phase 1: one', 'Phase 2: two', `Mark Phase 2 of plans/${n} as completed (2/2)`],
  keys: ({ stepKey }) => [`${stepKey}-p1-1`, `${stepKey}-p2-1`],
  commitKeys: ({ stepKey }) => [`${stepKey}-p1-1`, `${stepKey}-p2-1`, `${stepKey}-p2-m1`],
};
export const kindOf = (n: number): Kind => (n === 1 ? PLAN : JOB);
/** Of a hundred kills more than two may meet one call: nobody is here to be asked whether it is worth another. */
const configOf = (tests: string): string =>
  `test: ['${tests}']\nsandbox: off\nlimits: { maxUnknownCalls: 20 }\n`;

/** Each push of a branch takes a while, before and after the branch has moved; `pushing/BRANCH` is there meanwhile. */
const HOOK = (dir: string): string => `#!/bin/sh
while read -r old new ref; do
  case $ref in refs/heads/emend/*) name=$(basename "$ref"); : > '${dir}'/"$name"; sleep 0.5; rm -f '${dir}'/"$name";; esac
done
`;

export const openWorld = async ({
  runs,
  kills,
  seaweed,
  services,
  hosts: wantedHosts,
}: LostHostsWanted) => {
  // So long that the runs last as long as the kills.
  const [tests, answer_ms] = [`sleep ${Math.ceil((2 * kills) / runs)}`, (1_000 * kills) / runs];
  const numbers = Array.from({ length: runs }, (_, n) => n);
  const random = randomOf(seed, 'answers');
  const files = numbers.flatMap((n) => Object.entries(kindOf(n).files(n)));
  const before = files.flatMap(([path, [text]]) => (text === null ? [] : [[path, text] as const]));
  const asked = numbers.flatMap((n) =>
    kindOf(n)
      .asked(n)
      .map((path) => [path, kindOf(n).files(n)[path]![1]] as const),
  );
  const rules = asked.map(([path, after]) => ({
    name: path,
    match: { contains: `- ${path}` },
    answer: whole({ [path]: after }),
    fault: { kind: 'slow' as const, first_ms: random.whole(200, answer_ms), chunk_ms: 100 },
  }));
  const store = { EMEND_STORE: `s3://${seaweed.bucket}/lost/${runs}`, EMEND_STORE_PATH_STYLE: '1' };
  const env = { ...FAST, ...seaweed.env, ...store, EMEND_TEST_SECOND_HOME: '' };
  // The SDK reads its settings where it runs.
  Object.assign(process.env, seaweed.env, { EMEND_STORE_PATH_STYLE: '1' });
  const s = await scene(Object.fromEntries([...before, ['emend.yaml', configOf(tests)]]), rules, {
    env,
    own: false,
  });
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'emend-lost-')));
  const origin = join(root, 'origin.git');
  s.git('clone', '-q', '--bare', s.repo, origin);
  mkdirSync(join(root, 'jobs'));
  mkdirSync(join(root, 'pushing'));
  for (const hook of ['pre-receive', 'post-receive'])
    writeFileSync(join(origin, 'hooks', hook), HOOK(join(root, 'pushing')), { mode: 0o755 });
  const daemon = await serveBelow(root);
  const hosts: ComposeHost[] = [];
  const wanted: HostsWanted = {
    dir: join(root, 'hosts'),
    services,
    variables: {
      ...store,
      ...seaweed.env,
      ANTHROPIC_API_KEY: 'key',
      ANTHROPIC_BASE_URL: s.rehearsal.url,
    },
    env: { ...FAST, EMEND_QUEUE: s.env.EMEND_QUEUE!, TEMPORAL_ADDRESS: s.env.TEMPORAL_ADDRESS! },
  };
  mkdirSync(wanted.dir);
  const world: World = { s, origin, root, tests, hosts, url: `${daemon.url}/origin.git` };
  let started = 0;
  const one = async (): Promise<void> => {
    hosts.push(await startHost(`host-${++started}`, wanted));
  };
  for (let n = 0; n < wantedHosts; n++) await one();
  return { world, hosts, startOne: one, close: () => closeWorld(world, daemon.end) };
};

const closeWorld = async ({ s, root, hosts }: World, endDaemon: () => void): Promise<void> => {
  await Promise.all(hosts.map((host) => host.kill()));
  endDaemon();
  await s.close();
  if (process.env.EMEND_TEST_KEEP !== '1')
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
};
