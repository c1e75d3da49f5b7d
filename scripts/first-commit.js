/**
 * `npm run first-commit`: how long the way from `git clone` to a first commit takes for the machine: a fresh clone of what is committed
 * here, in a path with a space and with an empty HOME, the installation as docs/tutorial.md says it, then the tutorial with a rehearsed
 * model. What a person reads and a real model thinks comes on top. Exit codes: 0 under the goal, 1 over it or something failed.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { commandsOf, shellFences } from './docs/script.js';
import { root } from './install.js';

const GOAL_S = 300;

/** Resolves with the time at which a line that `until` fits came, or its end. */
const timed = (command, args, { cwd, env = process.env, until = null }) =>
  new Promise((resolve, reject) => {
    const from = performance.now();
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
    let found_ms = null;
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      process.stdout.write(text);
      output += text;
      if (until !== null && found_ms === null && until.test(output))
        found_ms = performance.now() - from;
    });
    child.once('error', reject);
    child.once('close', (code) => {
      const took_ms = performance.now() - from;
      if (code === 0 && (until === null || found_ms !== null)) resolve(found_ms ?? took_ms);
      else reject(new Error(`${command} ${args.join(' ')}: exit code ${code}`));
    });
  });

const measure = async (dir) => {
  const clone = join(dir, 'emend');
  const rows = [['git clone', await timed('git', ['clone', '--quiet', root, clone], { cwd: dir })]];
  const HOME = join(dir, 'home');
  await mkdir(HOME);
  const env = { ...process.env, HOME, npm_config_prefix: join(dir, 'npm') };
  const fences = shellFences(await readFile(join(clone, 'docs', 'tutorial.md'), 'utf8'));
  for (const { text } of fences.filter(({ words }) => words === 'install'))
    for (const command of commandsOf(text))
      rows.push([command, await timed('bash', ['-c', command], { cwd: clone, env })]);
  const tutorial = ['scripts/tutorial.js', '--bin', join(dir, 'npm', 'bin')];
  const commit = await timed(process.execPath, tutorial, {
    cwd: clone,
    env,
    until: /^\$ git show/m,
  });
  rows.push(['the tutorial up to its commit', commit]);
  return rows;
};

const dir = await mkdtemp(join(tmpdir(), 'emend first commit '));
try {
  const rows = await measure(dir);
  const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
  const sum = (some) => some.reduce((total, [, ms]) => total + ms, 0);
  const apart = rows.filter(([what]) => !what.startsWith('npm ci'));
  console.log('\n| part | time | share |\n|---|---|---|');
  const all = sum(rows);
  for (const [what, ms] of [...rows, ['together', all], ['without npm ci', sum(apart)]])
    console.log(`| ${what} | ${seconds(ms)} | ${Math.round((100 * ms) / all)} % |`);
  console.log(
    `\nGoal: under ${GOAL_S} s. ${cpus().length} cores, load ${loadavg()[0].toFixed(1)}.`,
  );
  process.exitCode = all < GOAL_S * 1000 ? 0 : 1;
} finally {
  await rm(dir, { recursive: true, force: true, maxRetries: 3 });
}
