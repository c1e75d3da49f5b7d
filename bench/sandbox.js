/**
 * `npm run bench:sandbox`: what a sandbox adds to a command that does nothing, and what an overlay adds to the sandbox, also over a workspace
 * of 200,000 files and 2 GB. All variants take turns in one run, so that a busy machine slows them alike.
 */
import { mkdir, mkdtemp, open, realpath, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { SANDBOX_ON } from '../dist/src/documents/job/index.js';
import { createBlobStore } from '../dist/src/stores/directory/blobs.js';
import { createLocalRunner, findBubblewrap } from '../dist/src/workspace/commands/index.js';
import { createLayers } from '../dist/src/workspace/layers/index.js';

const RUNS = 60;
const LARGE_DIRECTORIES = 2_000;
const LARGE_FILES = 100; // in each of them
const LARGE_BYTES = 2 * 1024 ** 3;
/** docs/measures.md */
const GOAL_MS = 15;
const GOAL_START_MS = 500;

const found = await findBubblewrap(process.env);
if (!found.works) {
  process.stdout.write(`No sandbox here: ${found.why}\n`);
  process.exit(0);
}
const base = await realpath(await mkdtemp(join(tmpdir(), 'emend-bench-')));
const home = join(base, 'home');
const small = join(base, 'small');
const large = join(base, 'large');
const commands = createLocalRunner({ ...process.env, EMEND_BWRAP: found.path });
const layers = createLayers({
  home,
  blobs: createBlobStore({ dir: join(home, 'blobs') }),
  commands,
});

/** Files of a block each, and one sparse file for the rest of the bytes. */
async function makeLarge() {
  for (let dir = 0; dir < LARGE_DIRECTORIES; dir++) {
    const path = join(large, String(dir));
    await mkdir(path, { recursive: true });
    await Promise.all(
      Array.from({ length: LARGE_FILES }, (_, file) => writeFile(join(path, String(file)), 'x')),
    );
  }
  const file = await open(join(large, 'sparse'), 'w');
  await file.truncate(LARGE_BYTES);
  await file.close();
}

const run = async (workspace, sandbox) => {
  const ran = await commands.run({
    command: ':',
    cwd: workspace,
    env: [],
    timeout_s: 30,
    maxOutput_bytes: 1_000,
    sandbox,
  });
  if (ran.exit !== 0) throw new Error(ran.output);
};
const onLayer = (workspace, isWarm) =>
  layers.use({ run: 'bench', workspace, proposal: [], isWarm }, ({ overlay }) =>
    run(workspace, { settings: SANDBOX_ON, workspace, overlay }),
  );
const VARIANTS = {
  'no sandbox': () => run(small, 'off'),
  sandbox: () => run(small, { settings: SANDBOX_ON, workspace: small }),
  network: () => run(small, { settings: { ...SANDBOX_ON, network: true }, workspace: small }),
  overlay: () => onLayer(small, false),
  'warm overlay': () => onLayer(small, true),
  'large, sandbox': () => run(large, { settings: SANDBOX_ON, workspace: large }),
  'large, overlay': () => onLayer(large, false),
};

const timed = async (work) => {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
};
const at = (list, share) => list.toSorted((a, b) => a - b)[Math.floor((list.length - 1) * share)];

const times = Object.fromEntries(Object.keys(VARIANTS).map((name) => [name, []]));
let first_ms = 0;
try {
  for (const dir of [home, small]) await mkdir(dir);
  await makeLarge();
  first_ms = await timed(VARIANTS['large, overlay']);
  for (let round = -5; round < RUNS; round++)
    for (const [name, work] of Object.entries(VARIANTS)) {
      const duration_ms = await timed(work);
      if (round >= 0) times[name].push(duration_ms);
    }
} finally {
  await rm(base, { recursive: true, force: true });
}

const ms = (value) => `${value.toFixed(1)} ms`;
const median = (name) => at(times[name], 0.5);
for (const [name, list] of Object.entries(times))
  process.stdout.write(
    `${name.padEnd(15)} median ${ms(at(list, 0.5))}, p90 ${ms(at(list, 0.9))}\n`,
  );
const compare = (one, two, goal) =>
  process.stdout.write(
    `${one} over ${two}: +${ms(median(one) - median(two))}, factor ${(median(one) / median(two)).toFixed(2)}${goal}\n`,
  );
const goal = `; goal on a quiet machine: +${GOAL_MS} ms`;
compare('sandbox', 'no sandbox', goal);
compare('network', 'sandbox', '');
compare('overlay', 'sandbox', goal);
compare('warm overlay', 'sandbox', goal);
compare('large, overlay', 'large, sandbox', goal);
process.stdout.write(
  `first command on ${LARGE_DIRECTORIES * LARGE_FILES} files: ${ms(first_ms)}; goal: ${GOAL_START_MS} ms\n` +
    `load of the machine: ${loadavg()
      .map((load) => load.toFixed(2))
      .join(' ')}\n`,
);
