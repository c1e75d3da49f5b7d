/**
 * `npm run test:cluster`: Temporal's server on PostgreSQL, both of our own; on it the end-to-end tests with two homes and one store, then
 * the tests of the cluster itself (test/cluster). Where a tool is missing it says what to install and ends with 0. Arguments are
 * paths or parts of paths of test files: only those run. EMEND_TEST_KEEP=1 keeps the cluster's logs.
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

const LIMIT_MS = 80 * 60_000;
/** Of a test that names no limit of its own: twice the workers, and a database that syncs, take their time. */
const TEST_MS = 240_000;
const wanted = process.argv.slice(2);
const total = { passed: 0, failed: 0, skipped: 0 };
let cluster = null;
let scratch = null;

const cleanUp = async () => {
  if (cluster !== null) await endCluster(cluster, process.env.EMEND_TEST_KEEP === '1');
  if (scratch !== null) await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
};

/** A person's own servers, keys and settings have no business in tests. */
const environment = (state) => {
  const own = /^(TEMPORAL_|ANTHROPIC_|EMEND_)/;
  const kept = /^EMEND_(TEMPORAL_CLI|TEST_|SEED$|LONG$)/;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name) || kept.test(name)));
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

const testFiles = async (folder) => {
  const names = await readdir(join(root, folder));
  const files = names.filter((name) => name.endsWith('.test.ts')).map((name) => `${folder}/${name}`);
  return files.filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part))).sort();
};

const jest = async (state, project, files) => {
  if (files.length === 0) return;
  const results = join(scratch, `${project}.json`);
  const leftOut = EXCLUDED_TESTS.map(({ name }) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const code = await run(
    process.execPath,
    [
      ...['--experimental-vm-modules', '--no-warnings', join(root, 'node_modules', 'jest', 'bin', 'jest.js')],
      ...['--runInBand', `--testTimeout=${TEST_MS}`, '--selectProjects', project, '--json', `--outputFile=${results}`],
      ...(project === 'e2e' ? [`--testNamePattern=^(?!.*(${leftOut}))`] : []),
      ...['--runTestsByPath', ...files],
    ],
    { cwd: root, env: environment(state), timeout_ms: LIMIT_MS },
  );
  const found = await readFile(results, 'utf8').then(JSON.parse, () => null);
  total.passed += found?.numPassedTests ?? 0;
  total.failed += found === null ? 1 : found.numFailedTests + found.numRuntimeErrorTestSuites;
  if (found !== null && code !== 0 && total.failed === 0) total.failed += 1;
};

/** Both homes must have had a part in a whole pass, or it has shown nothing of what it is for. A file or two may be too few for that. */
const tellShares = async () => {
  const lines = (await readFile(join(scratch, 'shares.jsonl'), 'utf8').catch(() => '')).split('\n').filter(Boolean);
  const sum = { first: 0, second: 0 };
  for (const { first, second } of lines.map((line) => JSON.parse(line))) {
    sum.first += first;
    sum.second += second;
  }
  console.log(`Activities carried out: ${sum.first} by the home that started the run, ${sum.second} by the other.`);
  if (wanted.length === 0 && sum.second === 0) total.failed += 1;
};

const tellExcluded = (files) => {
  console.log('Not on a cluster:');
  for (const { file, why } of EXCLUDED_FILES) console.log(`  ${file}: ${why}`);
  for (const { name, why } of EXCLUDED_TESTS) console.log(`  "${name}": ${why}`);
  for (const { file } of EXCLUDED_FILES)
    if (wanted.length === 0 && !files.includes(file)) throw new Error(`${file} is excluded and not there`);
};

const main = async () => {
  await ensureInstalled();
  const tools = await findTools();
  if (tools.missing !== undefined) {
    console.log('Skipped: a cluster needs what is not on this machine. Install, then run again:');
    for (const line of tools.missing) console.log(`  ${line}`);
    total.skipped += 1;
    return;
  }
  await build();
  scratch = await mkdtemp(join(tmpdir(), 'emend-cluster-tests-'));
  cluster = await startCluster(tools);
  const state = await readState(cluster);
  console.log(`Temporal's server on PostgreSQL (${state.dir}): ${addressOf(state)}`);
  const e2e = await testFiles('test/e2e');
  tellExcluded(e2e);
  const excluded = EXCLUDED_FILES.map(({ file }) => file);
  await jest(
    state,
    'e2e',
    e2e.filter((file) => !excluded.includes(file)),
  );
  await tellShares();
  await jest(state, 'cluster', await testFiles('test/cluster'));
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
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`);
process.exit(total.failed === 0 ? 0 : 1);
