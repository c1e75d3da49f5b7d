/**
 * The profile `fleet` of docker-compose.yml, with its commands, environment and health checks: the object store with its bucket, and workers by
 * role beside the one of all roles. A first job is run in that one; what the group shares lies in the bucket.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { openSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect } from '@jest/globals';
import { runService, serviceProcess } from '../../scripts/cluster/compose.js';
import { freePort } from '../../src/temporal/dev-server.js';
import type { Scene } from '../e2e/support.js';
import { findSeaweed, freePorts } from '../support/seaweed.js';
import { testIf } from '../support/skipped.js';
import { endServices, eventually, firstJob, stateFile } from './support.js';

const LIMIT_MS = 900_000;
const COMMAND_MS = 300_000;
const found = await findSeaweed();
let open: Scene | null = null;
const services: ChildProcess[] = [];
afterEach(async () => {
  await endServices(services);
  await open?.close();
  open = null;
});

const answers = (port: number): Promise<boolean> =>
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

testIf('path' in found, 'why' in found ? found.why : '')(
  'an object store, its bucket, and a worker a role: healthy, a first job is committed, and the store is the bucket',
  async () => {
    const state = JSON.parse(readFileSync(stateFile(), 'utf8')) as { readonly dir: string };
    rmSync(join(state.dir, 'volumes'), { recursive: true, force: true });
    const { s, after } = await firstJob();
    open = s;
    const variables = {
      EMEND_WORKSPACE: s.repo,
      EMEND_STORE: 's3://emend',
      AWS_ACCESS_KEY_ID: 'emend',
      AWS_SECRET_ACCESS_KEY: 'a-secret-of-the-test',
      ANTHROPIC_API_KEY: 'a-key-of-the-test',
      ANTHROPIC_BASE_URL: s.rehearsal.url,
    };
    const [master, volume, filer, s3] = await freePorts(4);
    const fleet = {
      weed: 'path' in found ? found.path : '',
      objects: { master, volume, filer, s3 },
    };
    const of = async (instance: string) => ({
      ...state,
      fleet: { ...fleet, home: join(state.dir, 'homes', instance), health: await freePort(0) },
    });
    const start = async (
      name: string,
      healthy: 'check' | (() => Promise<boolean>),
      instance = name,
    ): Promise<void> => {
      const own = await of(instance);
      const { command, args, env } = await serviceProcess(own, name, variables);
      const log = openSync(join(state.dir, `${instance}.log`), 'a');
      const run = (): ChildProcess => {
        const service = spawn(command, args, { env, stdio: ['ignore', 'ignore', log] });
        services.push(service);
        return service;
      };
      let service = run();
      await eventually(`${instance} is healthy`, async () => {
        // As the file says: `restart: unless-stopped`. A store that waits too long for its own parts ends.
        if (service.exitCode !== null) service = run();
        return healthy === 'check'
          ? succeeds(runService(own, name, COMMAND_MS, variables, 'check'))
          : healthy();
      });
    };
    // Its own check needs `nc`, which its image has.
    await start('objects', () => answers(s3!));
    await eventually('the bucket is made', async () =>
      succeeds(runService(await of('bucket'), 'bucket', COMMAND_MS, variables)),
    );
    await start('workflow-worker', 'check');
    expect(readFileSync(join(state.dir, 'workflow-worker.log'), 'utf8')).not.toContain(
      'no model can be called',
    );
    await start('model-worker', 'check');
    await start('model-worker', 'check', 'model-worker-2');
    await start('worker', 'check');

    const inWorker = async (...args: string[]) =>
      runService(await of('worker'), 'worker', COMMAND_MS, variables, ['emend', ...args]);
    expect(await inWorker('run', 'jobs/first.md')).toContain('committed');
    expect(s.git('show', 'HEAD:a.js')).toBe(after);
    // What polls a queue is known some seconds after it is healthy.
    await eventually('the server knows all workers', async () => {
      const { hosts } = JSON.parse(await inWorker('hosts', '--json')) as {
        hosts: { roles: string[] }[];
      };
      const roles = hosts.map((host) => host.roles.join(' ')).sort();
      return roles.join() === 'model,model,workflows,workflows model hosts';
    });
    expect(readdirSync(join(state.dir, 'volumes', 'store'))).toEqual([]);
  },
  LIMIT_MS,
);
