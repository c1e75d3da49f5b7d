/** The tests of the edit engine that `npm run mutate` runs for each mutant: those that decide by themselves, without git and without long draws. */
import config from './jest.config.js';

const [{ transform, extensionsToTreatAsEsm, moduleNameMapper }] = config.projects;
const DRAWN = [
  'properties',
  'perturbed',
  'diff-git-properties',
  'search-replace-properties',
  'unified-diff-properties',
];
const LEFT_OUT = [...DRAWN, 'unified-diff-git', 'hostile', 'truncation', 'library-docs', 'diff'];

export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm,
  transform,
  moduleNameMapper,
  testMatch: ['<rootDir>/test/edits/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...LEFT_OUT.map((name) => `/test/edits/${name}.test.ts`)],
};
