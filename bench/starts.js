/**
 * What it costs to start `git --version` from a process of 50 to 800 MB, by itself and by the launcher (src/system/launcher.ts):
 * `node bench/starts.js`. CPU is that of the process and of its launcher, without git's own.
 */
import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

import { captureProcess, useLauncher } from '../dist/src/system/launcher.js';
import { cpuUsed_ms } from './probe.js';

const SIZES_MB = [0, 200, 400, 800];
const ROUNDS = 30;
const CALL = { cwd: '/', env: { PATH: process.env.PATH }, max_bytes: 1_000, timeout_ms: 60_000 };
const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)].toFixed(2);

const measure = async (more_MB, by) => {
  if (by === 'launcher') useLauncher();
  const ballast = Array.from({ length: more_MB }, () => Buffer.alloc(1 << 20, 1));
  await captureProcess('git', ['--version'], CALL);
  const [held, cpu] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    const used = cpuUsed_ms();
    const from = performance.now();
    const run = captureProcess('git', ['--version'], CALL);
    held.push(performance.now() - from);
    if ((await run).code !== 0) throw new Error('git --version failed');
    cpu.push(cpuUsed_ms() - used);
  }
  const size = Math.round(process.memoryUsage().rss / 2 ** 20);
  console.log(
    `| ${size} MB${ballast.length === 0 ? ', empty' : ''} | ${by} | ${median(held)} ms | ${median(cpu)} ms |`,
  );
  process.exit();
};

const [size, by] = process.argv.slice(2);
if (size !== undefined) await measure(Number(size), by);
console.log(
  '| size of the process | started by | its thread stands still | CPU of both |\n|---|---|---|---|',
);
for (const each of SIZES_MB)
  for (const who of ['itself', 'launcher'])
    spawnSync(process.execPath, [fileURLToPath(import.meta.url), each, who], { stdio: 'inherit' });
