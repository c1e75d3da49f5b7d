/**
 * `npm run demo`: two jobs over the sources of Lodash, each from a Markdown file to a tested commit, on a Temporal server and a worker
 * of its own. The model is a rehearsal: rehearsal.yaml and answers/ hold what it says, so no key is needed and nothing is paid.
 * Exit codes: 0 both jobs ended, 1 one did not, 2 usage, 3 an approval that nobody here can give, 7 no Temporal CLI, 130 interrupted.
 */
import { EXIT } from '../dist/src/client/index.js';
import { runJob } from './job.js';
import { runDemo } from './main.js';
import { LODASH } from './stage.js';
import { totalLines } from './words.js';

const JOBS = ['small-files.md', 'large-files.md'];
const EXIT_OF = { interrupted: EXIT.interrupted, unanswered: EXIT.waiting };

const USAGE = `npm run demo -- [--yes] [--stay] [--dir DIR]
  --yes      approve both changes without asking
  --stay     keep server and worker up at the end, until Ctrl-C, and serve review page and Temporal UI
  --dir DIR  put everything there (a new or an empty directory), not into the system's temporary directory`;

/** Both jobs, one after the other; fills `ended`. Returns the exit code. */
const perform = async ({ io, stage, options, signal }, ended) => {
  for (const [index, name] of JOBS.entries()) {
    const run = await runJob({ io, stage, yes: options.yes === true, signal }, index + 1, name);
    if (run.kind !== 'ended') return EXIT_OF[run.kind];
    ended.push({ ...run, name: `job ${run.number}` });
  }
  for (const text of totalLines(ended, stage)) io.out(text);
  return EXIT.done;
};

await runDemo({
  usage: USAGE,
  flags: ['yes', 'stay'],
  intro: `Two jobs over Lodash ${LODASH}. A rehearsal plays the model: no key is needed, nothing is paid.`,
  repository: { beside: { jobs: 'jobs' }, script: 'rehearsal.yaml' },
  perform,
});
