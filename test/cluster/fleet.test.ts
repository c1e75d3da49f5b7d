/**
 * The profile `fleet` of docker-compose.yml, with its commands, environment and health checks: workers by role next to the one of all roles,
 * which share the bucket. A first job is run in that one.
 */
import type { ChildProcess } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from '@jest/globals';
import { runService } from '../../scripts/cluster/compose.js';
import { freePort } from '../../src/temporal/dev-server.js';
import type { Scene } from '../e2e/support.js';
import { testInBucket } from '../e2e/bucket-store.js';
import {
  endServices,
  eventually,
  firstJob,
  startObjects,
  startService,
  stateFile,
} from './support.js';

const LIMIT_MS = 900_000;
const COMMAND_MS = 300_000;
let open: Scene | null = null;
const services: ChildProcess[] = [];
afterEach(async () => {
  await endServices(services);
  await open?.close();
  open = null;
});

testInBucket()(
  'an object store, its bucket, and a worker for each role: healthy, and a first job is committed',
  async () => {
    const cluster = JSON.parse(readFileSync(stateFile(), 'utf8')) as { readonly dir: string };
    rmSync(join(cluster.dir, 'volumes'), { recursive: true, force: true });
    const { s, after } = await firstJob();
    open = s;
    const variables = {
      EMEND_WORKSPACE: s.repo,
      AWS_SECRET_ACCESS_KEY: 'a-secret-of-the-test',
      ANTHROPIC_API_KEY: 'a-key-of-the-test',
      ANTHROPIC_BASE_URL: s.rehearsal.url,
    };
    const store = await startObjects(services, cluster, variables);
    const start = async (name: string, instance = name): Promise<void> => {
      const role = { home: join(cluster.dir, 'homes', instance), health: await freePort(0) };
      const state = { ...cluster, store, role };
      await startService(services, { state, name, variables, instance });
    };
    await start('workflow-worker');
    expect(readFileSync(join(cluster.dir, 'workflow-worker.log'), 'utf8')).not.toContain(
      'no model can be called',
    );
    await start('model-worker');
    await start('model-worker', 'model-worker-2');
    await start('worker');

    const inWorker = async (...args: string[]) =>
      runService({ ...cluster, store }, 'worker', COMMAND_MS, variables, ['emend', ...args]);
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
  },
  LIMIT_MS,
);
