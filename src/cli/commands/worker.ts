import { EXIT } from '../../shared/problems.js';
import type { ExitCode } from '../../shared/problems.js';
import { resolveHome } from '../../workspace/home.js';
import type { Io } from '../io.js';
import { startOwnWorker, warnWithoutModel } from '../services.js';
import { untilInterrupted } from '../until-interrupted.js';

export const worker = async (io: Io): Promise<ExitCode> => {
  const running = await startOwnWorker(io, await resolveHome(io.env), 'stderr');
  warnWithoutModel(io);
  io.err('Ctrl-C ends the worker; what it is doing may finish first.');
  await untilInterrupted(io, running.done);
  await running.stop();
  return EXIT.done;
};
