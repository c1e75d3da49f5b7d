import { EXIT } from '../../shared/problems.js';
import type { ExitCode } from '../../shared/problems.js';
import { resolveHome } from '../../workspace/home.js';
import type { Io } from '../io.js';
import { startOwnWorker, startServer, stopServices, warnWithoutModel } from '../services.js';
import type { RunningWorker } from '../services.js';
import { untilInterrupted } from '../until-interrupted.js';

export const dev = async (io: Io): Promise<ExitCode> => {
  const home = await resolveHome(io.env);
  const server = await startServer(io, home);
  let worker: RunningWorker | null = null;
  try {
    worker = await startOwnWorker(io, home, 'stderr');
    io.out(`Temporal UI  ${server.uiUrl}`);
    io.out(`server       ${server.address}`);
    io.out(`home         ${home}`);
    io.out('Ctrl-C ends server and worker. Open runs stay where they are until the next `emend dev`.');
    warnWithoutModel(io);
    await untilInterrupted(io, worker.done);
    io.err('Ending…');
  } finally {
    await stopServices(io, worker, server);
  }
  return EXIT.done;
};
