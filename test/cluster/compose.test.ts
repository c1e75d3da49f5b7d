/**
 * The worker and the review page of docker-compose.yml, with its environment and its mounts (the server, its schema and its namespace are
 * the file's, too, in every test of the cluster): a first job is run in the worker as `docker compose exec` would, and people can enter.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { runService, serviceProcess } from '../../scripts/cluster/compose.js';
import type { Scene } from '../e2e/support.js';
import { endServices, eventually, firstJob, stateFile } from './support.js';

const LIMIT_MS = 240_000;
const COMMAND_MS = 120_000;
let open: Scene | null = null;
const services: ChildProcess[] = [];
afterEach(async () => {
  await endServices(services);
  await open?.close();
  open = null;
});

test(
  'a fresh namespace, the worker and the page as the file starts them: healthy, a first job is committed, the page asks who enters',
  async () => {
    const state = JSON.parse(readFileSync(stateFile(), 'utf8')) as {
      readonly dir: string;
      readonly temporal: { readonly ports: { readonly worker: { readonly http: number } } };
    };
    rmSync(join(state.dir, 'volumes'), { recursive: true, force: true });
    const { s, after } = await firstJob();
    open = s;
    const variables = {
      EMEND_WORKSPACE: s.repo,
      ANTHROPIC_API_KEY: 'a-key-of-the-test',
      ANTHROPIC_BASE_URL: s.rehearsal.url,
      EMEND_WEB_SECRET: 'sixteen characters',
    };
    const start = async (name: string): Promise<void> => {
      const { command, args, env } = await serviceProcess(state, name, variables);
      const service = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
      services.push(service);
      await eventually(`${name} is healthy`, async () => {
        if (service.exitCode !== null) throw new Error(`${name} ended with ${service.exitCode}`);
        return runService(state, name, COMMAND_MS, variables, 'check').then(
          () => true,
          () => false,
        );
      });
    };
    await start('worker');
    const said = await runService(state, 'worker', COMMAND_MS, variables, [
      'emend',
      'run',
      'jobs/first.md',
    ]);
    expect(said).toContain('committed');
    expect(s.git('show', 'HEAD:a.js')).toBe(after);

    await start('page');
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
