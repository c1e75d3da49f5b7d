/** A command line from its start to its end: wall time, and the CPU of it and of all that it waited for, as the shell's `time` tells them. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const LIMIT_MS = 120_000;
const TIMED = 'TIMEFORMAT="%3R %3U %3S"; time "$@" 2>&1';

export const EMEND = [
  process.execPath,
  fileURLToPath(new URL('../dist/client.js', import.meta.url)),
];

/** Milliseconds. Throws with what it printed where it fails, or says nothing of `expected`. */
export const timeCommand = async (command, { cwd, env, expected = '' }) => {
  const args = ['-c', TIMED, 'bash', ...command];
  const { stdout, stderr } = await promisify(execFile)('bash', args, {
    cwd,
    env,
    timeout: LIMIT_MS,
  }).catch((error) => {
    throw new Error(`${command.join(' ')} failed: ${error.stdout}${error.stderr}`, {
      cause: error,
    });
  });
  const times = /^(\d+\.\d+) (\d+\.\d+) (\d+\.\d+)$/m
    .exec(stderr)
    ?.slice(1)
    .map((text) => Number(text) * 1000);
  if (times === undefined || !stdout.includes(expected))
    throw new Error(`${command.join(' ')} did not say "${expected}": ${stdout}${stderr}`);
  const [ms, user_ms, system_ms] = times;
  return { ms, cpu_ms: user_ms + system_ms };
};

/** Each of `work` once a round, in an order that turns, after one that is not counted: name -> what it gave, by round. */
export const interleaved = async (work, rounds) => {
  const names = Object.keys(work);
  const seen = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round++)
    for (let n = 0; n < names.length; n++) {
      const name = names[(n + round + 1) % names.length];
      const found = await work[name]();
      if (round >= 0) seen[name].push(found);
    }
  return seen;
};
