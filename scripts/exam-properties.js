/**
 * `npm run exam:properties -- --cases N --seed S`: the edit engine's properties with N cases (default 100,000): N for each format's true edits
 * and cuts, N in all for damaged answers. The seed is printed; given again it repeats the run.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './install.js';

const USAGE = 'usage: npm run exam:properties -- [--cases N] [--seed S], both whole numbers';
const refuse = (message) => {
  console.error(`${message}\n${USAGE}`);
  process.exit(2);
};
const readOptions = () => {
  try {
    return parseArgs({
      options: {
        cases: { type: 'string', default: '100000' },
        seed: { type: 'string', default: `${Date.now() % 2 ** 31}` },
      },
    }).values;
  } catch (error) {
    return refuse(error.message);
  }
};

const values = readOptions();
const [cases, seed] = [Number(values.cases), Number(values.seed)];
if (!Number.isInteger(cases) || cases < 1 || !Number.isInteger(seed))
  refuse(`Cases ${values.cases}, seed ${values.seed}: not both are whole numbers.`);
console.log(`cases ${cases}, seed ${seed}`);
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const tests = 'test/edits/(properties|perturbed)';
const args = [
  '--experimental-vm-modules',
  '--no-warnings',
  jest,
  '-i',
  '--selectProjects',
  'unit',
  '--testPathPatterns',
  tests,
];
const env = { ...process.env, EMEND_FUZZ_RUNS: `${cases}`, EMEND_FUZZ_SEED: `${seed}` };
// A test's own time limit is meant for the short run.
const limit = ['--testTimeout', `${24 * 3_600_000}`];
process.exitCode =
  spawnSync(process.execPath, [...args, ...limit], { cwd: root, env, stdio: 'inherit' }).status ??
  1;
