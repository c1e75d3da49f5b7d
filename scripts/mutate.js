/**
 * `npm run mutate -- [--files locate/line-chain,text/to-splices] [--quick] [--concurrency 1]`: changes the edit engine in small ways and asks whether a test notices (Stryker).
 * Whole files of src/edits by their paths without ending; all unless told, which takes hours. `--quick` leaves drawn properties out, in which what nobody notices
 * spends most of its time: at least so many are noticed. The report is reports/mutation/mutation.html.
 */
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';

/** Of 100 mutants at least so many are noticed, in all files together and in each file; exit code 1 below. */
const GOAL_PERCENT = 92;
const GOAL_OF_A_FILE_PERCENT = 80;

const { values } = parseArgs({
  options: {
    files: { type: 'string' },
    quick: { type: 'boolean', default: false },
    concurrency: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(
    'npm run mutate -- [--files locate/line-chain,text/to-splices] [--quick] [--concurrency 1]',
  );
  process.exit(0);
}
const files = values.files?.split(',').map((name) => `src/edits/${name.replace(/\.ts$/, '')}.ts`);
const missing = files?.filter((path) => !existsSync(path)) ?? [];
if (missing.length > 0) {
  console.error(
    `There is no ${missing.join(', ')}. Name files of src/edits without their ending, like --files locate/line-chain,text/to-splices`,
  );
  process.exit(2);
}
const concurrency = Number(values.concurrency);
if (!Number.isInteger(concurrency) || concurrency < 1) {
  console.error(`--concurrency is a whole number from 1 on, not ${values.concurrency}`);
  process.exit(2);
}

// Drawn properties: always the same few cases, so that a run can be held against the last one.
process.env.EMEND_FUZZ_SEED = '1';
process.env.EMEND_FUZZ_RUNS = '30';
if (values.quick) process.env.EMEND_MUTATE_QUICK = '1';

const results = await new Stryker({
  mutate: files ?? ['src/edits/**/*.ts'],
  plugins: [fileURLToPath(new URL('./mutate/runner.js', import.meta.url))],
  testRunner: 'engine',
  testRunnerNodeArgs: ['--import', './scripts/typescript.js'],
  coverageAnalysis: 'perTest',
  concurrency,
  // Tables and patterns of a module: each would need a process of its own and all tests.
  ignoreStatic: true,
  // Words of messages are data for people: that they changed need not fail a test.
  mutator: { excludedMutations: ['StringLiteral'] },
  ignorePatterns: [
    '/dist',
    '/.emend-test',
    '/reports',
    '/exam',
    '/demo',
    '/bench',
    '/test/{e2e,histories,chaos}',
  ],
  reporters: ['clear-text', 'html', 'json', 'progress-append-only'],
  clearTextReporter: { logTests: false, allowColor: false },
  allowConsoleColors: false,
  disableTypeChecks: false,
  tempDirName: '.stryker-tmp',
}).runMutationTest();

/** Counts the mutants that a test notices. Those that do not compile, and those of modules' tables, are not mutants of behaviour. */
function scoreOf(mutants) {
  const withStatus = (...statuses) =>
    mutants.filter(({ status }) => statuses.includes(status)).length;
  const noticed = withStatus('Killed', 'Timeout');
  const counted = noticed + withStatus('Survived', 'NoCoverage');
  return { counted, percent: counted === 0 ? 100 : (100 * noticed) / counted };
}

const weak = [...new Set(results.map(({ fileName }) => fileName))]
  .map((path) => ({ path, ...scoreOf(results.filter(({ fileName }) => fileName === path)) }))
  .filter(({ percent }) => percent < GOAL_OF_A_FILE_PERCENT)
  .sort((a, b) => a.percent - b.percent);
for (const { path, percent, counted } of weak)
  console.log(
    `${percent.toFixed(1)} % of ${counted} in ${relative(process.cwd(), path)} (goal ${GOAL_OF_A_FILE_PERCENT} %)`,
  );

const { percent, counted } = scoreOf(results);
console.log(`${percent.toFixed(1)} % of ${counted} mutants noticed (goal ${GOAL_PERCENT} %)`);
process.exitCode = percent >= GOAL_PERCENT && weak.length === 0 ? 0 : 1;
