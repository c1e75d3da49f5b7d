/**
 * `npm test` and `npm run test:long`: everything that proves Emend, in stages. `npm run test:long` leaves to `npm test` what that runs
 * whole: lint, types, rules, and the test files that draw from no matrix; with `-- --share K/6` it runs a sixth of its files and of its
 * chaos. Each stage counts as one passed or failed, jest's tests are added to that, and the last line says `N passed, N failed`. The whole
 * run is bounded in time and leaves no process behind.
 */
import { execFileSync } from 'node:child_process';
import { chmod, copyFile, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { constants, cpus, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from './build.js';
import { ensureInstalled, root } from './install.js';
import { endWithSignals, run } from './processes.js';
import { SHARES, drawSeed, readShare } from './seed.js';
import { filesOfLong, filesOfTest } from './suites.js';

const USAGE = `npm test, npm run test:long, npm run test:long -- --share K/${SHARES} (K from 1 to ${SHARES})`;
const refuse = (problem) => {
  console.error(`${problem}\nExpected: ${USAGE}`);
  process.exit(2);
};
const readArguments = () => {
  try {
    const { values } = parseArgs({
      options: { long: { type: 'boolean', default: false }, share: { type: 'string' } },
    });
    if (values.share === undefined) return { long: values.long, share: null };
    const share = readShare(values.share);
    if (share === null) return refuse(`--share: ${values.share} is no share.`);
    return values.long
      ? { long: true, share }
      : refuse('--share: only `npm run test:long` has shares.');
  } catch (error) {
    return refuse(error.message);
  }
};
const { long, share } = readArguments();

const started = Date.now();
/** Ends what hangs: `npm test` takes 4 to 9 minutes (goal: 5), a share under 15, all of `npm run test:long` under 60; the last lines say. */
const LIMIT_MS = (long ? (share === null ? 75 : 20) : 30) * 60_000;
const STAGE_MS = 10 * 60_000;
const CHAOS_MS = 20 * 60_000;
/** As many for each share. */
const CHAOS_KILLS = 9 * SHARES;
const seed = drawSeed();
const remaining_ms = () => Math.max(1_000, LIMIT_MS - (Date.now() - started));

/** Everything that the tests put into the temporary directory lies here, so that it can be found and removed afterwards. */
const scratch = await mkdtemp(join(tmpdir(), 'emend-test-'));
await chmod(scratch, 0o1777); // Like /tmp, because some tests run programs as another user.
const resultFile = join(scratch, 'jest.json');

/** A person's own servers, keys and settings have no business in tests; where to find the CLI and a seed do. */
const testEnvironment = () => {
  const own = /^(TEMPORAL_|ANTHROPIC_|EMEND_)/;
  const kept = /^EMEND_(TEMPORAL|TEST)_|^EMEND_(SEED|FUZZ_SEED|FUZZ_RUNS|WHOLE)$/;
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !own.test(name) || kept.test(name)),
  );
  return {
    EMEND_FUZZ_SEED: seed,
    ...env,
    EMEND_SEED: seed,
    // A build in this process makes it `production`, and npm then installs no development dependencies.
    NODE_ENV: 'test',
    TMPDIR: scratch,
    EMEND_TEST_RUN: scratch,
    ...(long ? { EMEND_LONG: '1' } : { EMEND_SHORT: '1' }),
  };
};

/** Ends the Temporal servers whose records lie in the scratch folder: those of tests that were killed. */
const endServers = async () => {
  const entries = await readdir(scratch, { recursive: true }).catch(() => []);
  const homes = entries
    .filter((path) => path.endsWith('dev-server.json'))
    .map((path) => join(scratch, path, '..'));
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

const cached = (name) => join(root, 'node_modules', '.cache', name);

/** Beside the tests, which wait as often as they compute: with what they leave of the machine, and as long as it takes on a slow one. */
const tool = (path, ...args) =>
  run(process.execPath, [join(root, 'node_modules', path), ...args], {
    cwd: root,
    timeout_ms: remaining_ms(),
    priority: constants.priority.PRIORITY_BELOW_NORMAL,
  });

/** Its failed tests by name, or that it did not load. */
const failedIn = ({ name, status, assertionResults }) => {
  const failed = assertionResults
    .filter((result) => result.status === 'failed')
    .map(({ fullName }) => fullName);
  const loaded = failed.length > 0 || status !== 'failed';
  return (loaded ? failed : ['did not load']).map((what) => `${relative(root, name)}: ${what}`);
};

const jest = async () => {
  const options = [
    '--json',
    `--outputFile=${resultFile}`,
    `--maxWorkers=${Math.min(3, cpus().length + 1)}`,
  ];
  const cache = `--cacheDirectory=${cached('jest')}`;
  if (share !== null) options.push(`--shard=${share.number}/${share.of}`);
  const code = await run(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--no-warnings',
      join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
      ...options,
      cache,
      '--runTestsByPath',
      ...(long ? filesOfLong() : filesOfTest()),
    ],
    { cwd: root, env: testEnvironment(), timeout_ms: remaining_ms() },
  );
  const results = await readFile(resultFile, 'utf8').then(JSON.parse, () => null);
  if (results) {
    // For scripts/measured.js.
    const name = `last ${[long ? 'test:long' : 'test', ...(share === null ? [] : [share.number])].join(' ')}.json`;
    await copyFile(resultFile, cached(name));
    total.passed += results.numPassedTests;
    total.failed += results.numFailedTests + results.numRuntimeErrorTestSuites;
    total.names.push(...results.testResults.flatMap(failedIn));
  }
  return code;
};

/** What others install must be whole, and hold nothing else. */
const packed = () => {
  const npm = process.env.npm_execpath;
  const [command, first] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
  const args = [...first, 'pack', '--dry-run', '--json', '--ignore-scripts'];
  const [{ files }] = JSON.parse(
    execFileSync(command, args, { cwd: root, encoding: 'utf8', timeout: STAGE_MS }),
  );
  const paths = files.map((file) => file.path);
  const required = [
    'dist/client.js',
    'dist/worker.js',
    'dist/workflow-bundle.js',
    'dist/src/syntax/index.js',
    'dist/web/index.html',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
  ];
  const missing = required.filter((path) => !paths.includes(path));
  const stray = paths.filter(
    (path) => /^(src|test|scripts|node_modules)\//.test(path) || /\.(tgz|env)$/.test(path),
  );
  for (const path of missing) console.error(`not in the package: ${path}`);
  for (const path of stray) console.error(`does not belong into the package: ${path}`);
  return missing.length + stray.length;
};

/** Faults of all kinds against real processes. */
const chaos = () => {
  const part = share === null ? [] : ['--share', `${share.number}/${share.of}`];
  const args = [
    join(root, 'scripts', 'chaos.js'),
    '--kills',
    String(CHAOS_KILLS),
    '--seed',
    seed,
    ...part,
  ];
  return run(process.execPath, args, {
    cwd: root,
    env: testEnvironment(),
    timeout_ms: Math.min(CHAOS_MS, remaining_ms()),
  });
};

const CHECKS = [
  'lint and types, format, dependency rules, dead code',
  async () => {
    const tools = [
      ['../scripts/lint.js'],
      ['oxfmt/bin/oxfmt', '--check'],
      [
        'dependency-cruiser/bin/dependency-cruise.mjs',
        'src',
        'worker.ts',
        'client.ts',
        '--config',
        '.dependency-cruiser.cjs',
      ],
      ['knip/bin/knip.js'],
    ];
    for (const parts of tools) if ((await tool(...parts)) !== 0) return 1;
    return 0;
  },
];
const stages = [
  [['install', async () => (await ensureInstalled(), 0)]],
  [['build', async () => (await build(), 0)]],
  // The same tree has the same faults whichever tests follow: `npm run test:long` leaves them to `npm test`.
  ...(long
    ? [[['tests, whole matrices', jest]], [['chaos', chaos]]]
    : [[['package', packed]], [['tests', jest], CHECKS]]),
];

const total = { passed: 0, failed: 0, names: [] };
endWithSignals(cleanUp);
console.log(
  `Samples are drawn with EMEND_SEED=${seed}.${share === null ? '' : ` Share ${share.number} of ${share.of}.`}`,
);
// A stage that cannot go on ends the process: what was counted so far is said all the same.
process.on('exit', (code) => {
  if (code !== 0 && total.failed === 0) total.failed = 1;
  for (const name of total.names) console.log(`FAILED ${name}`);
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
  if (code !== 0) total.names.push(title);
  console.log(
    `== ${title}: ${code === 0 ? 'passed' : 'FAILED'} in ${((Date.now() - from) / 1000).toFixed(1)} s`,
  );
};
for (const row of stages) await Promise.all(row.map(carryOut));
await cleanUp();
console.log(`\nThe whole run took ${((Date.now() - started) / 1000).toFixed(0)} s.`);
process.exitCode = total.failed === 0 ? 0 : 1;
