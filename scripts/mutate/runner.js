/**
 * Stryker's plugin for `npm run mutate`: runs the tests that reach a mutant, the quickest first, until one fails. A mutant that loops is noticed by
 * what it is: reached far more often in a test than the first run reached it there. That spares a time-out and a new process for most of them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { loadTests } from './tests.js';

/** In Stryker's copy of the repository, where the processes of a run work one after the other. */
const FIRST_RUN = '.first-run.json';
const LOOPS_FROM = 1_000;
const LOOPS_TIMES = 100;

/** What the instrumented engine reads and writes (@stryker-mutator/instrumenter). */
const shared = (globalThis.__stryker__ ??= {});

let tests;
let firstRun;

const failureOf = async ({ ready, run }) => {
  try {
    await ready();
    await run();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const dryRun = async () => {
  tests ??= await loadTests();
  const results = [];
  for (const test of tests) {
    const { id, name, fileName } = test;
    await test.ready();
    const start = performance.now();
    shared.currentTestId = id;
    const failureMessage = await failureOf(test);
    shared.currentTestId = undefined;
    const said = { id, name, fileName, timeSpentMs: performance.now() - start };
    results.push(
      failureMessage === undefined
        ? { ...said, status: 0 }
        : { ...said, status: 1, failureMessage },
    );
  }
  const mutantCoverage = shared.mutantCoverage ?? { static: {}, perTest: {} };
  const took = Object.fromEntries(results.map(({ id, timeSpentMs }) => [id, timeSpentMs]));
  writeFileSync(FIRST_RUN, JSON.stringify({ took, reached: mutantCoverage.perTest }));
  return { status: 'complete', tests: results, mutantCoverage };
};

const mutantRun = async ({ activeMutant: { id: mutant }, testFilter }) => {
  tests ??= await loadTests();
  firstRun ??= JSON.parse(readFileSync(FIRST_RUN, 'utf8'));
  const testIds = new Set(testFilter ?? tests.map(({ id }) => id));
  const chosen = tests
    .filter(({ id }) => testIds.has(id))
    .sort((one, other) => firstRun.took[one.id] - firstRun.took[other.id]);
  shared.activeMutant = mutant;
  try {
    for (const [index, test] of chosen.entries()) {
      shared.hitCount = 0;
      shared.hitLimit = LOOPS_FROM + LOOPS_TIMES * (firstRun.reached[test.id]?.[mutant] ?? 0);
      const failureMessage = await failureOf(test);
      if (shared.hitCount > shared.hitLimit)
        return { status: 'timeout', reason: `${test.id}: it loops` };
      if (failureMessage !== undefined)
        return { status: 'killed', killedBy: [test.id], failureMessage, nrOfTests: index + 1 };
    }
    return { status: 'survived', nrOfTests: chosen.length };
  } finally {
    shared.activeMutant = undefined;
    shared.hitCount = undefined;
  }
};

export const strykerPlugins = [
  {
    kind: 'TestRunner',
    name: 'engine',
    // "Can reload", and need not: with `ignoreStatic` a mutant works in tests only. Else each one that loading the tests reaches, too, would cost a new
    // process.
    factory: () => ({ capabilities: async () => ({ reloadEnvironment: true }), dryRun, mutantRun }),
  },
];
