/**
 * `npm run bench:step`: what a step costs beside what it cannot do without: time, CPU, fsyncs, Temporal actions, history, steps per second. Ratios
 * from one run, interleaved. Prints Markdown tables with the goals beside the numbers. Exit codes: 0 measured (whatever the numbers
 * say), 1 not measured, 2 usage.
 */
import './probe.js';
import { parseArgs } from 'node:util';
import { table } from './numbers.js';
import { machineLine, runBench } from './program.js';
import { actions } from './sections/actions.js';
import { budget } from './sections/budget.js';
import { history } from './sections/history.js';
import { junk } from './sections/junk.js';
import { peer } from './sections/peer.js';
import { plan } from './sections/plan.js';
import { rate } from './sections/rate.js';
import { start } from './sections/start.js';
import { time } from './sections/time.js';
import { openStage } from './stage.js';

const SECTIONS = { time, budget, rate, actions, history, plan, junk, start, peer };

const USAGE = `npm run bench:step -- [options]
  --only NAME     a section (again and again): ${Object.keys(SECTIONS).join(', ')}; default: all
  --rounds N      rounds of the sections time, budget, start and peer (30)
  --steps N       steps at once in the rate section (50), --rate-rounds N (8)
  --files N       files of the largest step in the history section (500)
  --phases N      phases of the plan in the plan section (200)
  --signals N     signals of the junk section (5000)
  --test-minutes N  minutes of each of the two test runs of the actions section (1)
  --peer COMMAND  the command of the peer section (aider)`;

const numbers = {
  rounds: '30',
  steps: '50',
  'rate-rounds': '8',
  files: '500',
  phases: '200',
  signals: '5000',
  'test-minutes': '1',
};

const readOptions = () => {
  const options = Object.fromEntries(
    Object.entries(numbers).map(([name, value]) => [name, { type: 'string', default: value }]),
  );
  const { values } = parseArgs({
    options: {
      ...options,
      only: { type: 'string', multiple: true },
      help: { type: 'boolean' },
      peer: { type: 'string', default: 'aider' },
    },
  });
  for (const name of Object.keys(numbers))
    if (!/^[1-9][0-9]*$/.test(values[name]))
      throw new Error(`--${name}: expected a whole number from 1, received ${values[name]}`);
  for (const name of values.only ?? [])
    if (!(name in SECTIONS)) throw new Error(`--only: no section ${name}`);
  const of = (name) => Number(values[name]);
  return {
    help: values.help === true,
    only: values.only ?? Object.keys(SECTIONS),
    settings: {
      rounds: of('rounds'),
      steps: of('steps'),
      rateRounds: of('rate-rounds'),
      files: of('files'),
      phases: of('phases'),
      signals: of('signals'),
      testMinutes: of('test-minutes'),
      peer: values.peer,
    },
  };
};

const measureAll = async (options) => {
  console.log(`${machineLine()}\n`);
  for (const name of options.only) {
    const section = SECTIONS[name];
    const from = Date.now();
    const stage = await openStage({
      rules: section.rules(options.settings),
      env: section.env ?? {},
    });
    try {
      const seen = await section.measure(stage, options.settings);
      console.log(
        table(
          `${section.title} (${((Date.now() - from) / 1000).toFixed(0)} s)`,
          section.rowsOf(seen),
        ),
      );
    } finally {
      await stage.close();
    }
  }
  return 0;
};

// Temporal's native library may hold the process for a moment after all is closed.
process.exit(
  await runBench(readOptions, USAGE, measureAll).catch((error) => (console.error(error), 1)),
);
