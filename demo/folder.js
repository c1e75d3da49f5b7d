/** The demo's own folder, and the settings with which nothing outside it counts. */
import { mkdir, mkdtemp, readdir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ProblemError } from '../dist/src/client/index.js';

/** Makes the folders of a demo. Throws ProblemError `usage` if `directory` is not empty. */
export const openFolder = async (directory) => {
  const path =
    directory === undefined
      ? await mkdtemp(join(tmpdir(), 'emend-demo-'))
      : await emptyDirectory(directory);
  const dir = await realpath(path);
  return { dir, home: join(dir, 'home'), repo: join(dir, 'lodash') };
};

const emptyDirectory = async (directory) => {
  const path = resolve(directory);
  // Its parent must exist; where nothing can be made, reading says so.
  await mkdir(path).catch(() => undefined);
  const entries = await readdir(path).catch((error) => [error.code]);
  if (entries.length === 0) return path;
  throw new ProblemError({
    code: 'usage',
    message: `--dir: expected a directory that is empty, or whose parent exists; received ${path}.`,
    next: 'Name another one, or leave --dir out.',
  });
};

/**
 * Changes this process's environment: a person's own servers, keys and git configuration stay out of the demo. Kept is where to find
 * the Temporal CLI and bubblewrap.
 */
export const useOwnSettings = ({ dir, home }) => {
  for (const name of Object.keys(process.env)) {
    const kept = ['EMEND_TEMPORAL_CLI', 'EMEND_BWRAP'].includes(name) || name === 'EMEND_DEBUG';
    if (/^(EMEND|TEMPORAL|ANTHROPIC|GIT)_/.test(name) && !kept) delete process.env[name];
  }
  Object.assign(process.env, {
    EMEND_HOME: home,
    // Whoever presses Ctrl-C wants an end soon.
    EMEND_SHUTDOWNGRACE_MS: '2000',
    // No such file: the person's temporal.toml may name another server.
    TEMPORAL_CONFIG_FILE: join(dir, 'no-temporal.toml'),
    // All servers are on the loopback address, which gRPC would ask a proxy for.
    no_proxy: '127.0.0.1,localhost',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
  });
};
