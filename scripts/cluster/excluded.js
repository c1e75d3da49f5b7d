/** End-to-end tests that do not run on a cluster, each with its reason. What is not named here does. */
export const EXCLUDED_FILES = [
  {
    file: 'test/e2e/bad-input.test.ts',
    why: 'what is refused before any server is asked, with homes of its own',
  },
  { file: 'test/e2e/demo.test.ts', why: 'the demo starts a dev server of its own' },
  { file: 'test/e2e/demo-plan.test.ts', why: 'the demo starts a dev server of its own' },
  { file: 'test/e2e/dev-version.test.ts', why: "about the dev server's database" },
  { file: 'test/e2e/package.test.ts', why: 'about the packed files; needs no server' },
  {
    file: 'test/e2e/server.test.ts',
    why: 'kills a dev server of its own; test/cluster/outage.test.ts kills the cluster',
  },
];

export const EXCLUDED_TESTS = [
  {
    name: 'the server is killed and restarted in the middle of a model call',
    why: 'kills a dev server of its own; test/cluster/outage.test.ts does it here',
  },
];
