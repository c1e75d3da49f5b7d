import { EXIT, type ExitCode } from '../../shared/problems.js';
import type { Io } from '../io.js';
import { asides, type QuietFlag } from '../quiet.js';
import { startPage, type PageFlags } from '../review-page.js';
import { serveUntilInterrupted } from '../until-interrupted.js';

export const web = async (io: Io, flags: PageFlags & QuietFlag): Promise<ExitCode> => {
  await serveUntilInterrupted(io, async () => {
    const page = await startPage(io, flags);
    asides(io, flags).err(
      'Each address is good for one browser, once; the next is printed when one was used. Ctrl-C ends the page.',
    );
    return { stop: () => page.close() };
  });
  return EXIT.done;
};
