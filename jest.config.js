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
const cluster = {
  ...base,
  displayName: 'cluster',
  testMatch: ['<rootDir>/test/cluster/**/*.test.ts'],
};

// `unit` needs nothing; `e2e` gets a real Temporal dev server (one for the whole run) from its global setup.
export default {
  reporters: ['default', '<rootDir>/test/support/last-line.js'],
  // A matrix that is run whole takes four times as long as its sample, and more on a machine that is busy.
  testTimeout: process.env.EMEND_LONG === undefined ? 60_000 : 240_000,
  // A process forks slower the more memory it holds (3 ms at 50 MB, 84 ms at 1 GB here), and what a file loaded is never given back; but a
  // worker that starts anew for most files costs more: 54 files took 126 s of CPU with 200 MB, 112 with 500.
  workerIdleMemoryLimit: '500MB',
  testSequencer: '<rootDir>/scripts/heaviest-first.js',
  projects: [
    {
      ...base,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/e2e/', '<rootDir>/test/cluster/'],
      globalSetup: '<rootDir>/test/support/scratch-setup.js',
    },
    {
      ...base,
      displayName: 'e2e',
      testMatch: ['<rootDir>/test/e2e/**/*.test.ts'],
      globalSetup: '<rootDir>/test/support/global-setup.js',
      globalTeardown: '<rootDir>/test/support/global-teardown.js',
    },
    ...(process.env.EMEND_TEST_CLUSTER === undefined ? [] : [cluster]),
  ],
};
