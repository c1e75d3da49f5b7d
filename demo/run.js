/**
 * `npm run demo`: two jobs over the sources of Lodash, each from a Markdown file to a tested commit, on a Temporal server and a worker
 * of its own. The model is a rehearsal: rehearsal.yaml and answers/ hold what it says, so no key is needed and nothing is paid.
 * Exit codes: 0 both jobs ended, 1 one did not, 2 usage, 3 an approval that nobody here can give, 7 no Temporal CLI, 130 interrupted.
 */
import { rm } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { reportError } from '../dist/src/cli/explain.js';
import { processIo } from '../dist/src/cli/io.js';
import { EXIT } from '../dist/src/client/index.js';
import { findTemporalCli } from '../dist/src/temporal/cli-binary.js';
import { openFolder, useOwnSettings } from './folder.js';
import { runJob } from './job.js';
import { LODASH, openStage } from './stage.js';
import { closingLines, totalLines } from './words.js';

const JOBS = ['small-files.md', 'large-files.md'];
const EXIT_OF = { interrupted: EXIT.interrupted, unanswered: EXIT.waiting };

const USAGE = `npm run demo -- [--yes] [--stay] [--dir DIR]
  --yes      approve both changes without asking
  --stay     keep server and worker up at the end, until Ctrl-C, so that the Temporal UI can be looked at
  --dir DIR  put everything there (a new or an empty directory), not into the system's temporary directory`;

/** What was made stays for a person to look at, unless the demo was broken off before there is anything to see. */
const demo = async (io, { yes, stay, dir }) => {
  io.out(`Two jobs over Lodash ${LODASH}. A rehearsal plays the model: no key is needed, nothing is paid.\n`);
  // The slow part of a first run; nothing needs clearing up yet, so Ctrl-C may simply end it.
  const cli = await findTemporalCli({ env: io.env, log: io.err });
  const stop = new globalThis.AbortController();
  const interrupt = () => {
    if (!stop.signal.aborted) io.out('\nStopping, as asked.');
    stop.abort();
  };
  io.onInterrupt(interrupt);
  process.on('SIGHUP', interrupt);

  const folder = await openFolder(dir);
  useOwnSettings(folder);
  const ended = [];
  let keep = dir !== undefined;
  try {
    const stage = await openStage({ io, cli, folder, signal: stop.signal });
    try {
      return await perform({ io, stage, yes, stay, signal: stop.signal }, ended);
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

/** Both jobs, one after the other; fills `ended`. Returns the exit code. */
const perform = async (play, ended) => {
  const { io, stage, stay, signal } = play;
  for (const [index, name] of JOBS.entries()) {
    const run = await runJob(play, index + 1, name);
    if (run.kind !== 'ended') return EXIT_OF[run.kind];
    ended.push(run);
  }
  for (const text of totalLines(ended, stage)) io.out(text);
  if (stay) {
    io.out(`\nThe Temporal UI stays up until Ctrl-C: ${stage.server.uiUrl}`);
    await aborted(signal);
  }
  return EXIT.done;
};

const aborted = (signal) =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', resolve, { once: true });
  });

const main = async (io) => {
  let options;
  try {
    const flag = { type: 'boolean' };
    options = parseArgs({ options: { yes: flag, stay: flag, help: flag, dir: { type: 'string' } } }).values;
  } catch (error) {
    io.err(`${error.message}\n\n${USAGE}`);
    return EXIT.usage;
  }
  if (options.help) {
    io.out(USAGE);
    return EXIT.done;
  }
  try {
    return await demo(io, options);
  } catch (error) {
    return reportError(io, error, false);
  }
};

// Temporal's native library may hold the process for a moment after all is closed.
process.exit(await main(processIo()));
