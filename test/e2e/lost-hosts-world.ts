/** What hosts are lost in: a bare repository behind `git daemon`, an object store, a model, and hosts as docker-compose.yml has them. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readJobFile, resolveRun, startStep, type ResolvedRun } from '../../src/client/index.js';
import { randomOf } from '../chaos/random.js';
import { startHost, type ComposeHost, type HostsWanted } from '../support/compose-hosts.js';
import type { Seaweed } from '../support/seaweed.js';
import { seed } from '../support/seeded.js';
import { serveBelow } from './origin.js';
import { numbered, scene, whole, type Scene } from './support.js';

export interface LostHostsWanted {
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
  readonly name: string;
  /** Its files in the repository, before and after. */
  files(n: number): Readonly<Record<string, readonly [before: string, after: string]>>;
  start(world: World, n: number): Promise<ResolvedRun>;
}
export interface World {
  readonly s: Scene;
  /** The bare repository. */
  readonly origin: string;
  readonly url: string;
  readonly root: string;
  /** Those that live in the end, too. */
  readonly hosts: readonly ComposeHost[];
}

/** Seconds where people have minutes; longer than a busy machine lets a live worker wait. */
const FAST: Readonly<Record<string, string>> = {
  ...{ EMEND_HEARTBEAT_MS: '500', EMEND_HEARTBEATTIMEOUT_MS: '4000', EMEND_HOSTHEARTBEATTIMEOUT_MS: '4000' },
  ...{ EMEND_CALLOWNER_MS: '4000', EMEND_RETRYINITIAL_MS: '100', EMEND_RETRYMAXIMUM_MS: '1000' },
  ...{ EMEND_STICKYWAIT_MS: '1000', EMEND_CHECKOUTWAIT_MS: '2000', EMEND_LOCKPOLL_MS: '200' },
  EMEND_CONNECT_MS: '60000',
  // What is killed again and again is no reason to ask a person here.
  ...{ EMEND_HOSTACTIVITYATTEMPTS: '1000', EMEND_MODELCALLATTEMPTS: '100' },
};
const BEFORE = numbered(20);
const AFTER = BEFORE.replace('line 15\n', 'line fifteen\n');

const JOB: Kind = {
  name: 'job',
  files: (n) => ({ [`f${n}-.txt`]: [BEFORE, AFTER] }),
  start: async ({ s, url, root }, n) => {
    // Of a hundred kills more than two may meet one call: nobody is here to be asked whether it is worth another.
    const limits = 'limits: { maxUnknownCalls: 20 }';
    const lines = [`target_files: [f${n}-.txt]`, `test: sleep 1 && grep -q line f${n}-.txt`, 'sandbox: off', limits];
    const jobPath = join(root, 'jobs', `job-${n}.md`);
    writeFileSync(jobPath, ['---', ...lines, 'approval: auto', '---', `# Raise f${n}`, '', 'Words.', ''].join('\n'));
    const job = await readJobFile({ jobPath, workspace: null, cwd: root, repository: url, base: 'main' });
    return resolveRun(s.emend, (await startStep(s.emend, { job })).stepKey);
  },
};
/** Taken in turn by the runs; a plan on a repository will be one more. */
const KINDS: readonly Kind[] = [JOB];
export const kindOf = (n: number): Kind => KINDS[n % KINDS.length]!;

/** Each push of a branch takes a while, before and after the branch has moved; `pushing/BRANCH` is there meanwhile. */
const HOOK = (dir: string): string => `#!/bin/sh
while read -r old new ref; do
  case $ref in refs/heads/emend/*) name=$(basename "$ref"); : > '${dir}'/"$name"; sleep 0.5; rm -f '${dir}'/"$name";; esac
done
`;

export const openWorld = async ({ runs, seaweed, services, hosts: wantedHosts }: LostHostsWanted) => {
  const numbers = Array.from({ length: runs }, (_, n) => n);
  const random = randomOf(seed, 'answers');
  const files = numbers.flatMap((n) => Object.entries(kindOf(n).files(n)));
  const rules = files.map(([path, [, after]]) => ({
    ...{ name: path, match: { contains: `- ${path}` }, answer: whole({ [path]: after }) },
    fault: { kind: 'slow' as const, first_ms: random.whole(200, 2_500), chunk_ms: 100 },
  }));
  const store = { EMEND_STORE: `s3://${seaweed.bucket}/lost/${runs}`, EMEND_STORE_PATH_STYLE: '1' };
  const env = { ...FAST, ...seaweed.env, ...store, EMEND_TEST_SECOND_HOME: '' };
  // The SDK reads its settings where it runs.
  Object.assign(process.env, seaweed.env, { EMEND_STORE_PATH_STYLE: '1' });
  const s = await scene(Object.fromEntries(files.map(([path, [before]]) => [path, before])), rules, {
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
    variables: { ...store, ...seaweed.env, ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: s.rehearsal.url },
    env: { ...FAST, EMEND_QUEUE: s.env.EMEND_QUEUE!, TEMPORAL_ADDRESS: s.env.TEMPORAL_ADDRESS! },
  };
  mkdirSync(wanted.dir);
  const world: World = { s, origin, root, hosts, url: `${daemon.url}/origin.git` };
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
  if (process.env.EMEND_TEST_KEEP !== '1') rmSync(root, { recursive: true, force: true, maxRetries: 5 });
};
