import { EXIT } from '../../shared/problems.js';
import type { ExitCode } from '../../shared/problems.js';
import { resolveHome } from '../../workspace/home.js';
import type { Io } from '../io.js';
import { startOwnWorker, startServer } from '../services.js';
import { untilInterrupted } from '../until-interrupted.js';

/** The server is ended last: a worker hands back what it was doing while somebody listens. */
export const dev = async (io: Io): Promise<ExitCode> => {
  const home = await resolveHome(io.env);
  const server = await startServer(io, home);
  try {
    const worker = await startOwnWorker(io, home, 'stderr');
    io.out(`Temporal UI  ${server.uiUrl}`);
    io.out(`server       ${server.address}`);
    io.out(`home         ${home}`);
    io.out('Ctrl-C ends server and worker. Open runs stay where they are until the next `emend dev`.');
    try {
      await untilInterrupted(io, worker.done);
    } finally {
      io.err('Ending…');
      await worker.stop();
    }
  } finally {
    await server.stop();
  }
  return EXIT.done;
};
