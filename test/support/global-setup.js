/**
 * One Temporal dev server for all e2e tests of a run: in memory, on free ports, in a home of its own. Tests keep apart by task queue.
 * Where EMEND_TEST_ADDRESS names a server already (a cluster: scripts/cluster.js) that one is used.
 * Hands on: EMEND_TEST_ADDRESS, EMEND_TEST_SERVER_HOME (not for a cluster), EMEND_TEST_CLI. Plain JavaScript on dist/: jest loads set-up files as CommonJS would.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTemporalCli } from '../../dist/src/temporal/cli-binary.js';
import { findBubblewrap } from '../../dist/src/workspace/commands/index.js';
import { startDevServer } from '../../dist/src/temporal/dev-server.js';
import makeScratch from './scratch-setup.js';

export default async function setUp() {
  makeScratch();
  const log = (line) => process.stderr.write(`${line}\n`);
  const cli = await findTemporalCli({ env: process.env, log });
  process.env.EMEND_TEST_CLI = cli.path;
  // Found once, and not by each of many workers.
  const bubblewrap = await findBubblewrap(process.env);
  if (bubblewrap.works) process.env.EMEND_BWRAP = bubblewrap.path;
  else log(`There is no sandbox here: ${bubblewrap.why}`);
  if (process.env.EMEND_TEST_ADDRESS !== undefined) return;
  // In the directory of the run, so that scripts/test.js finds the server again after jest was killed.
  const home = await mkdtemp(join(tmpdir(), 'emend-test-home-'));
  const server = await startDevServer({
    home,
    cli,
    port: 0,
    dbFile: null,
    logFile: join(home, 'dev-server.log'),
  });
  // The tear-down is loaded apart from this file: the server hangs on the global object.
  globalThis.emendTestServer = { server, home };
  process.env.EMEND_TEST_ADDRESS = server.address;
  process.env.EMEND_TEST_SERVER_HOME = home;
}
