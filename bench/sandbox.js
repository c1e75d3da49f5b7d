/** `npm run bench:sandbox`: what the sandbox costs a command, over the same command outside. Beside: a shell that ends at once. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { SANDBOX_ON } from '../dist/src/documents/job/index.js';
import { createLocalRunner, findBubblewrap } from '../dist/src/workspace/commands/index.js';

const RUNS = 100;
/** docs/measures.md */
const GOAL_MS = 15;

const found = await findBubblewrap(process.env);
if (!found.works) {
  process.stdout.write(`No sandbox here: ${found.why}\n`);
  process.exit(0);
}
const workspace = await realpath(await mkdtemp(join(tmpdir(), 'emend-bench-')));
const runner = createLocalRunner({ ...process.env, EMEND_BWRAP: found.path });
const box = { settings: SANDBOX_ON, workspace };
const timed = async (sandbox) => {
  const begun = performance.now();
  const ran = await runner.run({
    command: ':',
    cwd: workspace,
    env: [],
    timeout_s: 30,
    maxOutput_bytes: 1_000,
    sandbox,
  });
  if (ran.exit !== 0) throw new Error(ran.output);
  return performance.now() - begun;
};
const times = { off: [], on: [] };
try {
  for (let run = -5; run < RUNS; run++)
    for (const [name, sandbox] of [
      ['off', 'off'],
      ['on', box],
    ]) {
      const took = await timed(sandbox);
      if (run >= 0) times[name].push(took);
    }
} finally {
  await rm(workspace, { recursive: true, force: true });
}
const at = (list, share) => list.sort((a, b) => a - b)[Math.floor((list.length - 1) * share)];
for (const [name, list] of Object.entries(times))
  process.stdout.write(
    `${name.padEnd(4)} median ${at(list, 0.5).toFixed(1)} ms, p90 ${at(list, 0.9).toFixed(1)} ms\n`,
  );
const more = at(times.on, 0.5) - at(times.off, 0.5);
process.stdout.write(
  `+${more.toFixed(1)} ms in the median; goal on a quiet machine: +${GOAL_MS} ms\n`,
);
