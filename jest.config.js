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

/** Up to a minute and more each; `npm test` shows the same promises by cancelled, terminated, crash, reasons, resets, upgrade and replay. */
const NAMES = ['stop', 'stops', 'crash-more', 'histories', 'ledger', 'reasons-commit', 'rolling', 'timeouts'];
const LONG_ONLY = NAMES.map((name) => `/test/e2e/${name}.test.ts`);

// `unit` needs nothing; `e2e` gets a real Temporal dev server (one for the whole run) from its global setup.
export default {
  reporters: ['default', '<rootDir>/test/support/last-line.js'],
  testTimeout: 60_000,
  testSequencer: '<rootDir>/test/support/sequencer.js',
  projects: [
    {
      ...base,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/e2e/', '<rootDir>/test/cluster/'],
    },
    {
      ...base,
      displayName: 'e2e',
      testMatch: ['<rootDir>/test/e2e/**/*.test.ts'],
      testPathIgnorePatterns: process.env.EMEND_SHORT === '1' ? ['/node_modules/', ...LONG_ONLY] : ['/node_modules/'],
      globalSetup: '<rootDir>/test/support/global-setup.js',
      globalTeardown: '<rootDir>/test/support/global-teardown.js',
    },
    ...(process.env.EMEND_TEST_CLUSTER === undefined ? [] : [cluster]),
  ],
};
