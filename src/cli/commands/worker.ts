import { EXIT } from '../../shared/problems.js';
import type { ExitCode } from '../../shared/problems.js';
import { resolveHome } from '../../workspace/home.js';
import type { Io } from '../io.js';
import { asides } from '../quiet.js';
import type { QuietFlag } from '../quiet.js';
import { startOwnWorker, warnWithoutModel } from '../services.js';
import { untilInterrupted } from '../until-interrupted.js';

export const worker = async (io: Io, flags: QuietFlag): Promise<ExitCode> => {
  const running = await startOwnWorker(io, await resolveHome(io.env), flags.quiet === true ? 'warnings' : 'stderr');
  warnWithoutModel(io);
  asides(io, flags).err('Ctrl-C ends the worker; what it is doing may finish first.');
  await untilInterrupted(io, running.done);
  await running.stop();
  return EXIT.done;
};
