import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const base = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } },
    ],
  },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.emend-test/'],
};

/** Only on what `npm run test:cluster` has started. */
const cluster = { ...base, displayName: 'cluster', testMatch: ['<rootDir>/test/cluster/**/*.test.ts'] };

/** Up to a minute and more each; `npm test` shows the same promises by other files and by the pure rules. */
const NAMES = [
  ...[
    'bad-input',
    'crash-more',
    'demo-plan',
    'dev-version',
    'doc-commands',
    'held',
    'histories',
    'hook-staged',
    'inputs',
    'ledger',
    'page-more',
    'plan-decisions',
    'plan-left',
    'plan-replan',
    'reasons-commit',
  ],
  ...[
    'regions',
    'review',
    'rolling',
    'services',
    'sleep',
    'stop',
    'stops',
    'stuck',
    'terminated',
    'timeouts',
    'two-steps',
    'usage',
  ],
];
const LONG_ONLY = NAMES.map((name) => `/test/e2e/${name}.test.ts`);

/**
 * `npm run test:long` runs what `npm test` runs in part or not at all: the files left out above, and those that draw from a matrix. The
 * rest would only be run a second time.
 */
const DRAWS = /EMEND_(LONG|SHORT|WHOLE)\b|\blongOnly\b|support\/(seeded|store-faults)/;
const inPart = (path) => LONG_ONLY.some((each) => `/${path}`.endsWith(each)) || DRAWS.test(readFileSync(path, 'utf8'));
const leftToNpmTest = () =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((name) => join('test', name))
    .filter((path) => path.endsWith('.test.ts') && !inPart(path))
    .map((path) => `/${path}$`);
const SHORT = process.env.EMEND_SHORT === '1';
const leftOut = process.env.EMEND_REST === '1' ? leftToNpmTest() : SHORT ? LONG_ONLY : [];

// `unit` needs nothing; `e2e` gets a real Temporal dev server (one for the whole run) from its global setup.
export default {
  reporters: ['default', '<rootDir>/test/support/last-line.js'],
  testTimeout: 60_000,
  // A process forks slower the more memory it holds (3 ms at 50 MB, 84 ms at 1 GB here), and what a file loaded is never given back.
  workerIdleMemoryLimit: '200MB',
  testSequencer: '<rootDir>/scripts/heaviest-first.js',
  projects: [
    {
      ...base,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/e2e/', '<rootDir>/test/cluster/', ...leftOut],
    },
    {
      ...base,
      displayName: 'e2e',
      testMatch: ['<rootDir>/test/e2e/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', ...leftOut],
      globalSetup: '<rootDir>/test/support/global-setup.js',
      globalTeardown: '<rootDir>/test/support/global-teardown.js',
    },
    ...(process.env.EMEND_TEST_CLUSTER === undefined ? [] : [cluster]),
  ],
};
