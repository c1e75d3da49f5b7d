import { resolve } from 'node:path';
import { ROLES, type Role } from '../../shared/names.js';
import { EXIT, PROBLEMS, fail, type ExitCode } from '../../shared/problems.js';
import { liveDevServer } from '../../temporal/dev-record.js';
import { recordPage } from '../../temporal/page-record.js';
import type { DevServer } from '../../temporal/dev-server.js';
import { resolveHome } from '../../stores/home.js';
import type { WebServer } from '../../web/server.js';
import { explain } from '../errors.js';
import { type Io, asides, type QuietFlag } from '../io.js';
import {
  startOwnWorker,
  startServer,
  stopServices,
  warnWithoutModel,
  workerLogger,
  type RunningWorker,
  type WorkerLog,
  type WorkerLogger,
} from '../services.js';
import { hearInterrupt, serveUntilInterrupted } from '../session.js';
import { startRehearsal } from '../../model/rehearsal/server.js';
import { loginName } from '../../client/runs/decide.js';
import { reopening } from '../../client/open.js';
import type { Emend } from '../../client/types.js';
import { BOUNDS } from '../../shared/limits.js';

// The review page as a service of a command: `emend web`, and `emend dev` beside server and worker.

/** Tried first, so that a bookmark stays good; where it is taken, any free one. */
const USUAL_PORT = 8260;

export interface PageFlags {
  readonly host?: string;
  readonly port?: number;
  readonly publicUrl?: string;
}

/** Throws ProblemError `home_unusable`, `store_unusable`, `usage` for flags that make no sense, a port that is taken, or a place beyond loopback without a secret. */
export const startPage = async (io: Io, flags: PageFlags = {}): Promise<WebServer> => {
  const { startWeb, loadAssets } = await import('../../web/server.js');
  const emend = reopening({ env: io.env, existing: true }, BOUNDS.webAgain_ms);
  // A home that is not there or cannot be used is said now, not by the first page that is asked for.
  const { home } = await emend.source();
  const dev = await liveDevServer(home);
  const hidden = async (): Promise<string | null> => (await liveDevServer(home))?.hiddenUi ?? null;
  const ui = (await hidden()) === null ? null : hidden;
  const show = { url: null as string | null };
  // Its links lead to where its own sessions count.
  const source = async (): Promise<Emend> => {
    const opened = await emend.source();
    const isDev = opened.address === dev?.address && io.env.EMEND_TEMPORAL_UI === undefined;
    return isDev ? { ...opened, uiUrl: show.url } : opened;
  };
  const start = async (port: number): Promise<WebServer> =>
    startWeb({
      host: flags.host ?? '127.0.0.1',
      port,
      secret: (io.env.EMEND_WEB_SECRET ?? '') === '' ? null : (io.env.EMEND_WEB_SECRET ?? null),
      publicUrl: flags.publicUrl ?? null,
      person: loginName(),
      assets: await loadAssets(),
      source,
      ui,
      onAddress: (address) => io.out(`review page  ${address}`),
      onError: (error) =>
        io.err(error instanceof Error ? (error.stack ?? error.message) : String(error)),
    });
  const starting =
    flags.port === undefined ? start(USUAL_PORT).catch(() => start(0)) : start(flags.port);
  const server = await starting.catch(async (error: unknown) => {
    await emend.close();
    throw error;
  });
  show.url = server.uiUrl;
  if (server.uiUrl !== null)
    io.out(`Temporal UI  ${server.uiUrl} (in a browser signed in to the review page)`);
  const forgetPage = await recordPage(home, { pageUrl: server.url, uiUrl: server.uiUrl });
  return {
    ...server,
    close: async () => {
      await forgetPage();
      await server.close();
      await emend.close();
    },
  };
};

export interface DevFlags extends QuietFlag {
  readonly port?: number;
  readonly web: boolean;
  readonly ui?: true;
}

export const dev = async (io: Io, flags: DevFlags): Promise<void> => {
  const { port, web, ui } = flags;
  const aside = asides(io, flags);
  const home = await resolveHome(io.env);
  // Heard while they start, too: a server whose starter was killed would stay behind.
  const interrupt = hearInterrupt(io);
  let server: DevServer | null = null;
  let worker: RunningWorker | null = null;
  let page: WebServer | null = null;
  try {
    server = await startServer(io.env, home, aside.err, ui === true);
    if (!interrupt.heard())
      worker = await startOwnWorker(io, home, await workerLogger(io, logOf(flags)));
    if (worker !== null) {
      io.out(`server       ${server.address}`);
      io.out(`home         ${home}`);
      if (ui === true && process.platform !== 'linux')
        io.err(
          `The Temporal UI listens at ${String(server.hiddenUi)}, which does not check host names: a web page you open can reach it by DNS rebinding and approve. Omit --ui to turn it off.`,
        );
      if (web) page = await startPage(io, port === undefined ? {} : { port });
      aside.out('Ctrl-C stops server and worker. Open runs continue with the next `emend dev`.');
      warnWithoutModel(io);
      await Promise.race([interrupt.came, worker.done]);
    }
    aside.err('Ending…');
  } finally {
    // Whatever becomes of the page: the server must not be left behind.
    await page?.close().catch(() => undefined);
    interrupt.off();
    await stopServices(io, worker, server);
  }
};

const logOf = ({ quiet }: QuietFlag): WorkerLog => (quiet === true ? 'warnings' : 'stderr');

interface WorkerFlags extends QuietFlag {
  readonly roles?: string;
  readonly deployment?: true;
  readonly metrics?: string;
  readonly health?: string;
}

/** Throws ProblemError `usage`. */
const rolesOf = (text: string): readonly Role[] =>
  text.split(',').map((name) => {
    const role = ROLES.find((each) => each === name.trim());
    return (
      role ??
      fail(
        'usage',
        `--roles ${text}: expected one or more of ${ROLES.join(', ')}, separated by commas.`,
      )
    );
  });

/** Returns an Io whose lines to stderr are events of the worker's log. In a terminal they stay as they are. */
const asEvents = (io: Io, logger: WorkerLogger, level: 'info' | 'warn'): Io =>
  io.errIsTty ? io : { ...io, err: (text) => logger[level](text) };

/** Logs why the worker did not start, or ended. */
const logFailure = (io: Io, logger: WorkerLogger, error: unknown): ExitCode => {
  const { problems, exit } = explain(error);
  for (const { code, message, next } of problems) {
    const hint = code === 'usage' ? 'See `emend help worker`.' : PROBLEMS[code].hint;
    const entry = { code, next: next ?? hint };
    logger.fatal(code === 'internal' ? { ...entry, err: error } : entry, message);
  }
  // What the worker left behind would hold on to the process.
  if (problems[0].code === 'worker_stuck') io.exitNow(exit);
  return exit;
};

const runWorker = (io: Io, logger: WorkerLogger, { roles, ...flags }: WorkerFlags): Promise<void> =>
  serveUntilInterrupted(io, async () => {
    const { deployment, metrics, health } = flags;
    const own = roles === undefined ? undefined : rolesOf(roles);
    const served = { deployment, metrics, health, roles: own };
    const running = await startOwnWorker(io, await resolveHome(io.env), logger, served);
    if (own?.includes('model') !== false) warnWithoutModel(asEvents(io, logger, 'warn'));
    asides(asEvents(io, logger, 'info'), flags).err(
      'Ctrl-C stops the worker; running activities may finish first.',
    );
    return running;
  });

export const worker = async (io: Io, flags: WorkerFlags): Promise<ExitCode> => {
  const logger = await workerLogger(io, logOf(flags));
  try {
    await runWorker(io, logger, flags);
    return EXIT.done;
  } catch (error) {
    if (io.errIsTty) throw error;
    return logFailure(io, logger, error);
  }
};

export const web = (io: Io, flags: PageFlags & QuietFlag): Promise<void> =>
  serveUntilInterrupted(io, async () => {
    const page = await startPage(io, flags);
    asides(io, flags).err(
      'Each address works once, for one browser; then the next is printed. Ctrl-C stops the page.',
    );
    return { stop: () => page.close() };
  });

interface RehearseFlags extends QuietFlag {
  readonly port?: number;
  readonly record?: string;
}

export const rehearse = (io: Io, script: string, flags: RehearseFlags): Promise<void> =>
  serveUntilInterrupted(io, async () => {
    const rehearsal = await startRehearsal(resolve(io.cwd, script), {
      ...(flags.port === undefined ? {} : { port: flags.port }),
      ...(flags.record === undefined ? {} : { record: resolve(io.cwd, flags.record) }),
    });
    io.out(`Rehearsal of ${script} at ${rehearsal.url}`);
    const aside = asides(io, flags);
    aside.out("In the worker's terminal:");
    aside.out(`  export ANTHROPIC_BASE_URL=${rehearsal.url} ANTHROPIC_API_KEY=rehearsal`);
    return { stop: () => rehearsal.close() };
  });
