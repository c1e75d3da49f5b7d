import { EXIT, type ExitCode } from '../../shared/problems.js';
import { resolveHome } from '../../workspace/home.js';
import type { Io } from '../io.js';
import { asides, type QuietFlag } from '../quiet.js';
import { startOwnWorker, warnWithoutModel } from '../services.js';
import { serveUntilInterrupted } from '../until-interrupted.js';

export const worker = async (io: Io, flags: QuietFlag): Promise<ExitCode> => {
  await serveUntilInterrupted(io, async () => {
    const running = await startOwnWorker(io, await resolveHome(io.env), flags.quiet === true ? 'warnings' : 'stderr');
    warnWithoutModel(io);
    asides(io, flags).err('Ctrl-C ends the worker; what it is doing may finish first.');
    return running;
  });
  return EXIT.done;
};
