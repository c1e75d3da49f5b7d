/** Sets the stage of a chaos run: repositories, model, server, workers, client; and takes it down again. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openEmend } from '../../src/client/open.js';
import { startRehearsal } from '../../src/model/rehearsal/server.js';
import type { Carrier } from './jobs.js';
import { startServer } from './server.js';
import { createTraps } from './traps.js';
import { createWorkerPool } from './workers.js';
import { FAST, type World } from './world.js';

const WORKERS = 3;

/** A repository with the files of the carriers that work in it, committed. */
const makeRepository = (workspace: string, carriers: readonly Carrier[]): void => {
  const git = (...args: string[]): void => {
    execFileSync('git', args, { cwd: workspace });
  };
  mkdirSync(workspace, { recursive: true });
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'Chaos');
  git('config', 'user.email', 'chaos@example.org');
  git('config', 'gc.auto', '0');
  for (const { base, more } of carriers)
    for (const [path, text] of Object.entries({ ...base, ...more })) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
    }
  git('add', '-A');
  git('commit', '-q', '-m', 'base');
};

export interface Stage {
  readonly world: World;
  readonly requestsFile: string;
  close(): Promise<void>;
}

export const setStage = async (
  dir: string,
  carriers: readonly Carrier[],
  /** Events after which the server suggests a new run; 0: its own default. */
  suggested: number,
  note: (line: string) => void,
): Promise<Stage> => {
  const home = join(dir, 'home');
  const logDir = join(dir, 'logs');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  mkdirSync(logDir, { recursive: true });
  for (const workspace of new Set(carriers.map((carrier) => carrier.workspace)))
    makeRepository(
      workspace,
      carriers.filter((carrier) => carrier.workspace === workspace),
    );
  const requestsFile = join(dir, 'requests.jsonl');
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const each of closers.splice(0).reverse())
      await each().catch((error: unknown) => note(String(error)));
  };
  try {
    const rules = carriers.flatMap((carrier) => carrier.rules);
    const rehearsal = await startRehearsal({ v: 1, rules }, { record: requestsFile });
    closers.push(rehearsal.close);
    const server = await startServer(join(dir, 'server'), suggested, note);
    closers.push(() => server.close());
    const env = {
      ...FAST,
      EMEND_HOME: home,
      EMEND_QUEUE: 'chaos',
      TEMPORAL_ADDRESS: server.address,
      ANTHROPIC_BASE_URL: rehearsal.url,
      ANTHROPIC_API_KEY: 'no-key-is-needed',
      TMPDIR: logDir,
    };
    const traps = createTraps(join(dir, 'traps'));
    const script = join(process.cwd(), 'test/chaos/worker.js');
    const workers = createWorkerPool({
      size: WORKERS,
      script,
      env,
      logDir,
      traps,
      mayEnd: () => server.lately(),
      note,
    });
    closers.push(() => workers.close());
    await workers.start();
    const emend = await openEmend({ env: { ...process.env, ...env } });
    closers.push(() => emend.close());
    const world: World = {
      dir,
      home,
      env,
      emend,
      rehearsal,
      server,
      workers,
      traps,
      saves: [],
      given: [],
      notes: new Map(),
      note,
    };
    return { world, requestsFile, close };
  } catch (error) {
    await close();
    throw error;
  }
};
