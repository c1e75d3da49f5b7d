/** `emend dev`: the contents of a new server, and the refusal of a database that another Temporal CLI made, which stays untouched. */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineSearchAttributeKey } from '@temporalio/common';
import { openEmend, readJobFile, startStep } from '../../src/client/index.js';
import { SEARCH_ATTRIBUTES } from '../../src/shared/names.js';
import { connectClient } from '../../src/temporal/connection.js';
import { findTemporalCli } from '../../src/temporal/cli-binary.js';
import { TODAY } from './builds.js';
import { eventually } from './ends.js';
import { makeRepo } from './support.js';

const JOB = '---\ntarget_files: [a.js]\n---\n# Grow\n\nRaise the number.\n';

let dir: string;
const running = new Set<ReturnType<typeof spawn>>();
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend-cli-')));
});
afterEach(async () => {
  for (const child of running) child.kill('SIGKILL');
  await Promise.all(
    [...running].map((child) => new Promise((resolve) => child.once('exit', resolve))),
  );
  rmSync(dir, { recursive: true, force: true });
});

const theCli = () =>
  findTemporalCli({
    env: { ...process.env, EMEND_TEMPORAL_CLI: process.env.EMEND_TEST_CLI },
    log: () => undefined,
  });
/** `emend dev` until it says `until`, `when` is so, or it ends. */
const dev = (home: string, cli: string, until: string, when = () => false) =>
  new Promise<{ code: number | null; output: string; end: () => Promise<number | null> }>(
    (resolve) => {
      const child = spawn(process.execPath, [join(TODAY, 'dist/client.js'), 'dev'], {
        cwd: dir,
        env: {
          PATH: process.env.PATH,
          HOME: dir,
          EMEND_HOME: home,
          EMEND_TEMPORAL_CLI: cli,
          EMEND_QUEUE: 't-version',
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      running.add(child);
      const exited = new Promise<number | null>((done) =>
        child.once('exit', (code) => {
          running.delete(child);
          done(code);
        }),
      );
      const end = () => {
        child.kill('SIGINT');
        return exited;
      };
      let output = '';
      const hear = (bytes: Buffer): void => {
        output += bytes.toString();
        if (output.includes(until)) resolve({ code: null, output, end });
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      const looking = setInterval(() => {
        if (when()) resolve({ code: null, output, end });
      }, 5);
      void exited.then((code) => {
        clearInterval(looking);
        resolve({ code, output, end });
      });
    },
  );

test('Ctrl-C while it starts: it ends with what it had started', async () => {
  const home = join(dir, 'home');
  mkdirSync(home, { mode: 0o700 });
  const { path } = await theCli();
  const running = await dev(home, path, 'nothing that it says', () =>
    existsSync(join(home, 'dev-server.json')),
  );
  expect(await running.end()).toBe(0);
  expect(readdirSync(home)).not.toContain('dev-server.json');
});

test('after `emend dev` has started the server lists no run, and a run started at once has its search attributes', async () => {
  const home = join(dir, 'home');
  mkdirSync(home, { mode: 0o700 });
  const { path } = await theCli();
  const running = await dev(home, path, 'Ctrl-C stops');
  const env = { PATH: process.env.PATH, HOME: dir, EMEND_HOME: home, EMEND_QUEUE: 't-version' };
  const connection = await connectClient({ env, home, connect_ms: 10_000 });
  try {
    const repo = makeRepo(join(dir, 'a repo'), { 'a.js': 'let a = 1;\n', 'job.md': JOB });
    const emend = await openEmend({ env });
    const job = await readJobFile({ jobPath: join(repo, 'job.md'), workspace: repo, cwd: repo });
    const { workflowId, stepKey } = await startStep(emend, { job });
    await emend.close();
    const handle = connection.client.workflow.getHandle(workflowId);
    // The run sets them as soon as it has read its input.
    const attribute = defineSearchAttributeKey(SEARCH_ATTRIBUTES.stepKey, 'KEYWORD');
    const found = await eventually(
      'the search attributes of the run',
      async () => (await handle.describe()).typedSearchAttributes.get(attribute) ?? null,
    );
    expect(found).toBe(stepKey);
    // The list is eventually consistent. If it has the run, it also has what came before the run.
    const listed: string[] = [];
    for (let tries = 0; tries < 100 && !listed.includes(workflowId); tries += 1) {
      listed.length = 0;
      for await (const run of connection.client.workflow.list()) listed.push(run.workflowId);
      await sleep(100);
    }
    expect(listed).toEqual([workflowId]);
  } finally {
    await connection.close();
    await running.end();
  }
}, 120_000);

test('made by one version, started with another, then with the first again', async () => {
  const home = join(dir, 'home');
  mkdirSync(home, { mode: 0o700 });
  const cli = await theCli();
  // The same program under another version: what is compared is what a CLI says of itself.
  const other = join(dir, 'temporal-other');
  writeFileSync(
    other,
    `#!/bin/sh\n[ "$1" = --version ] && { echo "temporal version 1.99.0 (Server 1.99.0, UI 2.99.0)"; exit 0; }\nexec '${cli.path}' "$@"\n`,
  );
  chmodSync(other, 0o755);

  const first = await dev(home, cli.path, 'Ctrl-C stops');
  expect({ code: first.code, output: first.output }).toMatchObject({ code: null });
  expect(await first.end()).toBe(0);
  const database = () => readFileSync(join(home, 'server/db/temporal.sqlite')).toString('latin1');
  const before = database();

  const refused = await dev(home, other, 'Ctrl-C stops');
  expect(refused.code).toBe(1);
  expect(refused.output).toContain(
    `was created by Temporal CLI ${cli.version}, but the one found (${other}`,
  );
  expect(refused.output).toContain(
    `Set EMEND_TEMPORAL_CLI to a Temporal CLI ${cli.version}, or start over`,
  );
  expect(refused.output).not.toMatch(/^\s+at /m);
  expect(database()).toBe(before);

  const again = await dev(home, cli.path, 'Ctrl-C stops');
  expect(again.output).toContain(`home         ${home}`);
  expect(await again.end()).toBe(0);
}, 180_000);
