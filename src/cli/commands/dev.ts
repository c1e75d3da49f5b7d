import { EXIT, type ExitCode } from '../../shared/problems.js';
import type { DevServer } from '../../temporal/dev-server.js';
import { resolveHome } from '../../workspace/home.js';
import type { WebServer } from '../../web/server.js';
import type { Io } from '../io.js';
import { asides, type QuietFlag } from '../quiet.js';
import { startPage } from '../review-page.js';
import { startOwnWorker, startServer, stopServices, warnWithoutModel, type RunningWorker } from '../services.js';
import { hearInterrupt } from '../until-interrupted.js';

export interface DevFlags extends QuietFlag {
  readonly port?: string;
  readonly web: boolean;
}

export const dev = async (io: Io, flags: DevFlags): Promise<ExitCode> => {
  const { port, web } = flags;
  const aside = asides(io, flags);
  const home = await resolveHome(io.env);
  // Heard while they start, too: a server whose starter was killed would stay behind.
  const interrupt = hearInterrupt(io);
  let server: DevServer | null = null;
  let worker: RunningWorker | null = null;
  let page: WebServer | null = null;
  try {
    server = await startServer(io.env, home, aside.err);
    if (!interrupt.heard()) worker = await startOwnWorker(io, home, flags.quiet === true ? 'warnings' : 'stderr');
    if (worker !== null) {
      io.out(`Temporal UI  ${server.uiUrl}`);
      io.out(`server       ${server.address}`);
      io.out(`home         ${home}`);
      if (web) page = await startPage(io, port === undefined ? {} : { port });
      aside.out('Ctrl-C ends server and worker. Open runs stay where they are until the next `emend dev`.');
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
  return EXIT.done;
};
