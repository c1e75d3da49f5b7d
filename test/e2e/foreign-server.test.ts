/** A Temporal server that this home did not start, and that nobody named: no command and no program uses it, whatever it looks like. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { Emend } from '../../src/client/library.js';
import { processOf, type ProcessIdentity } from '../../src/system/process.js';
import { realSys } from '../../src/system/sys.js';
import { replaceRecord } from '../../src/temporal/dev-record.js';
import { freePort, startDevServer, type DevServer } from '../../src/temporal/dev-server.js';
import { ensureSearchAttributes } from '../../src/temporal/search-attributes.js';
import { testIf } from '../support/skipped.js';
import { serverOptions } from '../temporal/support/server.js';

jest.setTimeout(180_000);

/** The usual port of a Temporal server, where the old default looked. Another server of this machine may be there. */
const USUAL_PORT = 7233;
const isFree = (await freePort(USUAL_PORT)) === USUAL_PORT;
const COMMAND_MS = 20_000;

/** The server of somebody else, prepared as if a worker of Emend had been there. */
let dir: string;
let foreign: DevServer;
let connection: Connection;
let clusterId: string;
let bystander: ChildProcess;
beforeAll(async () => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend-foreign-')));
  const home = join(dir, 'of-somebody-else');
  mkdirSync(home, { mode: 0o700 });
  const options = await serverOptions(home, 'memory');
  foreign = await startDevServer({ ...options, port: isFree ? USUAL_PORT : 0 });
  connection = await Connection.connect({ address: foreign.address });
  expect(await ensureSearchAttributes(connection, 'default')).toBe(true);
  clusterId = (await connection.workflowService.getClusterInfo({})).clusterId;
  bystander = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60000)']);
  await once(bystander, 'spawn');
});
afterAll(async () => {
  bystander.kill('SIGKILL');
  await connection.close();
  await foreign.stop(0);
  rmSync(dir, { recursive: true });
});

let home: string;
let repo: string;
beforeEach(() => {
  home = mkdtempSync(join(dir, 'home-'));
  repo = mkdtempSync(join(dir, 'repo-'));
  const git = (...args: string[]) => execFileSync('git', args, { cwd: repo, stdio: 'ignore' });
  writeFileSync(join(repo, 'a.js'), 'let a = 1;\n');
  git('init');
  git('add', '.');
  git('-c', 'user.name=T', '-c', 'user.email=t@example.org', 'commit', '-m', 'first');
});

/** Nothing was started at the server of somebody else, and nobody polls there. */
const untouched = async (): Promise<void> => {
  const { workflowService } = connection;
  const { count } = await workflowService.countWorkflowExecutions({ namespace: 'default' });
  expect(Number(count)).toBe(0);
  const { workers } = await workflowService.listWorkers({ namespace: 'default' });
  expect(workers).toEqual([]);
};
afterEach(untouched);

const environment = (): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: home,
  EMEND_HOME: home,
  EMEND_CONNECT_MS: '5000',
  TEMPORAL_CONFIG_FILE: 'none',
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
  ANTHROPIC_API_KEY: 'none',
});

/** Ended by SIGTERM where it does not end by itself: its exit code is then null. */
const emend = async (...args: readonly string[]) => {
  const child = spawn(process.execPath, [join(process.cwd(), 'dist/client.js'), ...args], {
    cwd: repo,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: COMMAND_MS,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => (output += part.toString()));
  const [exit] = (await once(child, 'close')) as [number | null];
  return { exit, output };
};

const COMMANDS = [['run', '-m', 'Set a to 2', 'a.js'], ['worker'], ['list'], ['hosts'], ['replay']];
const REFUSED = 'No Temporal server is configured';
const openRefused = async (): Promise<string> => {
  const opened = await Emend.open({ env: environment() });
  try {
    const job = { workspace: repo, instructions: 'Set a to 2', target_files: ['a.js'] };
    const error: unknown = await opened.start(job).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ problem: { code: 'no_server' } });
    const { message, next } = (error as { problem: { message: string; next?: string } }).problem;
    return `${message}\n${next ?? ''}`;
  } finally {
    await opened.close();
  }
};

testIf(isFree, 'port 7233 is taken')(
  "without an address and without a dev server of this home, commands and Emend.open() refuse localhost:7233 with Emend's search attributes",
  async () => {
    for (const args of COMMANDS) {
      const { exit, output } = await emend(...args);
      // A list needs no server; every other command ends, and says that there is none.
      const code = args[0] === 'list' || args[0] === 'hosts' ? 0 : 7;
      expect([args[0], exit, output]).toEqual([args[0], code, expect.stringContaining(REFUSED)]);
      expect(output).toContain('emend dev');
    }
    expect(await openRefused()).toContain(REFUSED);
  },
);

const record = (process: ProcessIdentity) =>
  replaceRecord(home, {
    state: 'serving',
    process,
    owner: process,
    address: foreign.address,
    clusterId,
    hiddenUi: null,
  });

test('a record whose process lives, but does not listen at the recorded address, leads nobody to the server that does', async () => {
  await record((await processOf(realSys, bystander.pid!))!);
  for (const args of COMMANDS) {
    const { output } = await emend(...args);
    expect([args[0], output]).toEqual([
      args[0],
      expect.stringContaining(`does not listen at ${foreign.address}`),
    ]);
    expect(output).toContain(`kill ${bystander.pid}`);
  }
  expect(await openRefused()).toContain(`does not listen at ${foreign.address}`);
});
