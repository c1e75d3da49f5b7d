/** What both demos do around what they show: options, a folder of their own, a stage, and an end that leaves nothing behind. */
import { rm } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { startPage } from '../dist/src/cli/commands/serve.js';
import { reportError } from '../dist/src/cli/errors.js';
import { processIo } from '../dist/src/cli/io.js';
import { EXIT } from '../dist/src/client/index.js';
import { findTemporalCli } from '../dist/src/temporal/cli-binary.js';
import { openFolder, useOwnSettings } from './folder.js';
import { openStage } from './stage.js';
import { closingLines } from './words.js';

/**
 * `demo`: {usage, flags, intro, repository (what `openStage` takes), perform(play, ended)}. `perform` gets {io, stage, options, signal},
 * puts each run that ended into `ended` and returns the exit code. Ends the process.
 */
export const runDemo = async (demo) => {
  // Temporal's native library may hold the process for a moment after all is closed.
  process.exit(await main(processIo(), demo));
};

const main = async (io, demo) => {
  let options;
  try {
    const flag = { type: 'boolean' };
    const flags = Object.fromEntries(demo.flags.map((name) => [name, flag]));
    options = parseArgs({ options: { ...flags, help: flag, dir: { type: 'string' } } }).values;
  } catch (error) {
    io.err(`${error.message}\n\n${demo.usage}`);
    return EXIT.usage;
  }
  if (options.help) {
    io.out(demo.usage);
    return EXIT.done;
  }
  try {
    return await play(io, demo, options);
  } catch (error) {
    return reportError(io, error, false);
  }
};

/** What was made stays for a person to look at, unless the demo was broken off before there is anything to see. */
const play = async (io, { intro, repository, perform }, options) => {
  io.out(`${intro}\n`);
  // The slow part of a first run; nothing needs clearing up yet, so Ctrl-C may simply end it.
  const cli = await findTemporalCli({ env: io.env, log: io.err });
  const stop = new globalThis.AbortController();
  const interrupt = () => {
    if (!stop.signal.aborted) io.out('\nStopping, as asked.');
    stop.abort();
  };
  io.onInterrupt(interrupt);
  process.on('SIGHUP', interrupt);

  const folder = await openFolder(options.dir);
  useOwnSettings(folder);
  const ended = [];
  let keep = options.dir !== undefined;
  try {
    const stage = await openStage({ io, cli, folder, repository, signal: stop.signal });
    try {
      const exit = await perform({ io, stage, options, signal: stop.signal }, ended);
      if (options.stay === true && exit === EXIT.done) await stay(io, stop.signal);
      return exit;
    } finally {
      io.out('\nEnding server and worker …');
      await stage.close();
    }
  } catch (error) {
    if (stop.signal.aborted) return EXIT.interrupted;
    keep = true;
    throw error;
  } finally {
    keep ||= ended.length > 0;
    if (keep) for (const text of closingLines(ended, folder)) io.out(text);
    else await rm(folder.dir, { recursive: true, force: true, maxRetries: 3 });
  }
};

const stay = async (io, signal) => {
  io.out('\nReview page and Temporal UI stay up until Ctrl-C:');
  const page = await startPage(io);
  await new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', resolve, { once: true });
  });
  await page.close();
};
