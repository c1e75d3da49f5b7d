/**
 * `npm run demo:plan`: a plan of six phases in two waves over the sources of Lodash, carried out by `emend plan run` with a rehearsed
 * model. One answer is cut off, one phase is expanded, one fails its tests twice in the same way and is replanned. What comes of it, the git
 * log, the plan's documents and the summary, is compared with plan/expected.
 * Exit codes: 0 as expected, 1 otherwise, 2 usage, 7 no Temporal CLI, 130 interrupted.
 */
import { runPlan } from '../dist/src/cli/commands/plan-run.js';
import { EXIT, planOfPath, resolveRun, runEvents } from '../dist/src/client/index.js';
import { runDemo } from './main.js';
import { EXPECTED, compare, resultOf, write } from './expected.js';
import { LODASH } from './stage.js';

const PLAN = 'plans/010_received.md';

const USAGE = `npm run demo:plan -- [--update] [--stay] [--dir DIR]
  --update   take what comes of the plan as what is expected from now on: writes demo/plan/expected
  --stay     keep server and worker up at the end, until Ctrl-C, and serve review page and Temporal UI
  --dir DIR  put everything there (a new or an empty directory), not into the system's temporary directory`;

const perform = async ({ io, stage, options, signal }, ended) => {
  io.out(`\n$ emend plan run ${PLAN} --auto --yes\n`);
  const exit = await runPlan({ ...io, cwd: stage.repo }, PLAN, {
    auto: true,
    yes: true,
    set: [],
    hint: [],
  });
  if (signal.aborted) return EXIT.interrupted;
  const { workflowId } = await planOfPath(stage.repo, PLAN);
  const run = await resolveRun(stage.emend, workflowId);
  ended.push({ name: 'the plan', stepKey: run.stepKey });
  if (exit !== EXIT.done) return EXIT.failed;

  const result = await resultOf(stage.repo, await runEvents(stage.emend, run, 0));
  if (options.update === true) {
    await write(result);
    io.out(`\nTaken as expected: ${result.size} texts in ${EXPECTED}`);
    return EXIT.done;
  }
  const { same, differences } = await compare(result);
  io.out(`\nAs expected: ${same.join(', ')}`);
  for (const text of differences) io.err(`\n${text}`);
  if (differences.length > 0) io.err('Not what was expected: see above.');
  return differences.length === 0 ? EXIT.done : EXIT.failed;
};

await runDemo({
  usage: USAGE,
  flags: ['update', 'stay'],
  intro: `A plan of six phases over Lodash ${LODASH}. A rehearsal plays the model: no key is needed, nothing is paid.`,
  repository: { beside: { '.': 'plan/workspace' }, script: 'plan/rehearsal.yaml' },
  perform,
});
