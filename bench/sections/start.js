/** What a command costs that only looks or applies what is there: over `node -e 0`, which is what cannot be saved. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { resolveRun, startStep, waitForRun } from '../../dist/src/client/index.js';
import { EMEND, interleaved, timeCommand } from '../commands.js';
import { median, row, spread } from '../numbers.js';
import { appendAnswer, jobText, ruleFor, writeJob } from '../runs.js';

const FILE = 'start.txt';
const BASE = 'one\ntwo\nthree\n';
const EDIT = `--- a/${FILE}\n+++ b/${FILE}\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n`;
const rules = () => [ruleFor(FILE, appendAnswer(FILE))];
const settings = {
  target_files: [FILE],
  format: 'structured-edit',
  approval: 'ask',
  commit: false,
  test: false,
};

/** A run that waits for its approval is what `list` and `show` show; the server is up. */
const measure = async (stage, { rounds }) => {
  const { emend, env } = stage;
  const job = await writeJob(
    await stage.repository('start', { [FILE]: BASE }),
    'job.md',
    jobText(settings),
  );
  const { stepKey } = await startStep(emend, { job });
  await waitForRun(emend, await resolveRun(emend, stepKey));
  const cwd = await stage.repository('start-patch', { [FILE]: BASE });
  const answer = join(stage.dir, 'answer.diff');
  await writeFile(answer, EDIT);
  const emended = (words, expected) => () =>
    timeCommand([...EMEND, ...words], { cwd, env, expected });
  const apply = emended(['patch', answer], 'Applied to 1 file');
  const work = {
    node: () => timeCommand([process.execPath, '-e', '0'], { cwd, env }),
    help: emended(['--help'], 'Usage'),
    list: emended(['list'], 'job.md'),
    show: emended(['show', stepKey.slice(0, 8)], 'approve'),
    patch: () => writeFile(join(cwd, FILE), BASE).then(apply),
  };
  return interleaved(work, rounds);
};

const TITLES = {
  list: '`emend list`, a server up',
  show: '`emend show`, a server up',
  patch: '`emend patch`, one line',
};
const GOALS = { list: 9, show: 9, patch: 5 };

const rowsOf = (seen) => {
  const of = (name, what) => seen[name].map((each) => each[what]);
  const ratio = (name, what, words) => {
    const ratios = of(name, what).map((value, round) => value / of('node', what)[round]);
    return row(`${TITLES[name]}: ${words} over \`node -e 0\``, spread(ratios), median(ratios), {
      atMost: GOALS[name],
    });
  };
  const both = (name) => `${spread(of(name, 'ms'), 0)} ms, CPU ${spread(of(name, 'cpu_ms'), 0)} ms`;
  return [
    row(`\`node -e 0\` (${seen.node.length} rounds)`, both('node')),
    row('`emend --help`', both('help'), median(of('help', 'ms')), { atMost: 200 }),
    ...Object.keys(GOALS).flatMap((name) => [
      ratio(name, 'ms', 'time'),
      ratio(name, 'cpu_ms', 'CPU'),
      row(`${TITLES[name]}`, both(name)),
    ]),
  ];
};

export const start = { title: 'Commands over an empty Node.js', rules, measure, rowsOf };
