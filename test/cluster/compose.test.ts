/**
 * The object store with its bucket, the worker and the review page of docker-compose.yml, with their environment and mounts (the server, its
 * schema and its namespace are also the file's, in every test of the cluster): a first job is run in the worker as `docker compose exec`
 * would, and people can enter.
 */
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from '@jest/globals';
import { runService } from '../../scripts/cluster/compose.js';
import type { Scene } from '../e2e/support.js';
import { testInBucket } from '../e2e/bucket-store.js';
import { endServices, firstJob, startObjects, startService, stateFile } from './support.js';

const LIMIT_MS = 240_000;
const COMMAND_MS = 120_000;
let open: Scene | null = null;
const services: ChildProcess[] = [];
afterEach(async () => {
  await endServices(services);
  await open?.close();
  open = null;
});

testInBucket()(
  'a fresh namespace, the object store, the worker and the page as the file starts them: healthy, a first job is committed, the page asks who enters',
  async () => {
    const cluster = JSON.parse(readFileSync(stateFile(), 'utf8')) as {
      readonly dir: string;
      readonly temporal: { readonly ports: { readonly worker: { readonly http: number } } };
    };
    rmSync(join(cluster.dir, 'volumes'), { recursive: true, force: true });
    const { s, after } = await firstJob();
    open = s;
    const variables = {
      EMEND_WORKSPACE: s.repo,
      ANTHROPIC_API_KEY: 'a-key-of-the-test',
      ANTHROPIC_BASE_URL: s.rehearsal.url,
      EMEND_WEB_SECRET: 'sixteen characters',
      AWS_SECRET_ACCESS_KEY: 'a-secret-of-the-test',
    };
    const store = await startObjects(services, cluster, variables);
    const state = { ...cluster, store };
    await startService(services, { state, name: 'worker', variables });
    const said = await runService(state, 'worker', COMMAND_MS, variables, [
      'emend',
      'run',
      'jobs/first.md',
    ]);
    expect(said).toContain('committed');
    expect(s.git('show', 'HEAD:a.js')).toBe(after);
    // The home holds no store of its own: what is shared is in the bucket.
    const home = join(cluster.dir, 'volumes', 'state', 'emend');
    expect(readFileSync(join(home, 'store.json'), 'utf8')).toContain('"path":"s3://emend"');
    for (const name of ['blobs', 'records', 'calls', 'archive'])
      expect(readdirSync(home)).not.toContain(name);

    await startService(services, { state, name: 'page', variables });
    const port = state.temporal.ports.worker.http;
    const origin = `http://localhost:${port}`;
    const headers = { origin, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
    const login = (secret: string) =>
      fetch(`${origin}/api/login`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ secret, name: 'Ada' }),
      });
    expect([
      (await fetch(`${origin}/`)).status,
      (await fetch(`${origin}/api/runs`)).status,
    ]).toEqual([200, 401]);
    expect([
      (await login('a wrong secret')).status,
      (await login(variables.EMEND_WEB_SECRET)).status,
    ]).toEqual([401, 200]);
  },
  LIMIT_MS,
);
