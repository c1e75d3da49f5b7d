/** What the tests of a cluster share: its control, and a second home beside a scene's, on the same store. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  openEmend,
  readJobFile,
  resolveRun,
  startStep,
  type Emend,
  type ResolvedRun,
} from '../../src/client/index.js';
import { runService, serviceProcess } from '../../scripts/cluster/compose.js';
import { findSeaweed, freePorts } from '../support/seaweed.js';
import { freshStore } from '../e2e/bucket-store.js';
import { activitiesOf, hostIdOf, OWN_STORE } from '../e2e/homes.js';
import { scene, whole, type Scene } from '../e2e/support.js';

const CONTROL_MS = 240_000;

type Action =
  | 'start-postgres'
  | 'kill-postgres'
  | 'start-temporal'
  | 'start-temporal-tls'
  | 'kill-temporal'
  | 'stop-temporal';

/** Does it to the cluster of `npm run test:cluster`; resolves when it is done (a server that is started answers by then). */
export const control = async (action: Action): Promise<void> => {
  const args = ['scripts/cluster/control.js', stateFile(), action];
  await promisify(execFile)(process.execPath, args, {
    timeout: CONTROL_MS,
    env: { ...process.env, NODE_OPTIONS: '' },
  });
};

export const stateFile = (): string => {
  const file = process.env.EMEND_TEST_CLUSTER;
  if (file === undefined) throw new Error('no cluster: run `npm run test:cluster`');
  return file;
};

export interface Certificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly serverName: string;
}
/** What `start-temporal-tls` made. */
export const certificates = (): Certificates =>
  (JSON.parse(readFileSync(stateFile(), 'utf8')) as { readonly tls: Certificates }).tls;

export interface TwoHomes extends Scene {
  /** The second home's environment and client. */
  readonly other: { readonly env: Record<string, string | undefined>; readonly emend: Emend };
  /** A worker process of the second home alone (`worker()` is one of the first home alone). */
  otherWorker(crash?: string): ReturnType<Scene['worker']>;
  /** Starts a job of the scene's workspace from the second home. */
  startFromOther(path: string, text: string): Promise<ResolvedRun>;
  /** Names of the activities that the home's worker carried out for the run, in order. */
  activitiesOf(who: 'first' | 'other', run: ResolvedRun): Promise<readonly string[]>;
}

/** A scene whose workers are processes of one home each. Two homes, one bucket. */
export const twoHomes = async (
  files: Record<string, string>,
  rules: Parameters<typeof scene>[1],
  env: Record<string, string> = {},
): Promise<TwoHomes> => {
  const store = { ...(await freshStore()), EMEND_TEST_SECOND_HOME: '' };
  const s = await scene(files, rules, { env: { ...store, ...env } });
  const home = join(s.home, '..', 'home-2');
  const otherEnv = { ...s.env, EMEND_HOME: home };
  const emend = await openEmend({ env: otherEnv });
  return {
    ...s,
    other: { env: otherEnv, emend },
    otherWorker: (crash) => s.worker(crash, { EMEND_HOME: home }),
    startFromOther: async (path, text) => {
      mkdirSync(dirname(join(s.repo, path)), { recursive: true });
      writeFileSync(join(s.repo, path), text);
      const job = await readJobFile({
        jobPath: join(s.repo, path),
        workspace: s.repo,
        cwd: s.repo,
      });
      const { stepKey } = await startStep(emend, { job });
      return resolveRun(emend, stepKey);
    },
    activitiesOf: async (who, run) => {
      const ownerHome = who === 'first' ? s.home : home;
      return existsSync(join(ownerHome, 'host-id'))
        ? activitiesOf(s.emend, hostIdOf(ownerHome), run.stepKey)
        : [];
    },
    close: async () => {
      await emend.close();
      await s.close();
    },
  };
};

/** Waits for what a slow machine or a server that comes back may take long for. */
export const eventually = async (
  what: string,
  holds: () => boolean | Promise<boolean>,
  limit_s = 90,
): Promise<void> => {
  const end = Date.now() + limit_s * 1000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`never happened within ${limit_s} s: ${what}`);
    await sleep(200);
  }
};

/** Transactions that a home has begun. */
export const transactionsOf = (home: string): readonly string[] => {
  const dir = join(home, 'transactions');
  return existsSync(dir) ? readdirSync(dir) : [];
};

/** A workspace with a job that is run in a service of docker-compose.yml; `after`: what that makes of `a.js`. */
export const firstJob = async () => {
  const after = 'module.exports = 2;\n';
  const job =
    '---\ntarget_files: [a.js]\ncommit: true\napproval: auto\nsandbox: off\ntest: node --check a.js\n---\n# Raise it\n\nTwo, please.\n';
  const rules = [{ name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': after }) }];
  return {
    s: await scene({ 'a.js': 'module.exports = 1;\n', 'jobs/first.md': job }, rules, {
      env: OWN_STORE,
    }),
    after,
  };
};

/** The program and the ports of the object store, as compose.js takes them. */
interface ComposeStore {
  readonly weed: string;
  readonly ports: Readonly<Record<'master' | 'volume' | 'filer' | 's3', number>>;
}
interface ComposeState {
  readonly dir: string;
  readonly store: ComposeStore;
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () =>
      resolve(false),
    );
    socket.once('connect', () => socket.destroy());
  });

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

const COMPOSE_MS = 300_000;
interface ComposeService {
  readonly state: ComposeState;
  readonly name: string;
  readonly variables: Readonly<Record<string, string>>;
  /** Name of its log, if several of the service run. */
  readonly instance?: string;
}

/** Starts a service with its own command; resolves when its own health check, or `isHealthy`, says so. */
export const startService = async (
  services: ChildProcess[],
  { state, name, variables, instance = name }: ComposeService,
  isHealthy = () => succeeds(runService(state, name, COMPOSE_MS, variables, 'check')),
): Promise<void> => {
  const { command, args, env } = await serviceProcess(state, name, variables);
  const log = openSync(join(state.dir, `${instance}.log`), 'a');
  const run = (): ChildProcess => {
    const service = spawn(command, args, { env, stdio: ['ignore', log, log] });
    services.push(service);
    return service;
  };
  let service = run();
  await eventually(`${instance} is healthy`, async () => {
    // As the file says: `restart: unless-stopped`. A store that waits too long for its own parts ends.
    if (service.exitCode !== null) service = run();
    return isHealthy();
  });
};

/** Starts the object store of the file, and makes its bucket as the file does; resolves with what compose.js needs of it. */
export const startObjects = async (
  services: ChildProcess[],
  state: { readonly dir: string },
  variables: ComposeService['variables'],
): Promise<ComposeStore> => {
  const found = await findSeaweed();
  if ('why' in found) throw new Error(found.why);
  const [master = 0, volume = 0, filer = 0, s3 = 0] = await freePorts(4);
  const store = { weed: found.path, ports: { master, volume, filer, s3 } };
  const own = { ...state, store };
  // Its own check needs `nc`, which its image has.
  await startService(services, { state: own, name: 'objects', variables }, () => isListening(s3));
  await eventually('the bucket is made', () =>
    succeeds(runService(own, 'bucket', COMPOSE_MS, variables)),
  );
  return store;
};

/** The last one first: workers that end say so in an object store. */
export const endServices = async (services: ChildProcess[]): Promise<void> => {
  for (const service of services.splice(0).reverse()) {
    service.kill('SIGTERM');
    if (service.exitCode === null && service.signalCode === null) await once(service, 'exit');
  }
};
