/** `emend dev` on a database that another Temporal CLI made: refused with the remedy, the database and its runs untouched. */
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
import { findTemporalCli } from '../../src/temporal/cli-binary.js';
import { TODAY } from './builds.js';

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
  new Promise<{ code: number | null; said: string; end: () => Promise<number | null> }>(
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
      let said = '';
      const hear = (bytes: Buffer): void => {
        said += bytes.toString();
        if (said.includes(until)) resolve({ code: null, said, end });
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      const looking = setInterval(() => {
        if (when()) resolve({ code: null, said, end });
      }, 5);
      void exited.then((code) => {
        clearInterval(looking);
        resolve({ code, said, end });
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
  expect({ code: first.code, said: first.said }).toMatchObject({ code: null });
  expect(await first.end()).toBe(0);
  const database = () => readFileSync(join(home, 'server/db/temporal.sqlite')).toString('latin1');
  const before = database();

  const refused = await dev(home, other, 'Ctrl-C stops');
  expect(refused.code).toBe(1);
  expect(refused.said).toContain(
    `was created by Temporal CLI ${cli.version}, but the one found (${other}`,
  );
  expect(refused.said).toContain(
    `Set EMEND_TEMPORAL_CLI to a Temporal CLI ${cli.version}, or start over`,
  );
  expect(refused.said).not.toMatch(/^\s+at /m);
  expect(database()).toBe(before);

  const again = await dev(home, cli.path, 'Ctrl-C stops');
  expect(again.said).toContain(`home         ${home}`);
  expect(await again.end()).toBe(0);
}, 180_000);
