/** All that the demo plays on: a git repository of Lodash's sources, the rehearsal model, Temporal's dev server, a worker, a client. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startOwnWorker, untilPolled, workerLogger } from '../dist/src/cli/services.js';
import { openEmend } from '../dist/src/client/index.js';
import { startRehearsal } from '../dist/src/model/rehearsal/server.js';
import { recordPath } from '../dist/src/temporal/dev-record.js';
import { startDevServer } from '../dist/src/temporal/dev-server.js';
import { findBubblewrap } from '../dist/src/workspace/commands/index.js';
import { homePaths } from '../dist/src/stores/home.js';

const lodashManifest = createRequire(import.meta.url).resolve('lodash/package.json');
/** Its version. */
export const LODASH = JSON.parse(readFileSync(lodashManifest, 'utf8')).version;

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * Tells what it has set up. `repository`: {beside (folders of ours by their place beside Lodash), script (of the rehearsal)}. `signal` is
 * looked at between the steps; whatever was started until then is ended again.
 */
export const openStage = async ({ io, cli, folder, repository, signal }) => {
  const tell = (what, where) => signal.aborted || io.out(`  ${what.padEnd(15)}  ${where}`);
  const endings = [];
  const close = async () => {
    const failures = [];
    for (const end of endings.splice(0).reverse())
      await Promise.resolve(end()).catch((error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  try {
    const fileCount = await makeRepository(folder.repo, repository.beside);
    tell('repository', `${folder.repo} (${fileCount.toLocaleString('en-US')} files, one commit)`);
    signal.throwIfAborted();

    const rehearsal = await startRehearsal(here(repository.script));
    endings.push(() => rehearsal.close());
    Object.assign(process.env, {
      ANTHROPIC_BASE_URL: rehearsal.url,
      ANTHROPIC_API_KEY: 'none-is-needed',
    });

    endings.push(endServerAtExit(folder.home));
    const server = await startServer(folder.home, cli);
    endings.push(() => server.stop());
    tell('Temporal server', `${server.address} (pid ${server.pid})`);
    signal.throwIfAborted();

    const logger = await workerLogger(io, { home: folder.home });
    const worker = await startOwnWorker(io, folder.home, logger);
    endings.push(() => worker.stop());
    // A worker that breaks shows in the run, which stops moving.
    worker.done.catch((error) => io.err(`The worker ended: ${error.message}`));

    const sandbox = await findBubblewrap(process.env);
    tell(
      'sandbox',
      sandbox.works
        ? `on (bubblewrap ${sandbox.version})`
        : `none, tests run without: ${sandbox.why}`,
    );

    const emend = await openEmend({ env: process.env });
    endings.push(() => emend.close());
    await untilPolled(emend.runs, emend.queues.workflow);
    return { ...folder, rehearsal, server, emend, close };
  } catch (error) {
    await close();
    throw error;
  }
};

/** The package as npm delivers it, and our files beside it; one commit. */
const makeRepository = async (repo, beside) => {
  await mkdir(repo);
  await cp(dirname(lodashManifest), repo, { recursive: true });
  for (const [place, from] of Object.entries(beside))
    await cp(here(from), join(repo, place), { recursive: true });
  const git = (...args) => execFileSync('git', args, { cwd: repo, encoding: 'utf8' });
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'Emend demo');
  git('config', 'user.email', 'demo@example.org');
  git('config', 'core.autocrlf', 'false');
  git('add', '--all');
  git('commit', '--quiet', '--message', `Lodash ${LODASH} as npm delivers it`);
  return git('ls-files').trim().split('\n').length;
};

/** Where `emend dev` keeps its file too, so that it can bring the server back later. */
const startServer = async (home, cli) => {
  const { server } = homePaths(home);
  const dbFile = join(server, 'db', 'temporal.sqlite');
  return startDevServer({ home, cli, port: 0, dbFile, logFile: join(server, 'log', 'server.log') });
};

/** The server outlives its parent by design; should this process end without closing (a closed pipe, a bug), it is ended from here. */
const endServerAtExit = (home) => {
  const end = () => {
    try {
      const { pid } = JSON.parse(readFileSync(recordPath(home), 'utf8')).process;
      if (pid !== process.pid) process.kill(pid, 'SIGTERM');
    } catch {
      // No record: no server.
    }
  };
  process.once('exit', end);
  return () => process.off('exit', end);
};
