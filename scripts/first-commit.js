/**
 * `npm run first-commit`: how long the way from `git clone` to a first commit takes for the machine: a fresh clone of what is committed
 * here, the installation as docs/tutorial.md says it, then the tutorial with a rehearsed model. What a person reads and a real model
 * thinks comes on top. Exit codes: 0 measured, else that of what failed.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { commandsOf, shellFences } from './docs/script.js';
import { root } from './install.js';

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
      if (until !== null && found_ms === null && until.test(output)) found_ms = performance.now() - from;
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
  const env = { ...process.env, npm_config_prefix: join(dir, 'npm') };
  const fences = shellFences(await readFile(join(clone, 'docs', 'tutorial.md'), 'utf8'));
  for (const { text } of fences.filter(({ words }) => words === 'install'))
    for (const command of commandsOf(text))
      rows.push([command, await timed('bash', ['-c', command], { cwd: clone, env })]);
  const tutorial = ['scripts/tutorial.js', '--bin', join(dir, 'npm', 'bin')];
  const commit = await timed(process.execPath, tutorial, { cwd: clone, env, until: /^\$ git show/m });
  rows.push(['the tutorial up to its commit', commit]);
  return rows;
};

const dir = await mkdtemp(join(tmpdir(), 'emend-first-commit-'));
try {
  const rows = await measure(dir);
  const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
  const sum = (some) => some.reduce((total, [, ms]) => total + ms, 0);
  const apart = rows.filter(([what]) => !what.startsWith('npm ci'));
  console.log('\n| part | time |\n|---|---|');
  for (const [what, ms] of rows) console.log(`| ${what} | ${seconds(ms)} |`);
  console.log(`| together | ${seconds(sum(rows))} |`);
  console.log(`| without npm ci | ${seconds(sum(apart))} |`);
} finally {
  await rm(dir, { recursive: true, force: true, maxRetries: 3 });
}
