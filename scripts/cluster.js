/**
 * `npm run test:cluster`: Temporal's server on PostgreSQL, both of our own; on it the end-to-end tests with two homes and one bucket, then
 * the tests of the cluster itself (test/cluster). The server, its schema, its namespace and the worker of test/cluster/compose.test.ts are
 * those of docker-compose.yml. Arguments are paths or parts of paths of test files: only those run. Exit code 1 where no test ran,
 * because a tool is missing (it says what to install) or no file fits. EMEND_TEST_KEEP=1 keeps the cluster's logs.
 */
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from './build.js';
import { addressOf, endCluster, startCluster } from './cluster/cluster.js';
import { EXCLUDED_FILES, EXCLUDED_TESTS } from './cluster/excluded.js';
import { readState } from './cluster/state.js';
import { findTools } from './cluster/tools.js';
import { ensureInstalled, root } from './install.js';
import { endWithSignals, run } from './processes.js';

const LIMIT_MS = 120 * 60_000;
/** Of a test that names no limit of its own: twice the workers, and a database that syncs, take their time. */
const TEST_MS = 240_000;
const pathParts = process.argv.slice(2);
const total = { passed: 0, failed: 0, skipped: 0 };
let cluster = null;
let scratch = null;

const cleanUp = async () => {
  if (cluster !== null) await endCluster(cluster, process.env.EMEND_TEST_KEEP === '1');
  if (scratch !== null) await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
};

/** A person's own servers, keys and settings have no business in tests. */
const environment = (state) => {
  const own = /^(AWS_|TEMPORAL_|ANTHROPIC_|EMEND_)/;
  const kept = /^EMEND_(TEMPORAL_CLI|TEST_|SEED$|LONG$)/;
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !own.test(name) || kept.test(name)),
  );
  return {
    ...env,
    TMPDIR: scratch,
    NODE_OPTIONS: '',
    EMEND_TEST_ADDRESS: addressOf(state),
    EMEND_TEST_CLUSTER: cluster,
    EMEND_TEST_HOMES: '2',
    EMEND_TEST_SHARES: join(scratch, 'shares.jsonl'),
  };
};

/** Returns the test files of both folders whose paths have one of the parts. Throws if none is left, before anything is started. */
const testFiles = async () => {
  const excluded = EXCLUDED_FILES.map(({ file }) => file);
  const testsIn = async (folder) =>
    (await readdir(join(root, folder)))
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => `${folder}/${name}`)
      .sort();
  const all = { e2e: await testsIn('test/e2e'), cluster: await testsIn('test/cluster') };
  const gone = excluded.find((file) => !all.e2e.includes(file));
  if (gone !== undefined) throw new Error(`${gone} is excluded and not there`);
  const fits = (file) => pathParts.length === 0 || pathParts.some((part) => file.includes(part));
  const files = {
    e2e: all.e2e.filter((file) => fits(file) && !excluded.includes(file)),
    cluster: all.cluster.filter(fits),
  };
  if (files.e2e.length + files.cluster.length > 0) return files;
  const only = EXCLUDED_FILES.filter(({ file }) => fits(file)).map(
    ({ file, why }) => `; ${file} is left out: ${why}`,
  );
  throw new Error(`no test file fits ${pathParts.join(' ')}${only.join('')}`);
};

const jest = async (state, project, files) => {
  if (files.length === 0) return;
  const results = join(scratch, `${project}.json`);
  const leftOut = EXCLUDED_TESTS.map(({ name }) =>
    name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'),
  ).join('|');
  const code = await run(
    process.execPath,
    [
      ...[
        '--experimental-vm-modules',
        '--no-warnings',
        join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
      ],
      // The tests of the cluster itself kill it.
      ...[
        project === 'cluster' ? '--runInBand' : '--maxWorkers=2',
        `--testTimeout=${TEST_MS}`,
        '--selectProjects',
        project,
        '--json',
        `--outputFile=${results}`,
      ],
      ...(project === 'e2e' ? [`--testNamePattern=^(?!.*(${leftOut}))`] : []),
      ...['--runTestsByPath', ...files],
    ],
    { cwd: root, env: environment(state), timeout_ms: LIMIT_MS },
  );
  const found = await readFile(results, 'utf8').then(JSON.parse, () => null);
  total.passed += found?.numPassedTests ?? 0;
  total.skipped += found?.numPendingTests ?? 0;
  total.failed += found === null ? 1 : found.numFailedTests + found.numRuntimeErrorTestSuites;
  if (found !== null && code !== 0 && total.failed === 0) total.failed += 1;
};

/** Both homes must have had a part in a whole pass, or it has shown nothing of what it is for. A file or two may be too few for that. */
const tellShares = async () => {
  const lines = (await readFile(join(scratch, 'shares.jsonl'), 'utf8').catch(() => ''))
    .split('\n')
    .filter(Boolean);
  const sum = { first: 0, second: 0 };
  for (const { first, second } of lines.map((line) => JSON.parse(line))) {
    sum.first += first;
    sum.second += second;
  }
  console.log(
    `Activities carried out: ${sum.first} by the home that started the run, ${sum.second} by the other.`,
  );
  if (pathParts.length === 0 && sum.second === 0) total.failed += 1;
};

const tellExcluded = () => {
  console.log('Not on a cluster:');
  for (const { file, why } of EXCLUDED_FILES) console.log(`  ${file}: ${why}`);
  for (const { name, why } of EXCLUDED_TESTS) console.log(`  "${name}": ${why}`);
};

const main = async () => {
  const files = await testFiles();
  await ensureInstalled();
  const tools = await findTools();
  if (tools.missing !== undefined) {
    console.log('Skipped: a cluster needs what is not on this machine. Install, then run again:');
    for (const line of tools.missing) console.log(`  ${line}`);
    total.skipped += 1;
    return;
  }
  await build();
  const { findTemporalCli } = await import('../dist/src/temporal/cli-binary.js');
  tools.cli = (await findTemporalCli({ env: process.env, log: console.log })).path;
  scratch = await mkdtemp(join(tmpdir(), 'emend-cluster-tests-'));
  cluster = await startCluster(tools);
  const state = await readState(cluster);
  console.log(`Temporal's server on PostgreSQL (${state.dir}): ${addressOf(state)}`);
  tellExcluded();
  await jest(state, 'e2e', files.e2e);
  await tellShares();
  await jest(state, 'cluster', files.cluster);
};

endWithSignals(cleanUp);
try {
  await main();
} catch (error) {
  console.error(error);
  total.failed += 1;
} finally {
  await cleanUp();
}
console.log(
  `${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`,
);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);
