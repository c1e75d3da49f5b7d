import { resolve } from 'node:path';
import { startRehearsal } from '../../model/rehearsal/server.js';
import { EXIT, fail, type ExitCode } from '../../shared/problems.js';
import type { Io } from '../io.js';
import { asides, type QuietFlag } from '../quiet.js';
import { serveUntilInterrupted } from '../until-interrupted.js';

interface RehearseFlags extends QuietFlag {
  readonly port?: string;
  readonly record?: string;
}

export const rehearse = async (io: Io, script: string, flags: RehearseFlags): Promise<ExitCode> => {
  await serveUntilInterrupted(io, async () => {
    const rehearsal = await startRehearsal(resolve(io.cwd, script), {
      ...(flags.port === undefined ? {} : { port: portOf(flags.port) }),
      ...(flags.record === undefined ? {} : { record: resolve(io.cwd, flags.record) }),
    });
    io.out(`Rehearsal of ${script} at ${rehearsal.url}`);
    const aside = asides(io, flags);
    aside.out('In the terminal of the worker:');
    aside.out(`  export ANTHROPIC_BASE_URL=${rehearsal.url} ANTHROPIC_API_KEY=rehearsal`);
    return { stop: () => rehearsal.close() };
  });
  return EXIT.done;
};

const portOf = (written: string): number => {
  const port = Number(written);
  return Number.isInteger(port) && port >= 0 && port < 65_536
    ? port
    : fail('usage', `--port expected a number from 0 to 65535, received "${written}".`);
};
