/**
 * `npm run tutorial`: the commands of docs/tutorial.md, as they stand there, in a scratch directory and a home of their own.
 *   --real        with the model that ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL name, not with a rehearsed one
 *   --bin DIR     where `emend` is installed; without it that of this clone is used
 *   --print       prints the script and carries nothing out
 *   --keep        leaves the scratch directory there
 * Exit codes: 0 it went to its end, else that of the first command that did not end as the page says.
 */
import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { scriptOf } from './docs/script.js';
import { root } from './install.js';

const flag = { type: 'boolean' };
const { real, bin, print, keep } = parseArgs({
  options: { real: flag, bin: { type: 'string' }, print: flag, keep: flag },
}).values;
const script = scriptOf(await readFile(join(root, 'docs', 'tutorial.md'), 'utf8'));

/** `emend` as `npm install --global .` links it. */
const linkCommand = async (to) => {
  await mkdir(to, { recursive: true });
  const path = join(to, 'emend');
  await writeFile(
    path,
    `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'dist', 'client.js')}" "$@"\n`,
  );
  await chmod(path, 0o755);
};

/** A person's own server, keys and home have no business here. */
const environment = (dir, more) => {
  const kept = /^EMEND_TEMPORAL_CLI$/;
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(EMEND|TEMPORAL|GIT|npm)_/.test(name) || kept.test(name),
  );
  return {
    ...Object.fromEntries(own),
    PATH: `${bin ?? join(dir, 'bin')}${delimiter}${process.env.PATH}`,
    EMEND_HOME: join(dir, 'home'),
    TEMPORAL_CONFIG_FILE: join(dir, 'no-temporal.toml'),
    GIT_CONFIG_GLOBAL: join(dir, 'gitconfig'),
    GIT_CONFIG_NOSYSTEM: '1',
    ...more,
  };
};

const bash = (dir, env) =>
  new Promise((resolve) => {
    const child = spawn('bash', ['-c', script], {
      cwd: dir,
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => child.kill(signal));
    child.once('exit', (code) => resolve(code ?? 1));
  });

const carryOut = async (dir) => {
  if (bin === undefined) await linkCommand(join(dir, 'bin'));
  await writeFile(
    join(dir, 'gitconfig'),
    '[user]\nname = Ada\nemail = ada@example.org\n[init]\ndefaultBranch = main\n',
  );
  if (real) return bash(dir, environment(dir, {}));
  const { startRehearsal } = await import('../dist/src/model/rehearsal/server.js');
  const rehearsal = await startRehearsal(join(root, 'demo', 'tutorial', 'rehearsal.yaml'));
  try {
    return await bash(
      dir,
      environment(dir, { ANTHROPIC_BASE_URL: rehearsal.url, ANTHROPIC_API_KEY: 'none-is-needed' }),
    );
  } finally {
    await rehearsal.close();
  }
};

if (print) {
  process.stdout.write(script);
} else {
  const dir = await mkdtemp(join(tmpdir(), 'emend-tutorial-'));
  const from = performance.now();
  try {
    process.exitCode = await carryOut(dir);
    console.log(`\nThe tutorial took ${((performance.now() - from) / 1000).toFixed(1)} s.`);
  } finally {
    if (keep) console.log(`left there: ${dir}`);
    else await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}
