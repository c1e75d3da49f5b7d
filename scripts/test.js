/**
 * `npm test` and `npm run test:long`: everything that proves Emend, in stages. `npm run test:long` leaves to `npm test` what that runs
 * whole: lint, types, rules, and the test files that draw from no matrix. Each stage counts as one passed or failed, jest's tests are added
 * to that, and the last line says `N passed, N failed`. The whole run is bounded in time and leaves no process behind.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from './build.js';
import { ensureInstalled, root } from './install.js';
import { endWithSignals, run } from './processes.js';

const long = process.argv.includes('--long');
const started = Date.now();
/** Ends what hangs. `npm test` is to take under 15 minutes, `npm run test:long` under 45; the last lines say how long they took. */
const LIMIT_MS = (long ? 55 : 22) * 60_000;
const STAGE_MS = 5 * 60_000;
const CHAOS_MS = 5 * 60_000;
const CHAOS_LONG_MS = 20 * 60_000;
/** From what is committed of sources and tests: another one for each change of them, the same one for whoever runs them again. */
const seedOfSources = () => {
  try {
    const trees = execFileSync('git', ['rev-parse', 'HEAD:src', 'HEAD:test'], {
      cwd: root,
      encoding: 'utf8',
      stdio: 'pipe',
    });
    return trees
      .trim()
      .split('\n')
      .reduce((sum, tree) => sum ^ parseInt(tree.slice(0, 7), 16), 0);
  } catch {
    return Math.floor(Math.random() * 2 ** 28);
  }
};
const seed = process.env.EMEND_SEED ?? String(seedOfSources());
const left = () => Math.max(1_000, LIMIT_MS - (Date.now() - started));

/** Everything that the tests put into the temporary directory lies here, so that it can be found and removed afterwards. */
const scratch = await mkdtemp(join(tmpdir(), 'emend-test-'));
const resultFile = join(scratch, 'jest.json');

/** A person's own servers, keys and settings have no business in tests; where to find the CLI and a seed do. */
const testEnvironment = () => {
  const own = /^(TEMPORAL_|ANTHROPIC_|EMEND_)/;
  const kept = /^EMEND_(TEMPORAL|TEST)_|^EMEND_(SEED|FUZZ_SEED|FUZZ_RUNS|WHOLE)$/;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name) || kept.test(name)));
  return {
    EMEND_FUZZ_SEED: seed,
    ...env,
    EMEND_SEED: seed,
    TMPDIR: scratch,
    EMEND_TEST_RUN: scratch,
    ...(long ? { EMEND_LONG: '1', EMEND_REST: '1' } : { EMEND_SHORT: '1' }),
  };
};

/** Ends the Temporal servers whose records lie in the scratch folder: those of tests that were killed. */
const endServers = async () => {
  const entries = await readdir(scratch, { recursive: true }).catch(() => []);
  const homes = entries.filter((path) => path.endsWith('dev-server.json')).map((path) => join(scratch, path, '..'));
  if (homes.length === 0) return;
  const { liveDevServer } = await import('../dist/src/temporal/dev-record.js');
  const { stopDevServer } = await import('../dist/src/temporal/dev-server.js');
  for (const home of homes) {
    const record = await liveDevServer(home);
    if (record) await stopDevServer(home, record.process, 0);
  }
};

const cleanUp = async () => {
  await endServers();
  await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
};

const tool = (path, ...args) =>
  run(process.execPath, [join(root, 'node_modules', path), ...args], {
    cwd: root,
    timeout_ms: Math.min(STAGE_MS, left()),
  });

const jest = async () => {
  const options = ['--json', `--outputFile=${resultFile}`, `--maxWorkers=${Math.min(3, cpus().length + 1)}`];
  const cache = `--cacheDirectory=${join(root, 'node_modules', '.cache', 'jest')}`;
  const code = await run(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--no-warnings',
      join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
      ...options,
      cache,
    ],
    { cwd: root, env: testEnvironment(), timeout_ms: left() },
  );
  const results = await readFile(resultFile, 'utf8').then(JSON.parse, () => null);
  if (results) {
    total.passed += results.numPassedTests;
    total.failed += results.numFailedTests + results.numRuntimeErrorTestSuites;
  }
  return code;
};

/** What others install must be whole, and hold nothing else. */
const packed = () => {
  const npm = process.env.npm_execpath;
  const [command, first] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
  const args = [...first, 'pack', '--dry-run', '--json', '--ignore-scripts'];
  const [{ files }] = JSON.parse(execFileSync(command, args, { cwd: root, encoding: 'utf8', timeout: STAGE_MS }));
  const paths = files.map((file) => file.path);
  const wanted = [
    'dist/client.js',
    'dist/worker.js',
    'dist/workflow-bundle.js',
    'dist/src/syntax/index.js',
    'dist/web/index.html',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
  ];
  const missing = wanted.filter((path) => !paths.includes(path));
  const stray = paths.filter((path) => /^(src|test|scripts|node_modules)\//.test(path) || /\.(tgz|env)$/.test(path));
  for (const path of missing) console.error(`not in the package: ${path}`);
  for (const path of stray) console.error(`does not belong into the package: ${path}`);
  return missing.length + stray.length;
};

/** Faults of all kinds against real processes. */
const chaos = () =>
  run(process.execPath, [join(root, 'scripts', 'chaos.js'), '--kills', long ? '50' : '3', '--seed', seed], {
    cwd: root,
    env: testEnvironment(),
    timeout_ms: Math.min(long ? CHAOS_LONG_MS : CHAOS_MS, left()),
  });

const rules = ['src', 'worker.ts', 'client.ts', '--config', '.dependency-cruiser.cjs'];
/** The same tree has the same faults whichever tests follow. */
const checks = (...row) => (long ? [] : [row]);
/** One after the other; those in a row of their own side by side with the lint, which takes as long as all of them. */
const stages = [
  [['install', async () => (await ensureInstalled(), 0)]],
  [['build', async () => (await build(), 0)]],
  ...checks(
    ['lint', () => tool('eslint/bin/eslint.js', '.')],
    [
      'format, types, dependency rules, dead code',
      async () =>
        (await tool('prettier/bin/prettier.cjs', '--check', '.', '--log-level', 'warn')) ||
        (await tool('typescript/bin/tsc', '--noEmit')) ||
        (await tool('typescript/bin/tsc', '-p', 'src/web/page')) ||
        (await tool('dependency-cruiser/bin/dependency-cruise.mjs', ...rules)) ||
        (await tool('knip/bin/knip.js')),
    ],
  ),
  [['package', packed]],
  [[long ? 'tests, whole matrices' : 'tests', jest]],
  [['chaos', chaos]],
];

const total = { passed: 0, failed: 0 };
endWithSignals(cleanUp);
console.log(`Samples are drawn with EMEND_SEED=${seed}.`);
// A stage that cannot go on ends the process: what was counted so far is said all the same.
process.on('exit', (code) => {
  if (code !== 0 && total.failed === 0) total.failed = 1;
  console.log(`${total.passed} passed, ${total.failed} failed`);
});

const carryOut = async ([title, stage]) => {
  const from = Date.now();
  console.log(`\n== ${title}`);
  let code = 1;
  try {
    code = await stage();
  } catch (error) {
    console.error(error);
  }
  total[code === 0 ? 'passed' : 'failed'] += 1;
  console.log(`== ${title}: ${code === 0 ? 'passed' : 'FAILED'} in ${((Date.now() - from) / 1000).toFixed(1)} s`);
};
for (const row of stages) await Promise.all(row.map(carryOut));
await cleanUp();
console.log(`\nThe whole run took ${((Date.now() - started) / 1000).toFixed(0)} s.`);
process.exitCode = total.failed === 0 ? 0 : 1;
